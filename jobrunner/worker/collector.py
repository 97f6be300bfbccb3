"""Collecting: takes the messages of children about their runs, and decides what the end of each run means."""

from __future__ import annotations

from jobrunner import clock
from jobrunner.children.events import Reported
from jobrunner.children.messages import NOT_BEGUN, Progress, Report
from jobrunner.children.process import Process
from jobrunner.lifecycle import AttemptResult
from jobrunner.worker.attempt import StopReason
from jobrunner.worker.context import TickContext
from jobrunner.worker.dispatcher import Dispatcher
from jobrunner.worker.finalizer import Finalizer
from jobrunner.worker.hand import Hand, RunInHand
from jobrunner.worker.phase import AT_WORK_PHASES, Phase
from jobrunner.worker.pools.pool import PoolStep
from jobrunner.worker.pools.pools import Pools
from jobrunner.worker.run_log import log_run

_DOUBT_SECONDS = 0.3
"""A service manager that stops all processes of a service sends the tick its signal within this time, too."""


class Collector:
    """Takes runs from the message of a child to the finalizer. Main thread only."""

    def __init__(
        self, context: TickContext, hand: Hand, pools: Pools, dispatcher: Dispatcher, finalizer: Finalizer
    ) -> None:
        self._context = context
        self._hand = hand
        self._pools = pools
        self._dispatcher = dispatcher
        self._finalizer = finalizer

    def receive(self, reported: Reported) -> None:
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
        step = self._pools.serving(held.run.job_type).ended([held], report)
        if report.outcome == NOT_BEGUN:
            self._dispatcher.return_run(held)
        self._take(step)

    def reap(self, process: Process) -> None:
        """Take the end of a process that has sent no report. For a command this is usual, for a child it is not."""
        runs = [held for held in self._hand.in_phase(*AT_WORK_PHASES) if held.attempt.process is process]
        self._pools.ask_soon()
        if runs:
            self._take(self._pools.serving(runs[0].run.job_type).ended(runs, None))
        process.close()

    def _take(self, step: PoolStep) -> None:
        for held, result in step.results:
            self._end(held, result)
        self._dispatcher.note_started(step.started)

    def _end(self, held: RunInHand, result: AttemptResult) -> None:
        self._context.database.hit("attempt.ended")
        self._hand.move(held, Phase.ENDED)
        self._pools.ask_soon()
        held.result = result
        if held.attempt.is_doubtful:
            # A service manager may be stopping all processes. Then the tick gets its own stop signal a moment later.
            held.doubt_until = clock.elapsed() + _DOUBT_SECONDS
            self.settle_doubts()
        else:
            self._conclude(held, result)

    def is_settled(self) -> bool:
        """Whether no result is in doubt."""
        return not self._in_doubt()

    def next_steps(self) -> list[float]:
        """When ``settle_doubts`` has something to do."""
        return [held.doubt_until for held in self._in_doubt() if held.doubt_until is not None]

    def settle_doubts(self) -> None:
        """Decide the results in doubt: those of runs that stopped with the tick, and those whose time is over."""
        for held in self._in_doubt():
            assert held.result is not None
            if self._context.stop.at is not None:
                self._conclude(held, held.attempt.stopped_with_its_tick(held.result))
            elif held.doubt_until is not None and clock.elapsed() >= held.doubt_until:
                self._conclude(held, held.result)

    def _in_doubt(self) -> list[RunInHand]:
        return [held for held in self._hand.in_phase(Phase.ENDED) if held.doubt_until is not None]

    def _conclude(self, held: RunInHand, result: AttemptResult) -> None:
        stopping = held.attempt.stopping
        if stopping is StopReason.LEASE_LOST:
            self._hand.release(held)
            self._context.counts["lost"] += 1
            return
        if stopping in (StopReason.SHUTDOWN, StopReason.UNRENEWED):
            log_run(self._context.log, "stopped", held.run, result=result.outcome.value, error=result.error)
        self._finalizer.add(held, result, held.attempt.policy)
