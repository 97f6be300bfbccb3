"""The pool of ``async def`` handlers: one child, many runs at once; and which run is to blame when it dies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from jobrunner.children.messages import NOT_BEGUN, Cancel, Heard, Output, Report
from jobrunner.children.output import Tail
from jobrunner.children.protocol import OfRun
from jobrunner.children.python_child import ChildProcess
from jobrunner.children.supervisor import Supervisor
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.model import Capacity, ClaimedRun, Policy
from jobrunner.settings.config import Config
from jobrunner.worker.attempt import Attempt, StopReason
from jobrunner.worker.hand import Hand, RunInHand
from jobrunner.worker.phase import Phase
from jobrunner.worker.pools.pool import Pool, PoolCapacity, PoolStep, start_message
from jobrunner.worker.pools.starts import ChildStarts

_MANY = 20
_GATHERING_SECONDS = 0.01
"""With many at work, those that end together are finalized together."""


class AsyncAttempt(Attempt):
    """A run beside others in one event loop: it is stopped by cancelling it there; only then with the whole child."""

    def __init__(self, run: ClaimedRun, policy: Policy, child: ChildProcess) -> None:
        super().__init__(run, policy, child)
        self.tail = Tail()
        self._bytes_seen = 0
        self.child = child
        self.was_heard = False
        self.has_killed = False

    def stop(self, why: StopReason, within: timedelta | None = None) -> bool:
        """As any attempt; but never at once: the lease of one run is no reason to kill its neighbours."""
        return super().stop(why, within or None)

    def hear(self, message: OfRun) -> None:
        """What it has written; or that its loop has received the request to cancel it."""
        if isinstance(message, Heard):
            self.was_heard = True
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
        # Where the loop stood tells something only of a run that held it; else the coroutine's own stack does.
        return replace(stopped, traceback=ending.traceback) if self.was_heard else stopped

    def _crashed(self) -> AttemptResult:
        if beside := self.process.tail.text():
            # What came past the interpreter: a library's last words, a program that it has started.
            self.tail.add(b"\n" + beside.encode())
        return super()._crashed()

    def blocked(self, others: int) -> AttemptResult:
        """It held the loop until the child had to be killed."""
        ending = self.died()
        if self.stopping is not None:
            return ending
        return replace(
            ending,
            error_type="blocked_loop",
            error=f"it held the event loop, and {others} other(s) could not go on; use await, or asyncio.to_thread",
        )

    def bystander(self, culprits: Sequence[Attempt]) -> AttemptResult:
        """Its child died through no fault of its own: uncharged."""
        named = ", ".join(f"run {each.run.lease.run_id} ({each.run.job_type})" for each in culprits)
        why = f"because of {named}" if named else "and nobody knows by which of its runs"
        return AttemptResult(
            Outcome.RELEASED,
            error_type="released",
            error=f"the child that it shared was ended {why}",
            output=self.tail.text(),
        )


class CoroutinePool(Pool):
    """One child with an event loop. Its runs take no permits of the host: each type has its own limit."""

    def __init__(self, hand: Hand, supervisor: Supervisor, config: Config, starts: ChildStarts) -> None:
        super().__init__(hand)
        self._config = config
        self._supervisor = supervisor
        self._starts = starts
        self._child: ChildProcess | None = None
        self._at_work = 0
        self._is_one_at_a_time = False

    def capacity(self) -> PoolCapacity:
        if not self.types.policies:
            return PoolCapacity(Capacity(0), is_usable=False)
        child = self._living()
        is_served = child is not None or self._supervisor.idle or self._supervisor.starting
        return PoolCapacity(
            self._claimable(child),
            growth=0 if is_served else 1,
            is_usable=self._starts.is_any(),
            is_ready=child is not None or self._starts.is_settled(),
            gathering_seconds=_GATHERING_SECONDS if self._at_work >= _MANY else 0.0,
        )

    def _claimable(self, child: ChildProcess | None) -> Capacity:
        if child is None and not self._supervisor.idle:
            return Capacity(0)
        if child is not None and (child.is_being_killed or child.silent_since is not None):
            return Capacity(0)
        most = 1 if self._is_one_at_a_time else sum(each.concurrency or 1 for each in self.types.known.values())
        return Capacity(0, ahead=most - self._at_work)

    def grow(self, count: int) -> None:
        self._starts.start(min(count, 1))

    def start(self, permits: int, ahead: int) -> PoolStep:
        waiting = self._waiting()
        for held in waiting:
            child = self._child = self._living() or self._supervisor.acquire()
            policy = self.types.known[held.run.job_type]
            held.started = AsyncAttempt(held.run, policy, child)
            self._hand.move(held, Phase.WORKING)
            slot = self._supervisor.page.slot_of(held.lease)
            child.send(start_message(held, policy, self._config, slot))
            self._at_work += 1
        return PoolStep(started=waiting)

    def ended(self, runs: Sequence[RunInHand], report: Report | None) -> PoolStep:
        if report is None:
            return PoolStep(self._results_of_death(runs))
        # The child stays: its loop and what the handlers keep in it are there for the next runs.
        self._at_work -= 1
        return PoolStep([] if report.outcome == NOT_BEGUN else [(held, held.attempt.reported(report)) for held in runs])

    def _results_of_death(self, runs: Sequence[RunInHand]) -> list[tuple[RunInHand, AttemptResult]]:
        mine = [(held, held.attempt) for held in runs if isinstance(held.attempt, AsyncAttempt)]
        attempts = [attempt for _, attempt in mine]
        culprits, held_the_loop = _culprits(attempts)
        if not culprits:
            # Nobody knows who did it: one at a time for the rest of the tick, and it will show.
            self._is_one_at_a_time = True
        self._at_work = 0
        results = []
        for held, attempt in mine:
            if attempt not in culprits:
                results.append((held, attempt.bystander(culprits)))
            else:
                others = len(mine) - len(culprits)
                results.append((held, attempt.blocked(others) if held_the_loop else attempt.died()))
        return results

    def close(self) -> None:
        """Let the child go: with nothing at work it ends by itself."""
        child = self._living()
        if child is not None and not self._at_work:
            self._supervisor.release(child)
            self._child = None

    def _living(self) -> ChildProcess | None:
        if self._child is not None and self._child.exit_status is not None:
            self._child = None
        return self._child


def _culprits(attempts: Sequence[AsyncAttempt]) -> tuple[list[AsyncAttempt], bool]:
    """Who is to blame for the child's end; and whether it held the loop so that others got the child killed."""
    killers = [attempt for attempt in attempts if attempt.has_killed]
    if any(attempt.was_heard for attempt in killers):
        # The loop has answered: it is they who would not stop.
        return killers, False
    turn = attempts[0].child.running_run_id()
    if in_turn := [attempt for attempt in attempts if attempt.run.lease.run_id == turn]:
        return in_turn, bool(killers)
    if killers or len(attempts) == 1:
        return killers or list(attempts), False
    return [attempt for attempt in attempts if attempt.is_overdue()], False
