"""Claiming: takes due runs for this tick, returns unstarted runs, and undoes claims whose COMMIT got no answer."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from jobrunner import clock
from jobrunner.errors import DatabaseUnavailable, JobrunnerError
from jobrunner.model import Capacity, Lease, Policy
from jobrunner.store import claims, holding, ticks
from jobrunner.store.claims import Claim, ClaimRequest, Returned
from jobrunner.store.database import Connection
from jobrunner.store.holding import Renewal
from jobrunner.text import first_line_of
from jobrunner.worker.batch_size import BatchSize
from jobrunner.worker.context import TickContext
from jobrunner.worker.hand import Hand, RunInHand
from jobrunner.worker.heartbeat import FENCE_SHARE, Heartbeat
from jobrunner.worker.phase import Phase

_LOOK_AGAIN_SECONDS = 1.0
_FIRST_CLAIMED, _MOST_HELD = 100, 10_000
"""The most runs in hand: each beat renews the leases of all of them."""
_KILL_SECONDS = 0.25
"""After this time the handler of a lost lease is usually dead; else the claimer waits as long once more."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """The runs of one claim, in phase WAITING.

    ``permits`` is how many more runs of this tick may be at work on the host. ``may_be_more``: more runs may be due,
    because the claim got as many as it asked for, or failed. ``unreadable`` are runs whose payloads could not be read:
    they were claimed without the payloads, and their attempts fail.
    """

    runs: list[RunInHand]
    permits: int
    may_be_more: bool
    unreadable: Sequence[RunInHand] = ()


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to claim: up to ``limit`` runs of these types.

    ``capacity`` and ``limits`` are ``capacity`` and ``type_limits`` of ``ClaimRequest``. ``quarantined`` asks for a run
    that must be alone in its tick.
    """

    policies: Sequence[Policy]
    limit: int
    capacity: Capacity | None = None
    limits: Mapping[str, int] = field(default_factory=dict)
    quarantined: bool = False


