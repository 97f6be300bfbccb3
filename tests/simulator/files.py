"""Connections to an SQLite file whose every statement is a point of the scheduler.

The statements and the file are real; so are its locks. Only the wait for the lock of the writer is ours: SQLite would
wait in C, where no other task can go on. The file is in memory (/dev/shm) and not ``:memory:``, because connections
that share a database in memory lock tables and have no snapshots, which is another database than that of our users.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobrunner.store.drivers.connection import Result
from jobrunner.store.drivers.sqlite import FileConnection, FileWire
from jobrunner.store.drivers.waits import Waits
from jobrunner.store.sql.statement import Compiled, Prepared, Statement, Values
from simulator.scheduler import Task

if TYPE_CHECKING:
    from simulator.world import World

_UNIX_EPOCH = 2440587.5


class Fault(Enum):
    """What the scheduler may decide about a statement or a COMMIT."""

    LOST = "the connection breaks before it"
    ANSWER_LOST = "it is done, and the connection breaks before the answer"
    HANGS = "no answer comes for a long time"


class WriterLock:
    """Which connection may write. The others wait, and the scheduler decides who is next."""

    def __init__(self) -> None:
        self.holder: SimulatedFile | None = None
        self.waiting: list[Task] = []


class SimulatedWire(FileWire):
    """Ends the wait of a task on its connection, as the watchdog of its tick asks."""

    def __init__(self, connection: SimulatedFile) -> None:
        self._connection = connection

    def cancel(self) -> None:
        self._connection.interrupt()

    def shut(self) -> None:
        self._connection.interrupt()

    def holder(self) -> None:
        return None


class SimulatedFile(FileConnection):
    """A connection of one task. ``world`` is set by the history, for all of them."""

    world: World

    def __init__(self, file: Path, waits: Waits) -> None:
        world = self.world
        self._lock = world.writer_lock
        self._waiter: Task | None = None
        self._what = ""
        self._is_interrupted = False
        if world.point("connect", self) is not None or world.is_cut_off():
            self.world = world
            raise self._unreachable()
        super().__init__(file, waits._replace(file=0.0))
        self.waits = waits
        self.wire = SimulatedWire(self)
        world.process().at_death.append(self._die)

    def prepare(self) -> None:
        super().prepare()
        self.driver.execute("PRAGMA synchronous = OFF")
        self.driver.create_function("julianday", 1, self._julian_day, deterministic=True)

    def _julian_day(self, _: object) -> float:
        return _UNIX_EPOCH + self.world.database_now() / 86400.0

    def execute(self, statement: Statement, values: Values = {}) -> Result:  # noqa: B006 - as the method that it calls
        self._what = statement.name if isinstance(statement, Prepared) else str(statement).split("\n")[0][:40]
        return super().execute(statement, values)

    def begin(self, *, writes: bool = True, is_snapshot: bool = False) -> None:  # a file always has snapshots
        try:
            if writes:
                self._point("BEGIN IMMEDIATE")
                self._wait_for_lock()
            self.driver.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
        except sqlite3.Error as error:
            raise self.raised(error) from error
        if writes:
            self._lock.holder = self

    def _wait_for_lock(self) -> None:
        scheduler = self.world.scheduler
        ends_at = scheduler.now + self.waits.file
        while self._lock.holder is not None:
            task = self._waiter = scheduler.task()
            self._lock.waiting.append(task)
            try:
                scheduler.wait("waits for the writer", ends_at - scheduler.now, self)
            finally:
                self._lock.waiting.remove(task)
                self._waiter = None
            if self._is_interrupted:
                self._is_interrupted = False
                raise sqlite3.OperationalError("interrupted")
            if scheduler.now >= ends_at and self._lock.holder is not None:
                raise sqlite3.OperationalError("database is locked")

    def _free_lock(self) -> None:
        if self._lock.holder is self:
            self._lock.holder = None
            for task in self._lock.waiting:
                self.world.scheduler.wake(task)

    def _run(self, known: Compiled, parameters: Any) -> Any:
        fault = self._point(self._what)
        cursor = super()._run(known, parameters)
        if fault is Fault.ANSWER_LOST:
            self._break()
        return cursor

    def _commit(self) -> bool:
        fault = self._point("COMMIT")
        done = super()._commit()
        self._free_lock()
        if fault is Fault.ANSWER_LOST:
            self._break()
        return done

    def _rollback(self) -> None:
        try:
            super()._rollback()
        finally:
            self._free_lock()

    def _point(self, what: str) -> Fault | None:
        fault: Fault | None = self.world.point(what, self)
        if fault is Fault.LOST or self.world.is_cut_off():
            self._break()
        if fault is Fault.HANGS:
            self._hang()
        return fault

    def _hang(self) -> None:
        self._waiter = self.world.scheduler.task()
        self.world.scheduler.wait("hangs", self.world.longest_hang, self)
        self._waiter = None
        self._is_interrupted = False
        self._break()

    def _break(self) -> None:
        """Break the connection, as a lost network does; on the other side the transaction is rolled back."""
        self._end()
        raise sqlite3.ProgrammingError("Cannot operate on a closed database.")

    def _end(self) -> None:
        with suppress(sqlite3.Error):
            # Not by the close alone, which waits for cursors that are still in use somewhere.
            if self.driver.in_transaction:
                self.driver.execute("ROLLBACK")
            self.driver.close()
        self._free_lock()

    def _die(self) -> None:
        self._end()

    def _unreachable(self) -> Exception:
        from jobrunner.store.drivers.connection import DriverError

        return DriverError(sqlite3.OperationalError("unable to open database file"), is_gone=True)

    def interrupt(self) -> None:
        """End the wait of its task."""
        if self._waiter is not None:
            self._is_interrupted = True
            self.world.scheduler.wake(self._waiter)

    def close(self) -> None:
        super().close()
        self._free_lock()
