"""The world: the simulated hosts, their ticks and children, and what the real code meets there.

All code of ``jobrunner.worker`` and ``jobrunner.store`` is real. In the place of the operating system stand: the clock,
threads, signals, child processes, and what /proc says of processes. The notes and pages of ticks are real files.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from greenlet import getcurrent

from jobrunner.errors import InternalError, JobrunnerError
from jobrunner.store.drivers.database import Database
from jobrunner.store.drivers.location import locate
from jobrunner.store.drivers.waits import of_tick
from jobrunner.worker.processes import TickProcesses
from jobrunner.worker.tick import tick
from jobrunner.worker.watchdog import watching
from simulator.children import VirtualChild
from simulator.files import WriterLock
from simulator.handlers import Handlers
from simulator.hosts import Host, Tick
from simulator.ledger import Ledger, Violated
from simulator.scheduler import Process, Scheduler, Task
from simulator.sessions import Sessions

EPOCH = datetime(2020, 1, 6, tzinfo=UTC).timestamp()
"""Long ago, so that by no clock of a history a file of the real host is old."""
_LONGEST_HALT = 4
"""Leases: for so long a tick is suspended at a failpoint, if no other tick begins a run meanwhile."""


class Notes:
    """The log of the ticks: into the history, without what differs between two runs of it."""

    is_silent = False

    def __init__(self, note: Callable[[str], None], name: str) -> None:
        self._note = note
        self._name = name

    def info(self, event: str, **fields: Any) -> None:
        told = " ".join(f"{key}={value}" for key, value in fields.items() if key not in ("stack", "seconds"))
        self._note(f"    {self._name} logs {event}: {told}")

    warning = error = info


class World:
    """Hosts, their processes, and the ledger. ``url`` is the database."""

    def __init__(
        self, scheduler: Scheduler, folder: Path, url: str, lease_seconds: float, note: Callable[[str], None]
    ) -> None:
        self.scheduler = scheduler
        self.folder = folder
        self.url = url
        self.lease_seconds = lease_seconds
        self.longest_hang = lease_seconds * 2
        self.note = note
        self.is_quiet = False
        self.writer_lock = WriterLock()
        # Those on a server, from the first connection on.
        self.sessions: Sessions | None = None
        self.ledger = Ledger()
        self.handlers = Handlers(self)
        self.hosts: list[Host] = []
        self.ticks: list[Tick] = []
        self.outside = Process("outside", 1, 0.0)
        self._of_process: dict[Process, Tick] = {}
        self._host_of: dict[Process, Host] = {}
        self._next_pid = 100
        self._random = random.Random(0)

    # What the real code asks of its host.

    def process(self) -> Process:
        """The process that goes on now."""
        current: Any = getcurrent()
        return current.process if isinstance(current, Task) else self.outside

    def host(self) -> Host | None:
        """The host of that process."""
        return self._host_of.get(self.process())

    def elapsed(self) -> float:
        """The clock that never steps. Hosts were started at different times."""
        return self.scheduler.now + self.process().clock_offset

    def utc_now(self) -> datetime:
        """The wall clock of the host, which may be wrong."""
        host = self.host()
        offset = 0.0 if host is None else host.wall_offset
        return datetime.fromtimestamp(EPOCH + self.scheduler.now + offset, UTC)

    def sleep(self, seconds: float) -> None:
        """Wait for time only."""
        if isinstance(getcurrent(), Task):
            self.scheduler.wait("sleeps", seconds)

    def database_now(self) -> float:
        """The clock of the database, in seconds since 1970."""
        return EPOCH + self.scheduler.now

    def point(self, at: str, connection: Any = None) -> Any:
        """A point of the scheduler. Outside of all tasks nothing else goes on, and nothing fails."""
        if not isinstance(getcurrent(), Task):
            return None
        return self.scheduler.point(at, connection)

    def is_cut_off(self) -> bool:
        """Whether the host of this process cannot reach the database now."""
        host = self.host()
        return host is not None and host.cut_off_until > self.scheduler.now

    def urandom(self, size: int) -> bytes:
        """As ``os.urandom``, the same in each run of a history."""
        return self._random.randbytes(size)

    # Processes.

    def new_process(self, name: str, host: Host | None) -> Process:
        """A process of a host, or of somebody outside."""
        self._next_pid += 1
        offset = 0.0 if host is None else 500.0 * (self.hosts.index(host) + 1)
        process = Process(f"{name}{self._next_pid}", self._next_pid, offset)
        if host is not None:
            self._host_of[process] = host
            host.processes[process.pid] = process
        return process

    def new_child(self, parent: Tick) -> Process:
        """The process of a child."""
        process = self.new_process(f"{parent.process.name}.child", parent.host)
        self._of_process[process] = parent
        return process

    def tick_of(self, process: Process) -> Tick:
        """The tick whose process, or whose child's, this is."""
        return self._of_process[process]

    def tick_at(self, process: Process) -> Tick | None:
        """The same, and None for who is no tick and no child."""
        return self._of_process.get(process)

    def end_process(self, process: Process) -> None:
        """End a process, as SIGKILL or its own exit does."""
        host = self._host_of.get(process)
        if host is not None:
            host.processes.pop(process.pid, None)
        self.scheduler.kill(process)
        self._free_pages()
        if process is self.process():
            self.point("exits")

    def _free_pages(self) -> None:
        # The lock of a page is free when neither its tick nor one of its children has it in memory.
        for each in self.ticks:
            page = each.page
            if page is not None and each.process.is_dead and all(child.process.is_dead for child in each.children):
                each.page = None
                memory, page._memory = page._memory, None
                if memory is not None:
                    memory.close()
                if page.descriptor is not None:
                    os.close(page.descriptor)
                    page.descriptor = None

    # Ticks.

    def start_tick(self, host: Host) -> Tick:
        """Start a tick, as cron does."""
        process = self.new_process(f"{host.name}.tick", host)
        started = Tick(host, process)
        self._of_process[process] = started
        host.ticks = [*host.live_ticks(), started]
        self.ticks.append(started)
        self.scheduler.start(process, "main", lambda: self._run(started))
        return started

    def _run(self, started: Tick) -> None:
        config = started.config
        log = Notes(self.note, started.process.name)
        of_tick_processes = TickProcesses(config)
        of_tick_processes.stop = started.stop
        database = Database(locate(self.url), patience=of_tick(config.lease))
        try:
            with closing(database), watching(database) as watchdog:
                tick(config, database, watchdog, log, None, of_tick_processes)
        except InternalError as error:
            raise Violated(f"an internal error of {started.process.name}: {error}") from error
        except JobrunnerError as error:
            started.error = error
        self.end_process(started.process)

    def kill_tick(self, killed: Tick, *, children_go_on: bool = False) -> None:
        """SIGKILL. The kernel ends the children, too, unless they are to go on."""
        self.end_process(killed.process)
        for child in killed.children:
            if children_go_on:
                self.ledger.excuse("its tick was killed", child)
                child.hurry()
            else:
                child.end(-9)

    def reboot(self, host: Host) -> None:
        """Power is lost: all processes are gone, and the boot is another one."""
        for process in list(host.processes.values()):
            self.end_process(process)
        host.boot += 1

    def stall(self, stalled: Sequence[Tick], seconds: float) -> None:
        """Stop these ticks with their children, as a suspended host does."""
        until = self.scheduler.now + seconds
        for each in stalled:
            for process in (each.process, *(child.process for child in each.children)):
                process.stopped_until = max(process.stopped_until, until)
            self.ledger.excuse("it was suspended", *each.children)

    def hit(self, point: str, cut: Callable[[], None] | None = None) -> None:
        """A failpoint of the real code. A tick that is to be suspended here goes on when others have its runs."""
        halted = self.tick_at(self.process())
        if halted is None or halted.halts_at != point or self.is_quiet:
            return
        halted.halts_at, halted.halted_at = None, self.scheduler.now
        self.stall([halted], self.lease_seconds * _LONGEST_HALT)
        self.point(point)

    def begun(self, child: VirtualChild) -> None:
        """A handler has begun: what was suspended for longer than its lease goes on beside it."""
        now = self.scheduler.now
        for each in self.ticks:
            # After the longest time it has gone on, and what stops it now is another fault.
            halted_seconds = 0.0 if each.halted_at is None else now - each.halted_at
            is_over = self.lease_seconds < halted_seconds < self.lease_seconds * _LONGEST_HALT
            if is_over and each is not child.parent:
                each.halted_at = None
                for process in (each.process, *(one.process for one in each.children)):
                    process.stopped_until = each.host.suspended_until

    def child(self, pid: int) -> VirtualChild | None:
        """The child of this process."""
        return next((each for tick in self.ticks for each in tick.children if each.pid == pid), None)

    def end_all(self) -> None:
        for host in self.hosts:
            for process in list(host.processes.values()):
                self.end_process(process)
        self.scheduler.kill(self.outside)
        if self.sessions is not None:
            self.sessions.close()

    def state_folder(self, host: str) -> str:
        """The folder for the notes of the ticks of a host."""
        folder = self.folder / host
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700, parents=True)
        return str(folder)


def seconds(number: float) -> timedelta:
    """A duration of so many seconds."""
    return timedelta(seconds=number)
