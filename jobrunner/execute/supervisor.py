"""The children of one tick: starting, idle or at work; and one place to wait for all of them."""

from __future__ import annotations

import os
import selectors
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from jobrunner import clock
from jobrunner.execute.frames import Frame
from jobrunner.execute.groups import GroupFile
from jobrunner.execute.process import ChildPlan, ChildProcess
from jobrunner.model import Policy
from jobrunner.text import one_line

_GOODBYE_SECONDS = 1.0
_UNBURIED_SECONDS = 5.0
_DYING_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Ready:
    """A child has imported the handlers; these are their policies."""

    child: ChildProcess
    policies: list[Policy]


@dataclass(frozen=True, slots=True)
class StartFailed:
    """A child never became ready. ``reason`` names the module."""

    reason: str


@dataclass(frozen=True, slots=True)
class Said:
    """A frame about the run that the child works on: ``progress`` or ``report``."""

    child: ChildProcess
    frame: Frame


@dataclass(frozen=True, slots=True)
class Died:
    """A child has ended that was not asked to leave. Its group has been killed."""

    child: ChildProcess


Event = Ready | StartFailed | Said | Died


@dataclass(slots=True)
class _Start:
    module: str | None = None
    error: str | None = None


class Supervisor:
    """Owns the children. Use it from the main thread only; ``wake`` may be called from anywhere."""

    def __init__(self, plan: ChildPlan, groups: GroupFile, start_limit_seconds: float) -> None:
        self._plan = plan
        self._groups = groups
        self._start_limit = start_limit_seconds
        self._selector = selectors.DefaultSelector()
        self._wake_read, self.wake_descriptor = os.pipe()
        for end in (self._wake_read, self.wake_descriptor):
            os.set_blocking(end, False)
        self._selector.register(self._wake_read, selectors.EVENT_READ, None)
        self._starting: dict[ChildProcess, _Start] = {}
        self._all: dict[ChildProcess, tuple[int, int]] = {}
        self.idle: list[ChildProcess] = []

    def __len__(self) -> int:
        return len(self._all)

    @property
    def starting(self) -> int:
        """How many children are not ready yet."""
        return len(self._starting)

    def wake(self) -> None:
        """Make the current or next ``turn`` return at once."""
        with suppress(BlockingIOError):
            os.write(self.wake_descriptor, b"\0")

    def spawn(self) -> None:
        """Start a child; a later turn tells when it is ready. Raises OSError when the host cannot start any."""
        child = ChildProcess(self._plan)
        # Noted before it can have children of its own: it has not been told what to import yet.
        self._groups.add(child.pid)
        self._all[child] = child.descriptors
        self._starting[child] = _Start()
        for descriptor in child.descriptors:
            self._selector.register(descriptor, selectors.EVENT_READ, child)

    def hand(self, child: ChildProcess, frame: Frame) -> bool:
        """Give an idle child a run. False: it cannot have started it."""
        self.idle.remove(child)
        child.forget_output()
        return child.send(frame)

    def take_back(self, child: ChildProcess) -> None:
        """The child has reported and is idle again."""
        child.read_output()
        child.forget_output()
        self.idle.append(child)

    def turn(self, timeout_seconds: float) -> list[Event]:
        """Wait for something to happen, at most that long, and tell what."""
        events: list[Event] = []
        for key, _ in self._selector.select(max(0.0, timeout_seconds)):
            child: ChildProcess | None = key.data
            if child is None:
                self._drain_wake()
            elif key.fd == self._all[child][0]:
                events.extend(self._listen(child))
            elif not child.read_output():
                self._unwatch(child, key.fd)
        events.extend(self._bury())
        return events

    def close(self) -> None:
        """End all children: the idle ones by hanging up, whatever is left after a second by force."""
        for child in self._all:
            if child in self.idle:
                self._unwatch(child, self._all[child][0])
                child.hang_up()
            else:
                child.kill()
        deadline = clock.elapsed() + _GOODBYE_SECONDS
        forced = False
        while self._all and clock.elapsed() < deadline + _UNBURIED_SECONDS:
            if not forced and clock.elapsed() >= deadline:
                forced = True
                for child in self._all:
                    child.kill()
            self.idle.clear()
            self.turn(0.02)
        self._selector.close()
        os.close(self._wake_read)
        os.close(self.wake_descriptor)

    def _listen(self, child: ChildProcess) -> Iterator[Event]:
        for frame in child.receive():
            start = self._starting.get(child)
            if start is not None:
                yield from self._greet(child, start, frame)
            elif frame["kind"] in ("progress", "report"):
                if frame["kind"] == "report":
                    child.read_output()
                yield Said(child, frame)
        if child.silent_since is not None:
            self._unwatch(child, self._all[child][0])

    def _greet(self, child: ChildProcess, start: _Start, frame: Frame) -> Iterator[Event]:
        if frame["kind"] == "importing":
            start.module = str(frame.get("module", start.module))
        elif frame["kind"] == "import_failed":
            start.error = str(frame.get("error"))
            child.kill()
        elif frame["kind"] == "ready":
            try:
                policies = [Policy.from_data(data) for data in frame["policies"]]
            except (KeyError, TypeError, ValueError, OverflowError):
                start.error = "its greeting makes no sense"
                child.kill()
                return
            del self._starting[child]
            self.idle.append(child)
            yield Ready(child, policies)

    def _bury(self) -> Iterator[Event]:
        for child in list(self._all):
            start = self._starting.get(child)
            late = start is not None and clock.elapsed() - child.spawned_at > self._start_limit
            if late and start is not None and start.error is None:
                start.error = f"it did not finish within {self._start_limit:g}s"
                child.kill()
            self._kill_if_silent(child)
            if not child.poll():
                continue
            child.read_output()
            yield from self._forget(child, start)

    def _kill_if_silent(self, child: ChildProcess) -> None:
        # A child that is dying hangs up a moment before it is dead. One that lives on had its descriptors closed
        # by a handler, or wrote nonsense: nothing more can be heard from it.
        since = child.silent_since
        if since is not None and not child.killed_as_silent and clock.elapsed() - since > _DYING_SECONDS:
            child.killed_as_silent = not child.poll()
            child.kill()

    def _forget(self, child: ChildProcess, start: _Start | None) -> Iterator[Event]:
        was_idle = child in self.idle
        for descriptor in self._all.pop(child):
            self._unwatch(child, descriptor)
        self._groups.remove(child.pid)
        if start is not None:
            del self._starting[child]
            yield StartFailed(_why_not_started(child, start))
        elif was_idle:
            self.idle.remove(child)
        else:
            yield Died(child)
            return
        child.close()

    def _unwatch(self, child: ChildProcess, descriptor: int) -> None:
        with suppress(KeyError, ValueError):
            self._selector.unregister(descriptor)

    def _drain_wake(self) -> None:
        with suppress(BlockingIOError):
            while os.read(self._wake_read, 4096):
                pass


def _why_not_started(child: ChildProcess, start: _Start) -> str:
    what = f"importing the handler module {start.module!r}" if start.module else "starting"
    why = start.error or f"the child {describe_exit(child.exit_status)}"
    # What a module raises may hold anything; this goes into the trail, a log and a terminal.
    return one_line(f"{what} failed: {why}")


def describe_exit(status: int | None) -> str:
    """How a process ended, for people."""
    if status is None or status >= 0:
        return f"exited with status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    hint = " (out of memory?)" if name == "SIGKILL" else ""
    return f"was killed by {name}{hint}"


def discover_policies(plan: ChildPlan, groups: GroupFile, start_limit_seconds: float) -> list[Policy] | StartFailed:
    """Start one child only to learn what this host can run: its policies, or why it failed (StartFailed)."""
    supervisor = Supervisor(plan, groups, start_limit_seconds)
    try:
        supervisor.spawn()
        while True:
            for event in supervisor.turn(1.0):
                if isinstance(event, Ready):
                    return event.policies
                if isinstance(event, StartFailed):
                    return event
    finally:
        supervisor.close()
