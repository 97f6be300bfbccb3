"""One attempt at a run that shares an event loop with others, and which of them are charged when their child ends."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from datetime import timedelta

from jobrunner.children.messages import Cancel, CancelReceived, Output
from jobrunner.children.output import Tail
from jobrunner.children.protocol import OfRun
from jobrunner.children.python_child import ChildProcess
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.model import ClaimedRun, Policy
from jobrunner.worker.attempt import Attempt, StopReason


class AsyncAttempt(Attempt):
    """A run that shares an event loop. It is cancelled there to stop it; if that fails, the whole child is killed."""

    def __init__(self, run: ClaimedRun, policy: Policy, child: ChildProcess, began_at: float | None = None) -> None:
        super().__init__(run, policy, child, began_at)
        self.tail = Tail()
        self._bytes_seen = 0
        self.child = child
        self.loop_has_answered = False
        self.has_killed = False

    def stop(self, why: StopReason, within: timedelta | None = None) -> bool:
        """As for any attempt, but never at once: a lost lease of one run must not kill the other runs."""
        return super().stop(why, within or None)

    def receive(self, message: OfRun) -> None:
        """Take the output of the run, or note that its event loop has received the request to cancel it."""
        if isinstance(message, CancelReceived):
            self.loop_has_answered = True
        elif isinstance(message, Output):
            self.tail.add(message.text.encode("utf-8", "replace"))

    def _send(self, step: str) -> None:
        if step in ("ask", "interrupt"):
            self.child.send(Cancel(self.run.lease.run_id))
        else:
            self.has_killed = self.has_killed or step == "kill"
            super()._send(step)

    def _stopped(self, ending: AttemptResult) -> AttemptResult:
        stopped = super()._stopped(ending)
        # If the loop has answered, this run did not block it. Then the stack of the coroutine says more.
        return stopped._replace(traceback=ending.traceback) if self.loop_has_answered else stopped

    def _crashed(self) -> AttemptResult:
        if shared := self.process.tail.text():
            # Output that no run can be found for: from a library in C, or from a program that a handler started.
            self.tail.add(b"\n" + shared.encode())
        return super()._crashed()

    def blocked(self, others: int) -> AttemptResult:
        """The result of a run that blocked the event loop until the child was killed."""
        ending = self.died()
        if self.stopping is not None:
            return ending
        return ending._replace(
            error_type="blocked_loop",
            error=f"it blocked the event loop and {others} other run(s); use await, or asyncio.to_thread",
        )

    def released_with_child(self, charged: Sequence[Attempt]) -> AttemptResult:
        """The result of a run whose child died because of others: uncharged."""
        named = ", ".join(f"run {each.run.lease.run_id} ({each.run.job_type})" for each in charged)
        why = f"because of {named}" if named else "because of one of its runs, and it is not known which"
        return AttemptResult(
            Outcome.RELEASED,
            error_type="released",
            error=f"the child process that it shared ended {why}",
            output=self.tail.text(),
        )


def charged(attempts: Sequence[AsyncAttempt]) -> tuple[list[AsyncAttempt], bool]:
    """The attempts that are charged for the child's end; and whether they blocked the loop of a run to be stopped."""
    killed_for = [attempt for attempt in attempts if attempt.has_killed]
    if any(attempt.loop_has_answered for attempt in killed_for):
        # The loop went on, so these runs did not stop when they were cancelled.
        return killed_for, False
    child = attempts[0].child
    # SIGKILL that this tick has not sent comes from the kernel, an operator or another thread. The step in which it
    # comes says nothing: the run of that step may only have waited beside the one that took all the memory.
    is_from_elsewhere = child.exit_status == -signal.SIGKILL and not child.is_being_killed
    running = None if is_from_elsewhere else child.running_run_id()
    if has_loop := [attempt for attempt in attempts if attempt.run.lease.run_id == running]:
        return has_loop, bool(killed_for)
    if killed_for or len(attempts) == 1:
        return killed_for or list(attempts), False
    return [attempt for attempt in attempts if attempt.is_overdue()], False
