"""The life of the runs in hand, from the claim to the result: gives them to the pools and takes their ends."""

from __future__ import annotations

from typing import Any

from jobrunner import clock
from jobrunner.children.events import Reported
from jobrunner.children.messages import NOT_BEGUN, Progress, Report
from jobrunner.children.process import Process
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.store.queue.finalize import Ended, Refusal
from jobrunner.worker.attempt import StopReason, with_wait
from jobrunner.worker.beside import Beside
from jobrunner.worker.claimer import Claimed
from jobrunner.worker.context import TickContext
from jobrunner.worker.finalizer import MOST_UNWRITTEN, Finalizer
from jobrunner.worker.hand import Hand, RunInHand
from jobrunner.worker.phase import AT_WORK_PHASES, Phase
from jobrunner.worker.pools.pool import Pool, Steps
from jobrunner.worker.pools.pools import Pools
from jobrunner.worker.run_log import log_claimed, log_left, log_run

_LONGEST_WAIT_SECONDS = 0.25
_DOUBT_SECONDS = 0.3
"""A service manager that stops all processes of a service sends the tick its signal within this time, too."""
_UNREADABLE = AttemptResult(
    Outcome.FAILED,
    error_type="unreadable",
    error="its payload could not be read in a quarter of the lease, or not at all; see the log of the tick",
)


