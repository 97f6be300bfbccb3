"""Virtual children, in the place of the processes of a tick: with the messages, start tokens and marks of real ones.

A child is a process of the simulated host with one task. It works on virtual handlers (``handlers``), and the ledger
notes what they do.
"""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jobrunner.children.events import Died, Event, Ready, Reported, StartFailed
from jobrunner.children.messages import NOT_BEGUN, Checkpoint, Report, StartRun
from jobrunner.children.output import Tail
from jobrunner.children.process import Cost
from jobrunner.children.python_child import ChildPlan, ChildProcess
from jobrunner.children.supervisor import Supervisor
from simulator import threads

if TYPE_CHECKING:
    from simulator.world import World

_IMPORT_SECONDS = 0.2
_EXIT_SECONDS = 1.0


class VirtualChild(ChildProcess):
    """A child, on the parent's side and on its own."""

    def __init__(self, world: World, plan: ChildPlan, ring: Callable[[], None]) -> None:
        parent = world.tick_of(world.process())
        self.world = world
        self.parent = parent
        self.process = world.new_child(parent)
        self.pid = self.process.pid
        self.spawned_at = world.scheduler.now
        self.exit_status: int | None = None
        self.is_being_killed = False
        self.is_plain = False
        self.channel_lost_at: float | None = None
        self.was_killed_without_channel = False
        self.outbox: deque[Any] = deque()
        self.policies = parent.host.version.policies
        self.plan = plan
        self._tail = Tail()
        self._starts: deque[StartRun] = deque()
        self._ring = ring
        self._news = threads.Event(world.scheduler)
        self.was_asked_to_stop = 0
        self.is_idle = True
        self.run_id: int | None = None
        parent.children.append(self)
        self.process.at_death.append(self._note_death)
        world.scheduler.start(self.process, "main", self._serve)

    # The parent's side.

    @property
    def tail(self) -> Tail:
        return self._tail

    @property
    def is_waiting(self) -> bool:
        return False

    def give(self, starts: Sequence[StartRun], places: int | None = None) -> None:
        self._starts.extend(starts)
        self._news.set()

    def cost_of(self, run_id: int) -> Cost:
        return Cost()

    def recall(self) -> list[int]:
        recalled = [start.run_id for start in self._starts]
        self._starts.clear()
        return recalled

    def receive(self) -> list[Any]:
        found, self.outbox = list(self.outbox), deque()
        return found

    def has_unread(self) -> bool:
        return bool(self.outbox)

    def terminate(self, *, group: bool) -> None:
        self.was_asked_to_stop += 1
        self._news.set()

    def kill(self) -> None:
        self.is_being_killed = True
        self.end(-signal.SIGKILL)

    def end(self, status: int) -> None:
        """End the process with this exit status."""
        if self.exit_status is None and not self.process.is_dead:
            self._status = status
            self.world.end_process(self.process)

    def _note_death(self) -> None:
        self.exit_status = getattr(self, "_status", -signal.SIGKILL)
        self.world.ledger.child_died(self)
        self._ring()

    def poll(self) -> bool:
        return self.exit_status is not None

    def stacks(self) -> str | None:
        return None

    def ask_for_stacks(self) -> None:
        """A virtual handler has none."""

    def forget_output(self) -> None:
        self._tail.clear()

    def next_section(self) -> None:
        """Virtual handlers write nothing."""

    def close(self) -> None:
        """There is no descriptor."""

    # Its own side.

    def _serve(self) -> None:
        self.world.scheduler.wait("imports", _IMPORT_SECONDS)
        self._tell(Ready(self, list(self.policies)))
        while True:
            while not self._starts:
                if self.parent.process.is_dead:
                    # Its channel is closed.
                    self.world.end_process(self.process)
                self.is_idle, self.run_id = True, None
                self._news.clear()
                self._news.wait()
            start = self._starts.popleft()
            self.is_idle, self.run_id, self.was_asked_to_stop = False, start.run_id, 0
            self.world.scheduler.point(f"takes run {start.run_id}")
            self.world.hit("child.received")
            self._mark(start)
            if self.world.elapsed() > start.begin_before:
                self._report(Report(start.run_id, NOT_BEGUN))
                continue
            report = self.world.handlers.run(self, start)
            self._report(report._replace(was_asked_to_stop=bool(self.was_asked_to_stop)))

    def _mark(self, start: StartRun) -> None:
        from jobrunner.children.begun_marks import BEGUN, offset_of

        if start.slot is not None and self.plan.page._memory is not None:
            self.plan.page._memory[offset_of(start.slot)] = BEGUN

    def keep(self, start: StartRun, value: int) -> None:
        """Send a checkpoint of the run."""
        self._tell(Reported(self, [Checkpoint(start.run_id, {"value": value, "steps": {}})]))

    def _report(self, report: Report) -> None:
        self._tell(Reported(self, [report._replace(ended_at=self.world.elapsed())]))

    def _tell(self, event: Event) -> None:
        if not self.parent.process.is_dead:
            self.outbox.append(event)
            self._ring()

    def hurry(self) -> None:
        """Look whether it may end."""
        self._news.set()

    def wait(self, seconds: float, is_stubborn: bool) -> bool:
        """Be at work for so long. Returns whether it was interrupted, which a stubborn handler never is."""
        scheduler = self.world.scheduler
        ends_at = scheduler.now + seconds
        # When nothing fails any more, handlers are quick: what is left to see is that all of them end.
        while scheduler.now < ends_at and not self.world.is_quiet:
            if self.was_asked_to_stop > (1 if is_stubborn else 0):
                return True
            self._news.clear()
            self._news.wait(ends_at - scheduler.now)
        return False


