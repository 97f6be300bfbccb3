"""The scheduler: decides at every statement, COMMIT and wait which task goes on, and what time it is then.

A task is a greenlet: a thread of a tick, a child, a user. Only one goes on at a time, from one point to the next. A
step is one decision; it takes one number of the history, and 0 always means that the task goes on which has waited for
the longest, and that nothing fails.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from operator import attrgetter
from typing import Any

from greenlet import getcurrent, greenlet

NEVER = float("inf")
_STEP_SHARES = (1e-5, 1e-5, 1e-5, 1e-5, 1e-5, 1e-4, 3e-4, 2e-3)
"""How long a step takes, as a share of the lease."""
_OVERDUE_SHARE = 0.01
"""A task that could go on for so long is next: a host that is slower is a fault, and said to be one."""


_free_at = attrgetter("free_at")


class Killed(BaseException):
    """The process of this task is gone. Whatever it does while it unwinds has no effect."""


class Deadlock(Exception):
    """No task will ever go on."""


class Process:
    """A process of the simulated hosts: its tasks, and whether it is there, stopped or gone."""

    def __init__(self, name: str, pid: int, clock_offset: float) -> None:
        self.name = name
        self.pid = pid
        self.clock_offset = clock_offset
        self.is_dead = False
        self.stopped_until = 0.0
        self.tasks: list[Task] = []
        # What ends with the process, whatever its code does: its connections, its locks.
        self.at_death: list[Callable[[], None]] = []

    def __repr__(self) -> str:
        return self.name


class Task(greenlet):  # type: ignore[misc]  # greenlet has no types
    """A thread of a process. ``ready_at`` is when it may go on, ``at`` names the point at which it is."""

    def __init__(self, process: Process, name: str, work: Callable[[], object]) -> None:
        super().__init__(self._run_to_the_end)
        self.process = process
        self.name = f"{process.name}/{name}"
        self.ready_at = self.free_at = 0.0
        self.at = "start"
        # The connection whose point it is at, if any.
        self.connection: Any = None
        self.was_woken = False
        self.has_ended = False
        self.error: BaseException | None = None
        self._work = work

    def _run_to_the_end(self, *_: object) -> None:
        try:
            self._work()
        except Killed:
            pass
        except BaseException as error:  # noqa: BLE001 - whoever has started it looks at it
            self.error = error
        finally:
            self.has_ended = True


class Scheduler:
    """``now`` is the time of all clocks, in seconds. ``draw`` gives the number of the next step."""

    def __init__(self, lease_seconds: float, draw: Callable[[int], int], note: Callable[[str], None]) -> None:
        self.now = 1000.0
        self._step_seconds = tuple(share * lease_seconds for share in _STEP_SHARES)
        self._overdue_seconds = _OVERDUE_SHARE * lease_seconds
        self.steps = 0
        self.on_step: Callable[[Task, int], Any] = lambda task, number: None
        self._draw = draw
        self._note = note
        # The tasks that an unexpected error has ended.
        self.failed: list[Task] = []
        self._tasks: list[Task] = []
        self._hub: Any = None

    # What a task calls.

    def task(self) -> Task:
        """The task that goes on now."""
        found: Task = getcurrent()
        return found

    def point(self, at: str, connection: Any = None) -> Any:
        """Let others go on. Returns what the scheduler has decided about this point."""
        task = self.task()
        task.ready_at, task.was_woken = self.now, False
        return self._leave(task, at, connection)

    def wait(self, at: str, seconds: float | None, connection: Any = None) -> bool:
        """Wait until ``wake`` is called for this task, at most for so long. Returns whether it was."""
        task = self.task()
        task.ready_at, task.was_woken = NEVER if seconds is None else self.now + max(0.0, seconds), False
        self._leave(task, at, connection)
        return task.was_woken

    def _leave(self, task: Task, at: str, connection: Any) -> Any:
        if task.process.is_dead:
            raise Killed
        task.at, task.connection = at, connection
        decided = self._hub.switch()
        task.connection = None
        if task.process.is_dead:
            raise Killed
        return decided

    def wake(self, task: Task) -> None:
        """End the wait of a task."""
        task.was_woken = True
        task.ready_at = min(task.ready_at, self.now)

    def start(self, process: Process, name: str, work: Callable[[], object]) -> Task:
        """Start a task. It begins in a later step."""
        task = Task(process, name, work)
        task.ready_at = self.now
        process.tasks.append(task)
        self._tasks.append(task)
        return task

    # What the history calls.

    def kill(self, process: Process) -> None:
        """End a process at once: nothing of its code goes on, and all that it held is free."""
        if process.is_dead:
            return
        process.is_dead = True
        for act in process.at_death:
            act()
        current = getcurrent()
        for task in process.tasks:
            if task is not current and not task.has_ended and bool(task):  # a greenlet that goes on
                self._unwind(task)
            task.has_ended = True
        self._tasks = [task for task in self._tasks if task.process is not process]

    def _unwind(self, task: Task) -> None:
        # Its ``finally`` blocks run, and each of their points raises Killed again.
        task.parent = getcurrent()
        with suppress(BaseException):
            task.throw(Killed)

    def run(self, until: Callable[[], bool], most_steps: int) -> bool:
        """Decide step by step until the condition holds; False if that took too many steps."""
        self._hub = getcurrent()
        for _ in range(most_steps):
            if until():
                return True
            self.step()
        return until()

    def step(self) -> None:
        """Let one task go on to its next point."""
        ready = self._ready()
        number = self._draw(self.steps)
        self.steps += 1
        is_overdue = ready[0].free_at < self.now - self._overdue_seconds
        task = ready[0 if is_overdue else (number & 0xFF) % len(ready)]
        self.now += self._step_seconds[(number >> 8) & 7]
        decided = self.on_step(task, number >> 11)
        if self._is_gone(task):
            # By what the step has decided.
            return
        self._note(f"{task.name}: {task.at}")
        task.parent = self._hub
        task.switch(decided)
        if task.has_ended:
            self._forget(task)

    def _is_gone(self, task: Task) -> bool:
        return task.has_ended or task.process.is_dead or task.process.stopped_until > self.now

    def _forget(self, task: Task) -> None:
        if task in self._tasks:
            self._tasks.remove(task)
        if task.error is not None:
            self.failed.append(task)

    def _ready(self) -> list[Task]:
        found: list[Task] = []
        next_at = NEVER
        now = self.now
        for task in self._tasks:
            at = task.ready_at
            if task.process.stopped_until > at:
                at = task.process.stopped_until
            if at <= now:
                task.free_at = at
                found.append(task)
            elif at < next_at:
                next_at = at
        if not found:
            if next_at == NEVER:
                raise Deadlock(", ".join(f"{task.name}: {task.at}" for task in self._tasks))
            self.now = next_at
            return self._ready()
        # A stable order: of those that are ready since the same time, the older one.
        found.sort(key=_free_at)
        return found