class Life:
    """Takes runs from the claim to the finalizer. Main thread only."""

    def __init__(self, context: TickContext, hand: Hand, pools: Pools, beside: Beside[Any]) -> None:
        self.finalizer = Finalizer(context, hand, beside, self.leave)
        # Whether a run has ended that other runs wait for.
        self.has_ended_parent = False
        self._context = context
        self._hand = hand
        self._pools = pools
        # How many runs of this tick may be at work on the host, by the last claim.
        self._permits = 0

    # From the claim to the pools.

    def take(self, claimed: Claimed) -> None:
        """Give the runs of a claim to the pools."""
        self._permits = claimed.permits
        self._context.counts["claimed"] += len(claimed.runs) + len(claimed.unreadable)
        for held in claimed.runs:
            if clock.elapsed() > held.begin_before:
                # This host has stalled since the claim: another tick may have the run by now.
                self.give_back(held)
        for held in claimed.unreadable:
            self.end(held, _UNREADABLE)
        self.give()

    def give(self) -> None:
        """Start the waiting runs, as many as the pools can take. Return those that have waited for too long."""
        is_closed = self._context.stop.at is not None or self.finalizer.is_behind()
        ahead = 0 if is_closed else MOST_UNWRITTEN - self.finalizer.unwritten()
        for pool in self._pools:
            permits = 0 if is_closed else self._permits - self._hand.permits_in_use
            self._take(pool.start(permits, ahead))
        if self._context.stop.at is not None:
            for pool in self._pools:
                pool.recall()
        self._give_back_overdue()

    def _take(self, steps: Steps) -> None:
        for held, result in steps:
            if result is None:
                self._begin(held)
            else:
                self.end(held, result)

    def _begin(self, held: RunInHand) -> None:
        """Log that a run is at work from now on."""
        log_claimed(self._context.log, held.run)
        self._context.database.hit("attempt.handed_over")
        if self._context.pinging is not None:
            self._context.pinging.begun(held.run)

    def give_back(self, held: RunInHand) -> None:
        """Let the returner return a run that has certainly not begun."""
        self._hand.move(held, Phase.RETURNING)
        self._context.counts["claimed"] -= 1

    def _give_back_overdue(self) -> None:
        if self._context.stop.at is None and not self._is_any_overdue():
            return
        for held in self._hand.in_phase(Phase.WAITING):
            pool = self._pools.serving(held.run.job_type)
            is_retired = held.run.job_type not in pool.types.policies
            if is_retired or self._context.stop.at is not None or self._latest_of(held, pool) <= clock.elapsed():
                self.give_back(held)

    def _is_any_overdue(self) -> bool:
        has_retired = any(len(pool.types.policies) < len(pool.types.known) for pool in self._pools)
        return has_retired or min(self._overdue_at(), default=float("inf")) <= clock.elapsed()

    def _overdue_at(self) -> list[float]:
        """When a waiting run will have waited for too long."""
        first: dict[Pool, float] = {}
        for held in self._hand.each_in(Phase.WAITING):
            # The first of a pool has waited for longest.
            if (pool := self._pools.serving(held.run.job_type)) not in first:
                first[pool] = self._latest_of(held, pool)
        return list(first.values())

    def _latest_of(self, held: RunInHand, pool: Pool) -> float:
        # As long as a pool takes runs, the others may go on waiting for it.
        return max(held.waits_since, pool.took_at) + _LONGEST_WAIT_SECONDS

    # From the pools to the finalizer.

    def hear(self, reported: Reported) -> None:
        """Take a child's message about a run. It is dropped if the child does not work on that run."""
        message = reported.message
        held = self._hand.at_work(message.run_id)
        if held is None or held.attempt.process is not reported.child:
            return
        if isinstance(message, Progress):
            self._hand.report(held, progress=message.progress)
        elif isinstance(message, Report):
            self._take_report(held, message)
        else:
            held.attempt.receive(message)

    def _take_report(self, held: RunInHand, report: Report) -> None:
        steps = self._pools.serving(held.run.job_type).ended([held], report)
        if report.outcome == NOT_BEGUN:
            self.give_back(held)
        self._take(steps)

    def reap(self, process: Process) -> None:
        """Take the end of a process that has sent no report. For a command this is usual, for a child it is not."""
        runs = [held for held in self._hand.in_phase(*AT_WORK_PHASES) if held.attempt.process is process]
        self._pools.ask_soon()
        if runs:
            self._take(self._pools.serving(runs[0].run.job_type).ended(runs, None))
        process.close()

    def end(self, held: RunInHand, result: AttemptResult) -> None:
        """Take the result of a run that its process has ended, or that could not be started."""
        if held.started is None:
            log_claimed(self._context.log, held.run)
        else:
            self._context.database.hit("attempt.ended")
            self._pools.ask_soon()
        self._hand.move(held, Phase.ENDED)
        held.result = result
        if held.started is not None and held.attempt.is_doubtful:
            # A service manager may be stopping all processes. Then the tick gets its own stop signal a moment later.
            held.doubt_until = clock.elapsed() + _DOUBT_SECONDS
        self._settle(held, result)

    def settle_doubts(self) -> None:
        """Decide the results in doubt: those of runs that stopped with the tick, and those whose time is over."""
        for held in self._in_doubt():
            assert held.result is not None
            self._settle(held, held.result)

    def _in_doubt(self) -> list[RunInHand]:
        return [held for held in self._hand.in_phase(Phase.ENDED) if held.doubt_until is not None]

    def _settle(self, held: RunInHand, result: AttemptResult) -> None:
        """Give the result to the finalizer, unless it is still in doubt."""
        if held.doubt_until is not None:
            if self._context.stop.at is not None:
                result = held.attempt.stopped_with_its_tick(result)
            elif clock.elapsed() < held.doubt_until:
                return
        stopping = None if held.started is None else held.attempt.stopping
        if stopping is StopReason.LEASE_LOST:
            self.leave(held, None)
            return
        if stopping in (StopReason.SHUTDOWN, StopReason.UNRENEWED):
            log_run(self._context.log, "stopped", held.run, result=result.outcome.value, error=result.error)
        policy = self._pools.serving(held.run.job_type).types.known[held.run.job_type]
        self.finalizer.add(held, with_wait(result, policy, held.run.attempt))

    def leave(self, held: RunInHand, answer: Ended | Refusal | str | None) -> None:
        """Let a run out of the hand: log, count and ping what became of it (``log_left`` explains ``answer``)."""
        self._hand.release(held)
        if isinstance(answer, Ended | Refusal) and self._context.pinging is not None:
            self._context.pinging.ended(held.run, answer, held.result, held.progress)
        # After a handler's own transaction perhaps: it has not said whether others wait for the run.
        self.has_ended_parent |= answer.has_dependants if isinstance(answer, Ended) else answer is Refusal.COMMITTED
        self._context.counts[log_left(self._context.log, held.run, held.result, answer)] += 1

    # Questions of the loop.

    def is_settled(self) -> bool:
        """Whether no result is in doubt."""
        return not self._in_doubt()

    def next_steps(self) -> list[float]:
        """When ``give`` or ``settle_doubts`` has something to do, even if nothing happens."""
        doubts = [held.doubt_until for held in self._in_doubt() if held.doubt_until is not None]
        return self._overdue_at() + doubts