class VirtualSupervisor(Supervisor):
    """Owns the virtual children of one tick, as the supervisor does. Commands are not simulated."""

    world: World

    def __init__(self, plan: ChildPlan, groups: Any, start_limit_seconds: float) -> None:
        self._plan = plan
        self._groups = groups
        self._all: dict[Any, None] = {}
        self._new: dict[VirtualChild, None] = {}
        self._woken = threads.Event(self.world.scheduler)
        self.wake_descriptor = -1
        self.idle: list[ChildProcess] = []
        self.world.tick_of(self.world.process()).supervisor = self

    @property
    def children(self) -> int:
        return len(self._all)

    @property
    def commands(self) -> int:
        return 0

    @property
    def starting(self) -> int:
        return len(self._new)

    def wake(self) -> None:
        self._woken.set()

    def spawn(self, count: int = 1) -> None:
        made = [VirtualChild(self.world, self._plan, self.wake) for _ in range(count)]
        self._groups.add(*(child.pid for child in made))
        for child in made:
            self._all[child] = self._new[child] = None

    def watch(self, descriptor: int) -> None:
        """Its notifications ring (``servers``), or there are none."""

    def unwatch(self, descriptor: int) -> None:
        """The same."""

    def acquire(self, *, for_event_loop: bool = False) -> ChildProcess:
        child = self.idle.pop(0)
        child.is_plain = True
        return child

    def release(self, child: ChildProcess) -> None:
        if child in self._all and not child.is_being_killed:
            self.idle.append(child)

    def poll(self, timeout_seconds: float, gathering_seconds: float = 0.0) -> list[Event]:
        self._woken.wait(max(0.0, timeout_seconds))
        self._woken.clear()
        self.world.scheduler.point("polls")
        events: list[Event] = []
        for child in list(self._all):
            for event in child.receive():
                if isinstance(event, Ready):
                    self._new.pop(child, None)
                    child.is_plain = True
                    self.idle.append(child)
                events.append(event)
            if child.exit_status is not None:
                if child in self._new:
                    events.append(StartFailed("it was killed while it imported"))
                elif child not in self.idle:
                    events.append(Died(child))
                self._forget(child)
        return events

    def _forget(self, child: Any) -> Any:
        del self._all[child]
        self._new.pop(child, None)
        self._groups.remove(child.pid)
        if child in self.idle:
            self.idle.remove(child)

    def receive(self, child: Any) -> list[Reported]:
        return [event for event in child.receive() if isinstance(event, Reported)]

    def kill_all(self) -> None:
        for child in self._all:
            child.kill()
        self.world.scheduler.point("waits for the killed")

    def close(self) -> None:
        for child in list(self._all):
            if child in self.idle:
                child.end(0)
            else:
                child.kill()
        self.world.scheduler.point("closes")
        for child in list(self._all):
            self._forget(child)
