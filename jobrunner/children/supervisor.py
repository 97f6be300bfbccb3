"""The processes of one tick: children that start, idle or work, commands; and one place to wait for all of them."""

from __future__ import annotations

import os
import selectors
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from jobrunner import clock
from jobrunner.children.begun_page import BegunPage
from jobrunner.children.command_child import CommandLine, CommandProcess
from jobrunner.children.events import Died, Event, Ready, Said, StartFailed
from jobrunner.children.messages import Importing, Report
from jobrunner.children.process import Process, describe_exit
from jobrunner.children.process_groups import GroupFile
from jobrunner.children.protocol import Handshake, OfChild, of_child, of_run
from jobrunner.children.python_child import ChildPlan, ChildProcess
from jobrunner.text import one_line

_GOODBYE_SECONDS = 1.0
_UNBURIED_SECONDS = 5.0
_DYING_SECONDS = 0.5


@dataclass(slots=True)
class _Start:
    module: str | None = None
    error: str | None = None


class Supervisor:
    """Owns the processes. Use it from the main thread only; ``wake`` may be called from anywhere."""

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
        self._all: dict[Process, tuple[int, ...]] = {}
        self.idle: list[ChildProcess] = []

    @property
    def page(self) -> BegunPage:
        """Where it is noted which runs have been begun."""
        return self._plan.page

    @property
    def children(self) -> int:
        """How many children there are. One that is being killed still is one."""
        return sum(isinstance(process, ChildProcess) for process in self._all)

    @property
    def commands(self) -> int:
        """How many commands are at work."""
        return len(self._all) - self.children

    @property
    def starting(self) -> int:
        """How many children are not ready yet."""
        return len(self._starting)

    def wake(self) -> None:
        """Make the current or next ``poll`` return at once."""
        with suppress(BlockingIOError):
            os.write(self.wake_descriptor, b"\0")

    def spawn(self) -> None:
        """Start a child; a later poll tells when it is ready. Raises OSError when the host cannot start any."""
        child = ChildProcess(self._plan)
        # Noted before it can have children of its own: it has not been told what to import yet.
        self._watch(child)
        self._starting[child] = _Start()

    def start_command(self, line: CommandLine) -> CommandProcess:
        """Start a command; a later poll tells of its end. Raises OSError when the host cannot start any."""
        process = CommandProcess(line, self._plan.mark)
        self._watch(process)
        process.go()
        return process

    def _watch(self, process: Process) -> None:
        self._groups.add(process.pid)
        self._all[process] = process.descriptors
        for descriptor in process.descriptors:
            self._selector.register(descriptor, selectors.EVENT_READ, process)

    def watch(self, descriptor: int) -> None:
        """Have a poll end when the descriptor is readable, too."""
        self._selector.register(descriptor, selectors.EVENT_READ, descriptor)

    def acquire(self) -> ChildProcess:
        """Take an idle child for work; its output begins anew."""
        child = self.idle.pop(0)
        child.forget_output()
        return child

    def release(self, child: ChildProcess) -> None:
        """The child has done its work and is idle again, unless it has died since, or is about to."""
        if child in self._all and child.silent_since is None and not child.is_being_killed:
            child.forget_output()
            self.idle.append(child)

    def poll(self, timeout_seconds: float, gathering_seconds: float = 0.0) -> list[Event]:
        """Wait for something to happen, at most that long, and tell what; first let so much time pass in any case."""
        events: list[Event] = []
        self._ask_who_can_write()
        if gathering_seconds > 0:
            time.sleep(gathering_seconds)
        for key, ready in self._selector.select(max(0.0, timeout_seconds - gathering_seconds)):
            process: Process | int | None = key.data
            if process is None:
                self._drain_wake()
            elif not isinstance(process, Process):
                # Whoever has it watched looks what it is.
                continue
            elif isinstance(process, ChildProcess) and key.fd != self._all[process][0]:
                if ready & selectors.EVENT_READ:
                    events.extend(self._listen(process))
            elif not process.read_output():
                self.unwatch(key.fd)
        events.extend(self._reap())
        return events

    def close(self) -> None:
        """End all: the idle children by hanging up, whatever is left after a second by force."""
        for process, descriptors in self._all.items():
            if isinstance(process, ChildProcess) and process in self.idle:
                self.unwatch(descriptors[1])
                process.hang_up()
            else:
                process.kill()
        deadline = clock.elapsed() + _GOODBYE_SECONDS
        forced = False
        while self._all and clock.elapsed() < deadline + _UNBURIED_SECONDS:
            if not forced and clock.elapsed() >= deadline:
                forced = True
                for process in self._all:
                    process.kill()
            self.idle.clear()
            for event in self.poll(0.02):
                if isinstance(event, Died):
                    event.process.close()
        self._selector.close()
        os.close(self._wake_read)
        os.close(self.wake_descriptor)

    def kill_all(self) -> None:
        """End every process by force, and wait for that: what they worked on is to be somebody else's next."""
        for process in self._all:
            process.kill()
        deadline = clock.elapsed() + _UNBURIED_SECONDS
        while not all(process.poll() for process in self._all) and clock.elapsed() < deadline:
            time.sleep(0.005)

    def listen(self, child: ChildProcess) -> list[Said]:
        """What a child at work has said by now."""
        return [event for event in self._listen(child) if isinstance(event, Said)]

    def _listen(self, child: ChildProcess) -> Iterator[Event]:
        has_read_output = False
        for frame in child.receive():
            start = self._starting.get(child)
            if start is not None:
                yield from self._shake_hands(child, start, of_child(frame))
            elif (message := of_run(frame, self._plan.result_limit)) is not None:
                if isinstance(message, Report) and not has_read_output:
                    # What a run has written came before its report; by now it is all there.
                    has_read_output = True
                    child.read_output()
                yield Said(child, message)
        if child.silent_since is not None and child in self._all:
            self.unwatch(self._all[child][1])
            if child in self.idle:
                # It is dying, or will be killed: nobody's work is to be given to it.
                self.idle.remove(child)

    def _shake_hands(self, child: ChildProcess, start: _Start, message: OfChild | None) -> Iterator[Event]:
        if isinstance(message, Importing):
            start.module = message.module
        elif isinstance(message, Handshake):
            del self._starting[child]
            self.idle.append(child)
            yield Ready(child, message.policies, message.schedules, message.misfits)
        elif message is not None:
            start.error = message.error
            child.kill()

    def _ask_who_can_write(self) -> None:
        """Have the next wait end as soon as a child takes more of what it is to be sent."""
        for process, descriptors in self._all.items():
            if isinstance(process, ChildProcess):
                process.flush()
                interest = selectors.EVENT_READ | (selectors.EVENT_WRITE if process.is_waiting else 0)
                with suppress(KeyError, ValueError):
                    if self._selector.get_key(descriptors[1]).events != interest:
                        self._selector.modify(descriptors[1], interest, process)

    def _reap(self) -> Iterator[Event]:
        for process in list(self._all):
            if isinstance(process, ChildProcess):
                self._kill_if_late(process)
                self._kill_if_silent(process)
            if process.poll():
                process.read_output()
                if isinstance(process, ChildProcess):
                    # Its last words may have come after this poll's look at its channel.
                    yield from self._listen(process)
                yield from self._forget(process)

    def _kill_if_late(self, child: ChildProcess) -> None:
        start = self._starting.get(child)
        late = start is not None and clock.elapsed() - child.spawned_at > self._start_limit
        if late and start is not None and start.error is None:
            start.error = f"it did not finish within {self._start_limit:g}s"
            child.kill()

    def _kill_if_silent(self, child: ChildProcess) -> None:
        # A child that is dying hangs up a moment before it is dead. One that lives on had its descriptors closed
        # by a handler, or wrote nonsense: nothing more can be heard from it.
        since = child.silent_since
        if since is not None and not child.killed_as_silent and clock.elapsed() - since > _DYING_SECONDS:
            child.killed_as_silent = not child.poll()
            child.kill()

    def _forget(self, process: Process) -> Iterator[Event]:
        for descriptor in self._all.pop(process):
            self.unwatch(descriptor)
        self._groups.remove(process.pid)
        if isinstance(process, ChildProcess) and process in self._starting:
            yield StartFailed(_why_not_started(process, self._starting.pop(process)))
        elif isinstance(process, ChildProcess) and process in self.idle:
            self.idle.remove(process)
        else:
            yield Died(process)
            return
        process.close()

    def unwatch(self, descriptor: int) -> None:
        """Wait for it no more; nothing where nobody did."""
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


def discover(plan: ChildPlan, groups: GroupFile, start_limit_seconds: float) -> Ready | StartFailed:
    """Start one child only to learn what its handlers say; by the time this returns it has left."""
    supervisor = Supervisor(plan, groups, start_limit_seconds)
    try:
        supervisor.spawn()
        while True:
            for event in supervisor.poll(1.0):
                if isinstance(event, Ready | StartFailed):
                    return event
    finally:
        supervisor.close()
