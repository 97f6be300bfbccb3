"""Dispatching: gives claimed runs to the pools, and returns runs that wait for too long."""

from __future__ import annotations

from collections.abc import Iterable

from jobrunner import clock
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.worker.claimer import Claimed
from jobrunner.worker.context import TickContext
from jobrunner.worker.finalizer import MOST_UNWRITTEN, Finalizer
from jobrunner.worker.hand import Hand, RunInHand
from jobrunner.worker.phase import Phase
from jobrunner.worker.pools.pool import Pool
from jobrunner.worker.pools.pools import Pools
from jobrunner.worker.run_log import log_claimed

_LONGEST_WAIT_SECONDS = 0.25
_UNREADABLE = AttemptResult(
    Outcome.FAILED,
    error_type="unreadable",
    error="its payload could not be read in a quarter of the lease, or not at all; see the log of the tick",
)


class Dispatcher:
    """Takes runs from the claim to the pools. Main thread only."""

    def __init__(self, context: TickContext, hand: Hand, pools: Pools, finalizer: Finalizer) -> None:
        self._context = context
        self._hand = hand
        self._pools = pools
        self._finalizer = finalizer
        # How many runs of this tick may be at work on the host, by the last claim.
        self._permits = 0
        # When each pool last took a waiting run. As long as a pool takes runs, the others may go on waiting for it.
        self._dispatched_at: dict[Pool, float] = {}

    def take(self, claimed: Claimed) -> None:
        """Dispatch the runs of a claim."""
        self._permits = claimed.permits
        self._context.counts["claimed"] += len(claimed.runs) + len(claimed.unreadable)
        for held in claimed.runs:
            if clock.elapsed() > held.begin_before:
                # This host has stalled since the claim: another tick may have the run by now.
                self.return_run(held)
        for held in claimed.unreadable:
            self._end_unstarted(held, _UNREADABLE)
        self.dispatch()

    def dispatch(self) -> None:
        """Start the waiting runs, as many as the pools can take. Return those that have waited for too long."""
        is_closed = self._context.stop.at is not None or self._finalizer.is_behind()
        ahead = 0 if is_closed else MOST_UNWRITTEN - self._finalizer.unwritten()
        for pool in self._pools:
            permits = 0 if is_closed else self._permits - self._hand.permits_in_use
            step = pool.start(permits, ahead)
            if step.started or step.prefetched:
                self._dispatched_at[pool] = clock.elapsed()
            self.note_started(step.started)
            for held, result in step.results:
                self._end_unstarted(held, result)
        if self._context.stop.at is not None:
            for pool in self._pools:
                pool.recall()
        self._return_overdue()

    def note_started(self, runs: Iterable[RunInHand]) -> None:
        """Log runs that are at work from now on."""
        for held in runs:
            log_claimed(self._context.log, held.run)
            self._context.database.hit("attempt.handed_over")
            if self._context.pinging is not None:
                self._context.pinging.begun(held.run)

    def next_steps(self) -> list[float]:
        """When a waiting run will have waited for too long."""
        first: dict[Pool, float] = {}
        for held in self._hand.each_in(Phase.WAITING):
            # The first of a pool has waited for longest.
            if (pool := self._pools.serving(held.run.job_type)) not in first:
                first[pool] = self._latest_of(held, pool)
        return list(first.values())

    def _return_overdue(self) -> None:
        if self._context.stop.at is None and not self._is_any_overdue():
            return
        for held in self._hand.in_phase(Phase.WAITING):
            pool = self._pools.serving(held.run.job_type)
            is_retired = held.run.job_type not in pool.types.policies
            if is_retired or self._context.stop.at is not None or self._latest_of(held, pool) <= clock.elapsed():
                self.return_run(held)

    def _is_any_overdue(self) -> bool:
        has_retired = any(len(pool.types.policies) < len(pool.types.known) for pool in self._pools)
        return has_retired or min(self.next_steps(), default=float("inf")) <= clock.elapsed()

    def _latest_of(self, held: RunInHand, pool: Pool) -> float:
        return max(held.waits_since, self._dispatched_at.get(pool, 0.0)) + _LONGEST_WAIT_SECONDS

    def return_run(self, held: RunInHand) -> None:
        """Let the claimer return a run that has certainly not begun."""
        self._hand.move(held, Phase.RETURNING)
        self._context.counts["claimed"] -= 1

    def _end_unstarted(self, held: RunInHand, result: AttemptResult) -> None:
        log_claimed(self._context.log, held.run)
        self._hand.move(held, Phase.ENDED)
        policy = self._pools.serving(held.run.job_type).types.known[held.run.job_type]
        self._finalizer.add(held, result, policy)
