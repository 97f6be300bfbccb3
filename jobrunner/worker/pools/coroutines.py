"""The crew of ``async def`` handlers: one child, many runs at once; and who is to blame when it dies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from jobrunner.children.output import Tail
from jobrunner.children.protocol import Heard, OfRun, Output, Report
from jobrunner.children.python_child import ChildProcess
from jobrunner.children.supervisor import Supervisor
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.model import Capacity, ClaimedRun, Policy
from jobrunner.settings.config import Config
from jobrunner.worker.attempt import Attempt, Why, run_frame
from jobrunner.worker.pools.handlers import HandlerCrew
from jobrunner.worker.pools.pool import Crew

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

    def stop(self, why: Why, within: timedelta | None = None) -> bool:
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
            self.child.send({"kind": "cancel", "run_id": self.run.lease.run_id})
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


class AsyncCrew(Crew):
    """One child with an event loop. Its runs take no places of the host's: each type has its own limit."""

    def __init__(self, config: Config, supervisor: Supervisor, handlers: HandlerCrew) -> None:
        super().__init__()
        self._config = config
        self._supervisor = supervisor
        self._handlers = handlers
        self._child: ChildProcess | None = None
        self._at_work = 0
        self._most = 0

    def learn(self, policies: Sequence[Policy]) -> None:
        """The first greeting has told what there is."""
        super().learn(policies)
        self._most = sum(policy.concurrency or 1 for policy in policies)
        if policies:
            self._handlers.allow_one_more()

    def is_usable(self) -> bool:
        return bool(self.policies) and self._handlers.has_children()

    def is_settled(self) -> bool:
        return not self.policies or self._living() is not None or self._handlers.is_settled()

    def room(self) -> Capacity:
        child = self._living()
        if not self.policies or (child is None and not self._supervisor.idle):
            return Capacity(0)
        if child is not None and (child.is_being_killed or child.silent_since is not None):
            return Capacity(0)
        return Capacity(0, ahead=self._most - self._at_work)

    def gathering_seconds(self) -> float:
        return _GATHERING_SECONDS if self._at_work >= _MANY else 0.0

    def growth(self) -> int:
        is_served = self._living() is not None or self._supervisor.idle or self._supervisor.starting
        return 0 if is_served else 1

    def grow(self, count: int) -> None:
        self._handlers.grow(min(count, 1))

    def begin(self, run: ClaimedRun, begin_before: float) -> Attempt | AttemptResult | None:
        child = self._child = self._living() or self._supervisor.acquire()
        policy = self.policies[run.job_type]
        attempt = AsyncAttempt(run, policy, child)
        limit, grace = self._config.payload_limit, self._config.grace
        slot = self._supervisor.page.slot_of(run.lease)
        child.send(run_frame(run, policy, result_limit=limit, grace=grace, begin_before=begin_before, slot=slot))
        self._at_work += 1
        return attempt

    def is_over(self, attempt: Attempt, report: Report) -> Attempt | None:
        # The child stays: its loop and what the handlers keep in it are there for the next runs.
        self._at_work -= 1
        return None

    def bury(self, attempts: Sequence[Attempt]) -> list[tuple[Attempt, AttemptResult]]:
        mine = [attempt for attempt in attempts if isinstance(attempt, AsyncAttempt)]
        culprits, held_the_loop = _culprits(mine)
        if not culprits:
            # Nobody knows who did it: one at a time for the rest of the tick, and it will show.
            self._most = 1
        self._at_work = 0
        endings: list[tuple[Attempt, AttemptResult]] = []
        for each in mine:
            if each not in culprits:
                endings.append((each, each.bystander(culprits)))
            else:
                endings.append((each, each.blocked(len(mine) - len(culprits)) if held_the_loop else each.died()))
        return endings

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
