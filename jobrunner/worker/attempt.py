"""One attempt at a run, from its start to its result, and the steps that stop it.

An attempt knows the clock and its process; it does not know the database. It makes an ``AttemptResult`` of its end,
and the finalizer writes that.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from datetime import timedelta
from enum import Enum
from typing import Any, assert_never

from jobrunner import clock
from jobrunner.children.messages import Report
from jobrunner.children.output import Tail
from jobrunner.children.process import Process, describe_exit
from jobrunner.children.protocol import OfRun
from jobrunner.children.python_child import ChildProcess
from jobrunner.durations import format_duration
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.model import ClaimedRun, Policy

_STACKS_SECONDS = 0.1
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class StopReason(Enum):
    """Why a handler is being stopped. It is noted before the first signal, so that the cause of a death is known."""

    TIMEOUT = "it ran out of time"
    CANCEL = "its cancellation was requested"
    SHUTDOWN = "the tick received a stop signal"
    UNRENEWED = "its lease could not be renewed in time"
    LEASE_LOST = "its lease was lost"


def with_wait(result: AttemptResult, policy: Policy, attempt: int) -> AttemptResult:
    """The result with the wait of its type before the next attempt, unless the handler has asked for another one."""
    # For a run that does not fit the code, the row decides: it waits for a deploy.
    if result.wait is not None or result.outcome in (Outcome.SUCCEEDED, Outcome.INCOMPATIBLE):
        return result
    return result._replace(wait=policy.backoff.wait(attempt))


def result_of(report: Report, output: str | None = None) -> AttemptResult:
    """The result of an attempt that nothing has stopped, by the report of what has run the handler."""
    if report.outcome == "succeeded":
        # By position, because this is done for every run.
        cost = (report.peak_memory_bytes, report.processor_seconds)
        return AttemptResult(Outcome.SUCCEEDED, None, None, None, output, None, report.result, None, None, *cost)
    is_known = report.outcome in ("incompatible", "discarded", "snoozed")
    return AttemptResult(
        outcome=Outcome(report.outcome) if is_known else Outcome.FAILED,
        error_type=report.error_type,
        error=report.error,
        traceback=report.traceback,
        output=output,
        error_class=report.error_class,
        wait=None if report.outcome == "incompatible" else report.wait,
        peak_memory_bytes=report.peak_memory_bytes,
        processor_seconds=report.processor_seconds,
    )


class Attempt:
    """A claimed run that a process works on: its time limit, and the steps that stop it.

    Create it before the process gets the run, so that its time does not begin too late. ``began_at`` None means now.
    ``is_doubtful``: it did not succeed, perhaps only because a service manager has stopped all processes.
    """

    # What most attempts never set.
    stopping: StopReason | None = None
    is_doubtful = False
    _signals: Sequence[tuple[float, str]] = ()

    def __init__(self, run: ClaimedRun, policy: Policy, process: Process, began_at: float | None = None) -> None:
        self.run = run
        self.policy = policy
        self.process = process
        self.tail: Tail = process.tail
        self.began_at = clock.elapsed() if began_at is None else began_at
        self._ends_at = None if run.timeout is None else self.began_at + run.timeout.total_seconds()
        self._bytes_seen = self.tail.bytes_written

    def has_new_output(self) -> bool:
        """Whether anything has been written since this was last asked."""
        before, self._bytes_seen = self._bytes_seen, self.tail.bytes_written
        return self._bytes_seen != before

    def stop(self, why: StopReason, within: timedelta | None = None) -> bool:
        """Begin to stop the handler; False if it is being stopped already.

        It gets SIGTERM now, an exception after half of ``within``, and SIGKILL after all of it. None means the type's
        ``kill_after``; zero kills at once. The first reason stays. Only a lost lease replaces it, because then the
        handler must not go on.
        """
        if self.stopping is not None and (why is not StopReason.LEASE_LOST or self.stopping is StopReason.LEASE_LOST):
            return False
        self.stopping = why
        now = clock.elapsed()
        seconds = (self.policy.kill_after if within is None else within).total_seconds()
        # The stacks are asked for a moment earlier: if two signals are pending at once, the kernel gives the second to
        # another thread, and the main thread goes on sleeping.
        asked_at = now + min(_STACKS_SECONDS, seconds / 4) if why is StopReason.TIMEOUT else now
        self._signals = [(asked_at, "ask"), (now + seconds / 2, "interrupt"), (now + seconds, "kill")]
        if why is StopReason.TIMEOUT:
            self._signals = [(now, "stacks"), *self._signals]
        if not seconds:
            self._signals = [(now, "kill")]
        self.advance()
        return True

    def advance(self) -> None:
        """Take the steps of stopping that are due."""
        now = clock.elapsed()
        while self._signals and self._signals[0][0] <= now:
            (_, step), *self._signals = self._signals
            self._send(step)

    def is_overdue(self) -> bool:
        """Whether its timeout has passed, stopped or not."""
        return self._ends_at is not None and clock.elapsed() >= self._ends_at

    def next_step_at(self) -> float | None:
        """When its timeout passes, or when the next step of stopping is due. None means that nothing is planned."""
        return self._signals[0][0] if self._signals else (None if self.stopping else self._ends_at)

    def _send(self, step: str) -> None:
        if step == "stacks":
            self.process.ask_for_stacks()
        elif step == "ask":
            self.process.terminate(group=True)
        elif step == "interrupt":
            self.process.terminate(group=False)
        else:
            self.process.kill()

    def receive(self, message: OfRun) -> None:
        """Take a message that is neither progress nor report. A plain attempt expects none."""

    def new_checkpoint(self) -> dict[str, Any] | None:
        """What it keeps for the next attempt and has not sent as a message. None: nothing new."""
        return None

    def reported(self, report: Report) -> AttemptResult:
        """The result by the child's report."""
        ending = result_of(report, self.tail.text())
        if report.outcome == "succeeded":
            # Also after a request to stop: the work is done, and doing it again would be worse.
            return ending
        if self.stopping is not None:
            return self._stopped(ending._replace(outcome=Outcome.FAILED, wait=None))
        self.is_doubtful = report.was_asked_to_stop
        return ending

    def died(self) -> AttemptResult:
        """The result by the death of the process."""
        is_late = self._ends_at is not None and clock.elapsed() >= self._ends_at
        if self.stopping is None and is_late and self.process.exit_status == -signal.SIGALRM:
            # The kernel's alarm has ended it, because this tick stalled when it should have stopped it.
            self.stopping = StopReason.TIMEOUT
        ending = self._crashed()
        if self.stopping is not None:
            return self._stopped(ending)
        self.is_doubtful = self._is_doubtful(ending)
        return ending

    def _is_doubtful(self, ending: AttemptResult) -> bool:
        return ending.exit_signal in STOP_SIGNALS

    def stopped_with_its_tick(self, ending: AttemptResult) -> AttemptResult:
        """The result if it ended at the moment when the tick, too, got a stop signal."""
        self.stopping = StopReason.SHUTDOWN
        return self._stopped(ending)

    def _crashed(self) -> AttemptResult:
        status = self.process.exit_status
        lost_channel = isinstance(self.process, ChildProcess) and self.process.was_killed_without_channel
        how = "lost its channel to the tick" if lost_channel else describe_exit(status)
        return AttemptResult(
            outcome=Outcome.CRASHED,
            error_type="crashed",
            error=f"the handler's process {how}",
            traceback=self.process.stacks(),
            output=self.tail.text(),
            exit_signal=-status if status is not None and status < 0 else None,
            **self.process.cost_of(self.run.lease.run_id)._asdict(),
        )

    def _stopped(self, ending: AttemptResult) -> AttemptResult:
        stopping = self.stopping
        assert stopping is not None
        killed = "; it had to be killed" if ending.exit_signal == signal.SIGKILL else ""
        match stopping:
            case StopReason.TIMEOUT:
                limit = format_duration(self.run.timeout or timedelta(0))
                return ending._replace(
                    outcome=Outcome.TIMED_OUT,
                    error_type="timeout",
                    error=f"timed out after {limit}{killed}",
                    traceback=self.process.stacks() or ending.traceback,
                )
            case StopReason.CANCEL:
                return ending._replace(outcome=Outcome.CANCELLED, error_type="cancelled", error=f"cancelled{killed}")
            case StopReason.SHUTDOWN if self.policy.on_stop == "drop":
                error = f"stopped because {stopping.value}; on_stop is drop{killed}"
                return ending._replace(outcome=Outcome.DROPPED, error_type="dropped", error=error)
            case StopReason.SHUTDOWN | StopReason.UNRENEWED | StopReason.LEASE_LOST:
                error = f"stopped because {stopping.value}{killed}"
                return ending._replace(outcome=Outcome.RELEASED, error_type="released", error=error)
            case _:
                assert_never(stopping)
