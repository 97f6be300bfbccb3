"""Claiming: takes due runs for this tick. While children work, another thread sends the claim."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from types import MappingProxyType
from typing import TypeAlias

from jobrunner import clock
from jobrunner.errors import JobrunnerError
from jobrunner.model import Capacity, Lease, Policy
from jobrunner.store.drivers.database import Connection, Database
from jobrunner.store.queue import claims, holding, limits
from jobrunner.store.queue.claims import Claim, ClaimRequest
from jobrunner.store.queue.holding import Renewal
from jobrunner.store.queue.ticks import ticks
from jobrunner.text import first_line_of
from jobrunner.worker.background_calls import BackgroundCalls
from jobrunner.worker.batch_size import BatchSize
from jobrunner.worker.context import TickContext
from jobrunner.worker.hand import Hand, RunInHand
from jobrunner.worker.heartbeat import FENCE_SHARE, Heartbeat
from jobrunner.worker.lookback import Lookback
from jobrunner.worker.phase import Phase
from jobrunner.worker.returner import Returner

Answer: TypeAlias = tuple[Claim, Renewal]
Taken: TypeAlias = tuple[Claim, list[RunInHand]]
"""A claim, and those of its runs that are in phase WAITING."""

_FIRST_CLAIMED, _MOST_HELD = 100, 10_000
"""The most runs in hand: each beat renews the leases of all of them."""
_KILL_SECONDS = 0.25
"""After this time the handler of a lost lease is usually dead; else the claimer waits as long once more."""


class _Sent:
    """A claim that was sent. ``has_read``: if its call hangs from then on, its COMMIT is the reason, not the rows."""

    def __init__(self, request: ClaimRequest, due: list[Lease], lease: timedelta) -> None:
        self.request = request
        self.sent_at = clock.elapsed()
        # How long it took, without the time for which it waited for a thread.
        self.seconds = 0.0
        self.has_read = False
        self._due = due
        self._lease = lease

    def write(self, database: Database) -> Answer:
        """Claim. Any thread may call this, with its own connection."""
        began = clock.elapsed()
        answer = database.write(self._work)
        self.seconds = clock.elapsed() - began
        return answer

    def _work(self, connection: Connection) -> Answer:
        claim = claims.claim(connection, self.request)
        self.has_read = True
        return claim, holding.renew(connection, self._due, self._lease)


class Claimer:
    """Claims runs. Main thread only; ``background`` makes calls in another thread.

    Every method that asks the database raises DatabaseUnavailable.
    """

    def __init__(
        self,
        context: TickContext,
        hand: Hand,
        heartbeat: Heartbeat,
        returner: Returner,
        background: BackgroundCalls[Answer],
    ) -> None:
        # The async types of this host, also those that this tick does not claim: their runs take no permits.
        self.exempt_types: frozenset[str] = frozenset()
        # How many claims were answered, whatever they got.
        self.answers = 0
        self._context = context
        self._config = context.config
        self._database = context.database
        self._hand = hand
        self._heartbeat = heartbeat
        self._returner = returner
        self._log = context.log
        self._batch_size = BatchSize(_MOST_HELD, self._config.lease, first=_FIRST_CLAIMED)
        # The claim of one run that failed with its payload. The next one of these types is sent without.
        self._unread: ClaimRequest | None = None
        # For these operators have set limits, as the last claim has said.
        self._set_types: frozenset[str] = frozenset()
        # By the first type of the request: each pool has types of its own, and ends with a look at all of its runs.
        self._lookbacks = defaultdict[str, Lookback](Lookback)
        # Whether the last claim has said that no other tick of the host claims (``sole_owners``).
        self._is_sole = False
        self._background = background
        self._sent: _Sent | None = None

    def request(
        self,
        policies: Sequence[Policy],
        limit: int,
        capacity: Capacity | None = None,
        type_limits: Mapping[str, int] = MappingProxyType({}),
        may_wait: Mapping[str, int] = MappingProxyType({}),
        *,
        quarantined: bool = False,
    ) -> ClaimRequest:
        """What to claim: up to ``limit`` runs of these types (``ClaimRequest`` explains the rest)."""
        unread = self._unread
        skips_payload = unread is not None and (unread.policies, unread.quarantined) == (policies, quarantined)
        since = {} if quarantined else self._since(policies)
        knows_its_runs = self._is_sole or self._lookback_of(policies).whole.is_slow
        return ClaimRequest(
            owner=self._context.owner,
            token=os.urandom(16).hex(),
            policies=policies,
            limit=min(limit, 1 if skips_payload else self._batch_size.size, _MOST_HELD - len(self._hand)),
            permits=self._config.concurrency,
            lease=self._config.lease,
            in_use=self._hand.permits_in_use,
            capacity=capacity,
            type_limits=type_limits,
            may_wait=may_wait,
            exempt_types=self.exempt_types,
            quarantined=quarantined,
            without_payload=skips_payload,
            since=since,
            in_hand=self._count_in_hand() if knows_its_runs else None,
        )

    def look_at_all(self) -> None:
        """Look at all runs with the next claim, because some may be due with early turns."""
        for each in self._lookbacks.values():
            each.whole.end()

    def _lookback_of(self, policies: Sequence[Policy]) -> Lookback:
        return self._lookbacks[policies[0].job_type if policies else ""]

    def _since(self, policies: Sequence[Policy]) -> Mapping[str, datetime]:
        return self._lookback_of(policies).since() if self._is_sole else {}

    def _count_in_hand(self) -> Mapping[str, int] | None:
        """How many runs of each type are in hand. None: it is not known, because of some only the leases are."""
        held = self._hand.in_phase(*Phase)
        return Counter(each.run.job_type for each in held) if all(hasattr(each, "run") for each in held) else None

    def take(self, request: ClaimRequest) -> Taken:
        """Claim due runs, charge them, and take them in hand, as many as this host has permits for."""
        sent = self._prepare(request)
        try:
            answer: Answer | Exception = sent.write(self._database)
        except Exception as error:  # noqa: BLE001 - the error is the answer
            answer = error
        return self._take_answer(sent, answer)

    def ask(self, request: ClaimRequest) -> bool:
        """Send a claim in another thread; ``answer`` returns its runs later. False means that there is no such thread.

        No other claim may be sent meanwhile: the last answer says how many permits this tick may use.
        """
        if not self._background.is_usable():
            return False
        self._sent = sent = self._prepare(request)
        self._background.ask(sent.write)
        return True

    def is_asking(self) -> bool:
        """Whether a claim was sent that has no answer yet."""
        return self._sent is not None

    def answer(self) -> Taken | None:
        """The runs of the claim that was sent in another thread. None means that there is no answer yet."""
        sent, answer = self._sent, self._background.answer()
        if sent is None or answer is None:
            return None
        self._sent = None
        return self._take_answer(sent, answer)

    def close(self) -> None:
        """Wait for a claim that has no answer yet, take its runs in hand, and end the other thread."""
        self._background.close()
        with suppress(Exception):
            self.answer()

    def _prepare(self, request: ClaimRequest) -> _Sent:
        due = self._hand.due_leases(self._database)
        self._returner.unanswered.add(request.token)
        self._hand.page.note_claim(request.token)
        return _Sent(request, due, self._config.lease)

    def _take_answer(self, sent: _Sent, answer: Answer | Exception) -> Taken:
        request = sent.request
        if not isinstance(answer, Exception):
            self.answers += 1
            claim, renewal = answer
            claim = self._looked_back(sent, claim)
            self._set_types = claim.set_types
            self._hand.note_renewed(renewal.renewed, sent.sent_at)
            return self._take_in_hand(request, claim, sent.sent_at)
        if isinstance(answer, JobrunnerError):
            if not sent.has_read and self._batch_size.is_cut(answer, clock.elapsed() - sent.sent_at):
                self._note_failure(request, answer)
            raise answer
        # A row that cannot be read must not stop the tick from claiming the others.
        self._returner.unanswered.remove(request.token)
        self._hand.page.forget_claim(request.token)
        if request.without_payload:
            raise answer
        self._note_failure(request, answer)
        return Claim([], 0, may_be_more=True), []

    def _looked_back(self, sent: _Sent, claim: Claim) -> Claim:
        """Note how far back the claim has looked. If not at all runs, and it got all there is, one is to do so soon."""
        self._is_sole = claim.is_sole
        if sent.request.quarantined:
            return claim
        since, found, lookback = sent.request.since, len(claim.runs), self._lookback_of(sent.request.policies)
        lookback.note(since, sent.seconds, found, claim.first_turns)
        if not since or found >= sent.request.limit:
            return claim
        opens_in = lookback.whole.rest_seconds()
        return claim._replace(opens_in=min(opens_in, claim.opens_in or opens_in))

    def _take_in_hand(self, request: ClaimRequest, claim: Claim, sent_at: float) -> Taken:
        """Take the runs of a committed claim in hand."""
        self._returner.unanswered.remove(request.token)
        if request.without_payload:
            self._unread = None
        still_at_work: set[int] = set()
        if claim.runs:
            self._batch_size.took(clock.elapsed() - sent_at)
            still_at_work = self._heartbeat.note_lost({run.lease.run_id for run in claim.runs})
        begin_before = sent_at + FENCE_SHARE * self._config.lease.total_seconds()
        runs = []
        for held in self._hand.take(claim.runs, sent_at, begin_before):
            if held.run.job_type in self.exempt_types:
                held.takes_permit = False
            if request.without_payload:
                held.is_unreadable = True
            if held.lease.run_id in still_at_work:
                # Another tick has recovered this run while its old handler is still at work here. The old handler must
                # end before the run may begin again.
                self._hand.move(held, Phase.RETURNING)
                self._returner.wait(_KILL_SECONDS)
            else:
                runs.append(held)
        self._hand.page.forget_claim(request.token)
        if claim.runs:
            self._database.hit("claim.committed")
        # More runs may be due, too, if there were as many as it asked for.
        return claim._replace(may_be_more=claim.may_be_more or 0 < request.limit <= len(claim.runs)), runs

    def _note_failure(self, request: ClaimRequest, error: Exception) -> None:
        """Limit the next claim to one run. If this claim had one run only, take it without its payload next."""
        self._batch_size.size = 1
        self._unread = request if request.limit == 1 and not request.without_payload else None
        result = "one by one" if self._unread is None else "without the payload"
        self._log.warning("claim", result=result, error=first_line_of(error))

    def count_due(self, policies: Sequence[Policy], limit: int) -> int:
        """How many runs of these types are due. Counts up to ``limit`` only."""

        def work(connection: Connection) -> int:
            host, since = self._context.owner.host, self._since(policies)
            count = ticks.count_claimable(connection, policies, limit, host, since)
            return count + limits.count_open(connection, policies, limit - count, self._set_types)

        return self._database.read(work)

    def is_quarantined_due(self) -> bool:
        """Whether a run of any type is due whose lease has expired twice in a row."""
        return self._database.read(partial(ticks.is_quarantined_due, host=self._context.owner.host))
