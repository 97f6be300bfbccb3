"""Claiming: takes due runs for this tick, and looks after claims whose COMMIT got no answer."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from jobrunner import clock
from jobrunner.children.begun_page import BegunPage
from jobrunner.errors import DatabaseUnavailable, JobrunnerError
from jobrunner.log import Log
from jobrunner.model import Capacity, ClaimedRun, Lease, Owner, Policy
from jobrunner.settings.config import Config
from jobrunner.store import claims, holding, ticks
from jobrunner.store.claims import Claim, ClaimRequest, GivenBack
from jobrunner.store.database import Connection, Database
from jobrunner.store.holding import Renewal
from jobrunner.text import first_line_of
from jobrunner.worker.batch_size import BatchSize
from jobrunner.worker.heartbeat import Heartbeat

_LOOK_AGAIN_SECONDS = 1.0
_FIRST_CLAIMED, _MOST_HELD = 100, 10_000
"""Runs in one tick's hand: all of them are to be renewed in each beat."""
_UNTIL_OVER_SECONDS = 0.25
"""What the handler of a lost lease takes to die, as a rule; else it is waited for as long once more."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """The runs of one claim. ``sent_at`` is when their leases began, on the clock of ``clock.elapsed``.

    ``places`` is how many more places of the host this tick may use; ``may_be_more`` tells that more may be due, since
    it took as many as it asked for, or failed. ``unreadable`` were claimed without their payloads, which could not be
    read: they end so.
    """

    runs: list[ClaimedRun]
    places: int
    sent_at: float
    may_be_more: bool
    unreadable: Sequence[ClaimedRun] = ()


class Claimer:
    """The main thread's claims. Every method raises DatabaseUnavailable when the database is away."""

    def __init__(
        self, config: Config, owner: Owner, database: Database, heartbeat: Heartbeat, log: Log, page: BegunPage
    ) -> None:
        self._config = config
        self._owner = owner
        self._database = database
        self._heartbeat = heartbeat
        self._log = log
        self._page = page
        # The async types of this host, whoever claims them: their runs take no places.
        self.apart: frozenset[str] = frozenset()
        self._unanswered: set[str] = set()
        self._unwanted: list[Lease] = []
        self._locked: set[Lease] = set()
        self._portion = BatchSize(_MOST_HELD, config.lease, first=_FIRST_CLAIMED)
        self._is_next_bare = False
        self._look_at = 0.0
        self._give_back_at = 0.0

    def take(
        self,
        policies: Sequence[Policy],
        limit: int,
        *,
        busy: int,
        room: Capacity | None = None,
        most: Mapping[str, int] | None = None,
        quarantined: bool = False,
    ) -> Claimed:
        """Claim and start up to ``limit`` due runs of these types, as far as this host has places.

        ``busy`` is how many of them this tick uses; ``room`` and ``most`` are as in ``ClaimRequest``.
        """
        request = ClaimRequest(
            owner=self._owner,
            token=secrets.token_hex(16),
            policies=policies,
            limit=min(limit, self._portion.size, _MOST_HELD - self._heartbeat.count_held()),
            places=self._config.concurrency,
            lease=self._config.lease,
            busy=busy,
            room=room,
            most=most or {},
            apart=self.apart,
            quarantined=quarantined,
            bare=self._is_next_bare,
        )
        # Where writers starve each other, every write also renews the leases.
        due = self._heartbeat.due() if self._database.waits_unfairly else []

        has_read = False

        def work(connection: Connection) -> tuple[Claim, Renewal]:
            nonlocal has_read
            claim = claims.claim(connection, request)
            # What hangs from here on is the COMMIT: the rows are not to blame.
            has_read = True
            return claim, holding.renew(connection, due, self._config.lease)

        sent_at = clock.elapsed()
        self._unanswered.add(request.token)
        self._page.note_claim(request.token)
        try:
            claim, renewal = self._database.write(work)
        except DatabaseUnavailable as error:
            if not has_read and self._portion.is_cut(error, clock.elapsed() - sent_at):
                self._note_failure(request, error)
            raise
        except JobrunnerError:
            raise
        except Exception as error:
            # Whatever the row is, it must not keep the others back.
            self._unanswered.remove(request.token)
            self._page.forget_claim(request.token)
            if request.bare:
                raise
            self._note_failure(request, error)
            return Claimed([], 0, sent_at, may_be_more=True)
        return self._have(request, claim, renewal, sent_at)

    def _have(self, request: ClaimRequest, claim: Claim, renewal: Renewal, sent_at: float) -> Claimed:
        """Take note of a claim that was committed, in every place that keeps account of what is held."""
        self._unanswered.remove(request.token)
        self._page.note(run.lease for run in claim.runs)
        self._page.forget_claim(request.token)
        self._is_next_bare = False
        if claim.runs:
            self._portion.took(clock.elapsed() - sent_at)
        self._heartbeat.renewed(renewal.renewed, sent_at)
        again = self._heartbeat.lose({run.lease.run_id for run in claim.runs})
        self._heartbeat.hold((run.lease for run in claim.runs), sent_at)
        if claim.runs:
            self._database.hit("claim.committed")
        runs = claim.runs
        if again:
            # Somebody has recovered a run whose handler is still at work here: first that one is to be over.
            self.unwant(run for run in claim.runs if run.lease.run_id in again)
            self._give_back_at = clock.elapsed() + _UNTIL_OVER_SECONDS
            runs = [run for run in claim.runs if run.lease.run_id not in again]
        may_be_more = 0 < request.limit <= len(claim.runs)
        if request.bare:
            return Claimed([], claim.places, sent_at, may_be_more, unreadable=runs)
        return Claimed(runs, claim.places, sent_at, may_be_more)

    def _note_failure(self, request: ClaimRequest, error: Exception) -> None:
        """See to it that the next claim is of one run, and if this one was, of that run without its payload."""
        self._portion.size = 1
        self._is_next_bare = request.limit == 1 and not request.bare
        told = "without the payload" if self._is_next_bare else "one by one"
        self._log.warning("claim", result=told, error=first_line_of(error))

    def count_due(self, policies: Sequence[Policy], limit: int) -> int:
        """How many runs of these types are due, counted up to ``limit``."""
        return self._database.read(partial(ticks.count_claimable, policies=policies, limit=limit))

    def is_quarantined_due(self) -> bool:
        """Whether a run is due, of whatever type, that took its owner down twice in a row."""
        return self._database.read(ticks.is_quarantined_due)

    def is_settled(self) -> bool:
        """Whether it is known what became of every claim, and nothing is left to be given back."""
        return not self._unanswered and not self._unwanted

    def may_take(self) -> bool:
        """Whether nothing is left that must come before the next claim. What somebody has locked can wait."""
        return not self._unanswered and self._locked.issuperset(self._unwanted)

    def unwant(self, runs: Iterable[ClaimedRun]) -> None:
        """These were never begun and will not be, in this tick."""
        self._unwanted += [run.lease for run in runs]

    def give_back_unwanted(self) -> int:
        """Give them back, uncharged and claimable at once; how many were settled by it, one way or the other."""
        if clock.elapsed() < self._give_back_at:
            return 0
        settled = 0
        for token in {lease.token for lease in self._unwanted}:
            settled += self._give_back(token)
        return settled

    def _give_back(self, token: str) -> int:
        leases = [lease for lease in self._unwanted if lease.token == token]
        run_ids = [lease.run_id for lease in leases]
        try:
            given = self._database.write(lambda connection: claims.give_back(connection, token, run_ids))
        except DatabaseUnavailable:
            self._give_back_at = clock.elapsed() + _LOOK_AGAIN_SECONDS
            self._settle(self._over(leases))
            raise
        locked = [lease for lease in leases if lease.run_id in given.locked]
        if locked:
            self._locked.update(locked)
            self._give_back_at = clock.elapsed() + _LOOK_AGAIN_SECONDS
        over = self._over(locked)
        settled = [lease for lease in leases if lease not in locked or lease in over]
        self._settle(settled)
        return len(settled)

    def _over(self, leases: list[Lease]) -> list[Lease]:
        # Whoever recovers those whose lease is over finds them started; there is nothing left to hold.
        return [lease for lease in leases if self._heartbeat.time_left(lease) <= 0]

    def _settle(self, leases: list[Lease]) -> None:
        for lease in leases:
            self._unwanted.remove(lease)
            self._locked.discard(lease)
            self._heartbeat.let_go(lease)
            self._page.forget(lease)

    def give_back_unanswered(self) -> int:
        """Undo claims whose COMMIT got no answer; how many runs that were.

        Such a COMMIT may be applied even much later, when a stopped server goes on. But until then it holds the
        places of its host: whoever gets them after it sees what became of it.
        """
        if not self._unanswered or clock.elapsed() < self._look_at:
            return 0
        self._look_at = clock.elapsed() + _LOOK_AGAIN_SECONDS

        def work(connection: Connection) -> dict[str, GivenBack]:
            claims.hold_places(connection, self._owner.host)
            return {token: claims.give_back(connection, token) for token in self._unanswered}

        given = self._database.write(work)
        for token in self._unanswered:
            self._page.forget_claim(token)
        self._unanswered.clear()
        locked = [Lease(run_id, token) for token, each in given.items() for run_id in each.locked]
        self._page.note(locked)
        self._heartbeat.hold(locked, clock.elapsed())
        self._unwanted += locked
        self._locked.update(locked)
        runs = sum(each.runs for each in given.values())
        if runs:
            self._log.warning("released", result="unanswered claim given back", runs=runs)
        return runs