class Claimer:
    """Claims and returns runs, in the main thread. Every method that asks the database raises DatabaseUnavailable."""

    def __init__(self, context: TickContext, hand: Hand, heartbeat: Heartbeat) -> None:
        # The async types of this host, also those that this tick does not claim: their runs take no permits.
        self.exempt_types: frozenset[str] = frozenset()
        self._context = context
        self._config = context.config
        self._database = context.database
        self._hand = hand
        self._heartbeat = heartbeat
        self._log = context.log
        self._unanswered: set[str] = set()
        self._batch_size = BatchSize(_MOST_HELD, self._config.lease, first=_FIRST_CLAIMED)
        self._skips_payload = False
        self._look_at = 0.0
        self._return_at = 0.0

    def take(self, wanted: Wanted) -> Claimed:
        """Claim due runs, charge them, and take them in hand, as many as this host has permits for."""
        request = self._request(wanted)
        # Where writers starve each other, every write also renews the leases.
        due = [held.lease for held in self._hand.due()] if self._database.waits_unfairly else []

        has_read = False

        def work(connection: Connection) -> tuple[Claim, Renewal]:
            nonlocal has_read
            claim = claims.claim(connection, request)
            # If the call hangs from here on, the COMMIT is the reason, and not the rows.
            has_read = True
            return claim, holding.renew(connection, due, self._config.lease)

        sent_at = clock.elapsed()
        self._unanswered.add(request.token)
        self._hand.page.note_claim(request.token)
        try:
            claim, renewal = self._database.write(work)
        except DatabaseUnavailable as error:
            if not has_read and self._batch_size.is_cut(error, clock.elapsed() - sent_at):
                self._note_failure(request, error)
            raise
        except JobrunnerError:
            raise
        except Exception as error:
            # A row that cannot be read must not stop the tick from claiming the others.
            self._unanswered.remove(request.token)
            self._hand.page.forget_claim(request.token)
            if request.without_payload:
                raise
            self._note_failure(request, error)
            return Claimed([], 0, may_be_more=True)
        self._hand.note_renewed(renewal.renewed, sent_at)
        return self._take_in_hand(request, claim, sent_at)

    def _request(self, wanted: Wanted) -> ClaimRequest:
        return ClaimRequest(
            owner=self._context.owner,
            token=os.urandom(16).hex(),
            policies=wanted.policies,
            limit=min(wanted.limit, self._batch_size.size, _MOST_HELD - len(self._hand)),
            permits=self._config.concurrency,
            lease=self._config.lease,
            in_use=self._hand.permits_in_use,
            capacity=wanted.capacity,
            type_limits=wanted.limits,
            exempt_types=self.exempt_types,
            quarantined=wanted.quarantined,
            without_payload=self._skips_payload,
        )

    def _take_in_hand(self, request: ClaimRequest, claim: Claim, sent_at: float) -> Claimed:
        """Take the runs of a committed claim in hand."""
        self._unanswered.remove(request.token)
        self._skips_payload = False
        still_at_work: set[int] = set()
        if claim.runs:
            self._batch_size.took(clock.elapsed() - sent_at)
            still_at_work = self._heartbeat.note_lost({run.lease.run_id for run in claim.runs})
        begin_before = sent_at + FENCE_SHARE * self._config.lease.total_seconds()
        runs = []
        for run in claim.runs:
            held = self._hand.take(run, sent_at, begin_before)
            held.takes_permit = run.job_type not in self.exempt_types
            if run.lease.run_id in still_at_work:
                # Another tick has recovered this run while its old handler is still at work here. The old handler must
                # end before the run may begin again.
                self._hand.move(held, Phase.RETURNING)
                self._return_at = clock.elapsed() + _KILL_SECONDS
            else:
                runs.append(held)
        self._hand.page.forget_claim(request.token)
        if claim.runs:
            self._database.hit("claim.committed")
        may_be_more = 0 < request.limit <= len(claim.runs)
        if request.without_payload:
            return Claimed([], claim.permits, may_be_more, unreadable=runs)
        return Claimed(runs, claim.permits, may_be_more)

    def _note_failure(self, request: ClaimRequest, error: Exception) -> None:
        """Limit the next claim to one run. If this claim had one run only, take it without its payload next."""
        self._batch_size.size = 1
        self._skips_payload = request.limit == 1 and not request.without_payload
        result = "without the payload" if self._skips_payload else "one by one"
        self._log.warning("claim", result=result, error=first_line_of(error))

    def count_due(self, policies: Sequence[Policy], limit: int) -> int:
        """How many runs of these types are due. Counts up to ``limit`` only."""
        return self._database.read(partial(ticks.count_claimable, policies=policies, limit=limit))

    def is_quarantined_due(self) -> bool:
        """Whether a run of any type is due whose lease has expired twice in a row."""
        return self._database.read(ticks.is_quarantined_due)

    def is_settled(self) -> bool:
        """Whether every claim has an answer, and nothing is left to return."""
        return not self._unanswered and not self._hand.count(Phase.RETURNING)

    def may_take(self) -> bool:
        """Whether nothing must be done before the next claim. Locked rows can be returned later."""
        return not self._unanswered and all(held.is_locked for held in self._hand.in_phase(Phase.RETURNING))

    def return_unstarted(self) -> int:
        """Return unstarted runs, uncharged and claimable at once; how many runs left the hand."""
        if clock.elapsed() < self._return_at:
            return 0
        of_claims: dict[str, list[RunInHand]] = {}
        for held in self._hand.in_phase(Phase.RETURNING):
            of_claims.setdefault(held.lease.token, []).append(held)
        return sum(self._return(token, runs) for token, runs in of_claims.items())

    def _return(self, token: str, runs: list[RunInHand]) -> int:
        run_ids = [held.lease.run_id for held in runs]
        try:
            returned = self._database.write(lambda connection: claims.return_unstarted(connection, token, run_ids))
        except DatabaseUnavailable:
            self._return_at = clock.elapsed() + _LOOK_AGAIN_SECONDS
            self._hand.release(*self._expired(runs))
            raise
        locked = [held for held in runs if held.lease.run_id in returned.locked]
        for held in locked:
            held.is_locked = True
            self._return_at = clock.elapsed() + _LOOK_AGAIN_SECONDS
        expired = self._expired(locked)
        settled = [held for held in runs if held not in locked or held in expired]
        self._hand.release(*settled)
        return len(settled)

    def _expired(self, runs: list[RunInHand]) -> list[RunInHand]:
        # After the lease has expired, recovery handles the run; this tick can do nothing more for it.
        return [held for held in runs if self._hand.time_left(held) <= 0]

    def return_unanswered(self) -> int:
        """Undo claims whose COMMIT got no answer; how many runs were returned.

        Such a COMMIT may be applied much later, when a stopped server goes on. Until then its transaction holds the
        lock on the permits of this host. So after this tick has got that lock, it sees whether the COMMIT was applied.
        """
        if not self._unanswered or clock.elapsed() < self._look_at:
            return 0
        self._look_at = clock.elapsed() + _LOOK_AGAIN_SECONDS

        def work(connection: Connection) -> dict[str, Returned]:
            claims.lock_permits(connection, self._context.owner.host)
            return {token: claims.return_unstarted(connection, token) for token in self._unanswered}

        returned = self._database.write(work)
        for token in self._unanswered:
            self._hand.page.forget_claim(token)
        self._unanswered.clear()
        for token, each in returned.items():
            for run_id in each.locked:
                self._hand.take_to_return(Lease(run_id, token)).is_locked = True
        runs = sum(each.runs for each in returned.values())
        if runs:
            self._log.warning("released", result="unanswered claim returned", runs=runs)
        return runs
