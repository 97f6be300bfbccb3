"""The processes of one tick: children that start, are idle or work, and commands. One place waits for all of them."""

from __future__ import annotations

import selectors
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from jobrunner import clock
from jobrunner.children.alarm import Alarm
from jobrunner.children.begun_page import BegunPage
from jobrunner.children.child_start import ChildStart
from jobrunner.children.command_child import CommandLine, CommandProcess
from jobrunner.children.events import Died, Event, Ready, Reported, StartFailed
from jobrunner.children.gathering import Gathering
from jobrunner.children.messages import Importing
from jobrunner.children.process import Process
from jobrunner.children.process_groups import GroupFile
from jobrunner.children.protocol import Handshake, OfChild, OfRun, of_child, of_run
from jobrunner.children.python_child import ChildPlan, ChildProcess

_EXIT_SECONDS = 1.0
_REAP_SECONDS = 5.0
_DYING_SECONDS = 0.5
_LOOK_SECONDS = 0.02
"""If no child rings, the channels of those at work are read this often, and it is seen this often whether one has ended
(at a signal, at once)."""


class Supervisor:
    """Owns the processes. Use it from the main thread only; any thread may call ``wake``."""

    def __init__(self, plan: ChildPlan, groups: GroupFile, start_limit_seconds: float) -> None:
        self._plan = plan
        self._groups = groups
        self._start_limit = start_limit_seconds
        self._selector = selectors.DefaultSelector()
        self._alarm = Alarm()
        self._gathering = Gathering(self._alarm)
        self.wake_descriptor = self._alarm.descriptor
        # Each descriptor with what is called when it is ready.
        self._selector.register(self._alarm, selectors.EVENT_READ, self._on_wake)
        self._starting: dict[ChildProcess, ChildStart] = {}
        self._all: dict[Process, None] = {}
        self._children = 0
        # What each channel is in the selector for. A missing one is not in it.
        self._interests: dict[ChildProcess, int] = {}
        self._at_work: dict[ChildProcess, None] = {}
        self._look_at = self._reap_at = 0.0
        self.idle: list[ChildProcess] = []

    @property
    def page(self) -> BegunPage:
        """The page in which children note which runs have begun."""
        return self._plan.page

    @property
    def checkpoint_folders(self) -> Path | None:
        """Where the checkpoint files of commands belong. None means that no such folder is usable."""
        return self._groups.checkpoint_folders

    @property
    def children(self) -> int:
        """How many children there are, including those that are being killed."""
        # Asked nine times in each turn.
        return self._children

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
        self._alarm.ring()

    def spawn(self, count: int = 1) -> None:
        """Start children; a later ``poll`` reports when they are ready.

        Raises OSError when the host cannot start one more.
        """
        children: list[ChildProcess] = []
        try:
            while len(children) < count:
                children.append(ChildProcess(self._plan))
        finally:
            # Their groups are noted before they can start processes: a child imports nothing until it gets the next
            # message. They are noted together, because to replace the note takes as long as to start a child.
            self._groups.add(*(child.pid for child in children))
            for child in children:
                self._watch(child)
                self._starting[child] = ChildStart(self._plan.app_dir)

    def start_command(self, line: CommandLine) -> CommandProcess:
        """Start a command; a later ``poll`` reports its end. Raises OSError when the host cannot start it."""
        process = CommandProcess(line, self._plan.mark)
        self._groups.add(process.pid)
        self._watch(process)
        process.go()
        return process

    def _watch(self, process: Process) -> None:
        self._all[process] = None
        self._selector.register(process.output, selectors.EVENT_READ, partial(self._on_output, process))
        if isinstance(process, ChildProcess):
            self._children += 1
            self._selector.register(process.bell, selectors.EVENT_READ, partial(self._on_bell, process))
            self._gathering.add(process)

    def watch(self, descriptor: int) -> None:
        """Make ``poll`` return also when the descriptor is readable."""
        self._selector.register(descriptor, selectors.EVENT_READ)

    def acquire(self, *, for_event_loop: bool = False) -> ChildProcess:
        """Take an idle child for work and drop its earlier output."""
        child = self.idle.pop(0)
        child.is_plain = not for_event_loop
        child.forget_output()
        self._at_work[child] = None
        return child

    def release(self, child: ChildProcess) -> None:
        """Make the child idle again, unless it has died or is being killed."""
        if child in self._all and child.channel_lost_at is None and not child.is_being_killed:
            del self._at_work[child]
            self.idle.append(child)

    def poll(self, timeout_seconds: float, gathering_seconds: float = 0.0) -> list[Event]:
        """Wait for events and return them.

        For ``gathering_seconds`` only ``wake``, and a child that has ended several runs and has no more, end the wait,
        so that more events come together.
        """
        events: list[Event] = []
        self._register_channels()
        if gathering_seconds > 0 and self._gathering.wait(gathering_seconds):
            # There is something to read, so this does not wait for more.
            self._look_at = timeout_seconds = 0.0
        ready = self._selector.select(max(0.0, timeout_seconds - gathering_seconds))
        for key, interest in ready:
            if key.data is not None:
                events.extend(key.data(interest))
        now = clock.elapsed()
        if now >= self._look_at:
            self._look_at = now + _LOOK_SECONDS
            for child in list(self._at_work):
                events.extend(self._receive(child))
        if now >= self._reap_at:
            self._reap_at = now + _LOOK_SECONDS
            events.extend(self._reap())
        return events

    def _on_wake(self, _: int) -> Iterable[Event]:
        self._alarm.silence()
        # Perhaps by SIGCHLD.
        self._reap_at = 0.0
        return ()

    def _on_output(self, process: Process, _: int) -> Iterable[Event]:
        if not process.read_output():
            self.unwatch(process.output)
            self._reap_at = 0.0
        return ()

    def _on_bell(self, child: ChildProcess, _: int) -> Iterable[Event]:
        if child.take_rung().is_over:
            self._unwatch_bell(child)
        self._look_at = 0.0
        return ()

    def _on_channel(self, child: ChildProcess, interest: int) -> Iterable[Event]:
        return self._receive(child) if interest & selectors.EVENT_READ else ()

    def close(self) -> None:
        """End all processes. Idle children end when their channel is closed; what is left after a second is killed."""
        for process in self._all:
            if isinstance(process, ChildProcess) and process in self.idle:
                self._unwatch_channel(process)
                process.close_channel()
            else:
                process.kill()
        # Nobody asks any more why one of them was not ready.
        self._starting.clear()
        deadline = clock.elapsed() + _EXIT_SECONDS
        forced = False
        while self._all and clock.elapsed() < deadline + _REAP_SECONDS:
            if not forced and clock.elapsed() >= deadline:
                forced = True
                for process in self._all:
                    process.kill()
            self.idle.clear()
            for event in self.poll(0.02):
                if isinstance(event, Died):
                    event.process.close()
        self._selector.close()
        self._alarm.close()

    def kill_all(self) -> None:
        """Kill every process and wait until they are dead, because another tick may start their runs next."""
        for process in self._all:
            process.kill()
        deadline = clock.elapsed() + _REAP_SECONDS
        while not all(process.poll() for process in self._all) and clock.elapsed() < deadline:
            clock.sleep(0.005)

    def receive(self, child: ChildProcess) -> list[Reported]:
        """The messages about runs that a child has sent by now."""
        return [event for event in self._receive(child) if isinstance(event, Reported)]

    def _receive(self, child: ChildProcess) -> list[Event]:
        events: list[Event] = []
        messages: list[OfRun] = []
        for frame in child.receive():
            if (start := self._starting.get(child)) is not None:
                events.extend(self._take_handshake(child, start, of_child(frame)))
            elif (message := of_run(frame, self._plan.result_limit)) is not None:
                messages.append(message)
        if messages:
            # A run writes its output before its report, so all of it can be read now.
            child.read_output()
            events.append(Reported(child, messages))
        if child.channel_lost_at is not None:
            self._unwatch_channel(child)
            if child in self.idle:
                # It is dying or will be killed, so it must get no run.
                self.idle.remove(child)
        return events

    def _take_handshake(self, child: ChildProcess, start: ChildStart, message: OfChild | None) -> Iterator[Event]:
        if isinstance(message, Importing):
            start.module = message.module
        elif isinstance(message, Handshake):
            del self._starting[child]
            child.is_ready = True
            self.idle.append(child)
            yield Ready(child, message.policies, message.schedules, message.misfits)
        elif message is not None:
            start.error, start.traceback = message.error, message.traceback
            child.kill()

    def _register_channels(self) -> None:
        """Make the next wait end when a child takes more of what is left to send, or sends without ringing.

        A child that is ready rings when it has sent something, and while its channel can hold no more of it.
        """
        for child in self._all:
            if not isinstance(child, ChildProcess):
                continue
            child.flush()
            sends_without_ringing = not child.is_ready or child.is_amid_message
            interest = selectors.EVENT_READ if sends_without_ringing and child.channel_lost_at is None else 0
            if child.is_waiting:
                interest |= selectors.EVENT_WRITE
            if interest != self._interests.get(child, 0):
                self._unwatch_channel(child)
                with suppress(KeyError, ValueError):
                    if interest:
                        self._selector.register(child.channel, interest, partial(self._on_channel, child))
                        self._interests[child] = interest

    def _unwatch_channel(self, child: ChildProcess) -> None:
        if self._interests.pop(child, 0):
            self.unwatch(child.channel)

    def _reap(self) -> Iterator[Event]:
        for process in list(self._all):
            if isinstance(process, ChildProcess):
                if (start := self._starting.get(process)) is not None:
                    start.end_if_late(process, self._start_limit)
                self._kill_if_channel_lost(process)
            if process.poll():
                process.read_output()
                if isinstance(process, ChildProcess):
                    # Its last messages may have arrived after this poll has read its channel.
                    yield from self._receive(process)
                yield from self._forget(process)

    def _kill_if_channel_lost(self, child: ChildProcess) -> None:
        # When a child ends, its channel closes a moment before it is dead. If it is still alive after that, a handler
        # has closed its descriptors or has sent invalid frames. Then it cannot report any more.
        since = child.channel_lost_at
        if since is not None and not child.was_killed_without_channel and clock.elapsed() - since > _DYING_SECONDS:
            child.was_killed_without_channel = not child.poll()
            child.kill()

    def _forget(self, process: Process) -> Iterator[Event]:
        del self._all[process]
        self.unwatch(process.output)
        self._groups.remove(process.pid)
        if isinstance(process, ChildProcess):
            self._children -= 1
            self._unwatch_bell(process)
            self._unwatch_channel(process)
            self._at_work.pop(process, None)
        if isinstance(process, ChildProcess) and process in self._starting:
            yield StartFailed(*self._starting.pop(process).failure(process))
        elif isinstance(process, ChildProcess) and process in self.idle:
            self.idle.remove(process)
        else:
            yield Died(process)
            return
        process.close()

    def _unwatch_bell(self, child: ChildProcess) -> None:
        self.unwatch(child.bell)
        self._gathering.remove(child)

    def unwatch(self, descriptor: int) -> None:
        """Undo ``watch``. Does nothing for a descriptor that is not watched."""
        with suppress(KeyError, ValueError):
            self._selector.unregister(descriptor)
