"""Returning: gives runs back that have not begun, and undoes claims whose COMMIT got no answer."""

from __future__ import annotations

from jobrunner import clock
from jobrunner.errors import DatabaseUnavailable
from jobrunner.model import Lease
from jobrunner.store.drivers.database import Connection
from jobrunner.store.queue import claims
from jobrunner.store.queue.claims import Returned
from jobrunner.worker.context import TickContext
from jobrunner.worker.hand import Hand, RunInHand
from jobrunner.worker.phase import Phase

_LOOK_AGAIN_SECONDS = 1.0


class Returner:
    """Returns runs, in the main thread. ``unanswered`` are the tokens of claims whose COMMIT got no answer.

    Every method that asks the database raises DatabaseUnavailable.
    """

    def __init__(self, context: TickContext, hand: Hand) -> None:
        self.unanswered: set[str] = set()
        self._context = context
        self._database = context.database
        self._hand = hand
        self._log = context.log
        self._look_at = 0.0
        self._return_at = 0.0

    def wait(self, seconds: float) -> None:
        """Return no run for so long."""
        self._return_at = clock.elapsed() + seconds

    def is_settled(self) -> bool:
        """Whether every claim has an answer, and nothing is left to return."""
        return not self.unanswered and not self._hand.count(Phase.RETURNING)

    def is_free(self) -> bool:
        """Whether nothing must be done before the next claim. Locked rows can be returned later."""
        return not self.unanswered and all(held.is_locked for held in self._hand.in_phase(Phase.RETURNING))

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
        if not self.unanswered or clock.elapsed() < self._look_at:
            return 0
        self._look_at = clock.elapsed() + _LOOK_AGAIN_SECONDS

        def work(connection: Connection) -> dict[str, Returned]:
            claims.lock_permits(connection, self._context.owner.host)
            return {token: claims.return_unstarted(connection, token) for token in self.unanswered}

        returned = self._database.write(work)
        for token in self.unanswered:
            self._hand.page.forget_claim(token)
        self.unanswered.clear()
        for token, each in returned.items():
            for run_id in each.locked:
                self._hand.take_to_return(Lease(run_id, token)).is_locked = True
        runs = sum(each.runs for each in returned.values())
        if runs:
            self._log.warning("released", result="unanswered claim returned", runs=runs)
        return runs
