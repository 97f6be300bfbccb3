"""One thread's connection to the database: its transactions, their retries, and what the watchdog needs.

A ``Database`` belongs to one thread. Other threads may call only ``stuck_for``, ``find_holder`` and ``cut``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import TypeVar

from jobrunner import clock, failpoints
from jobrunner.errors import (
    CommitUnconfirmed,
    ConnectionLost,
    DatabaseDamaged,
    DatabaseHeld,
    DatabaseUnavailable,
)
from jobrunner.store.drivers import causes, commits, failures, rights
from jobrunner.store.drivers.causes import Cause
from jobrunner.store.drivers.connection import Connection, DriverError, Holder, Wire
from jobrunner.store.drivers.location import Location
from jobrunner.store.drivers.raw import raw_driver
from jobrunner.store.drivers.waits import Waits

__all__ = ["Connection", "Database"]

T = TypeVar("T")
_PAUSES_SECONDS = (0.02, 0.1, 0.3, 1.0)


class _Doubt:
    """Whether a COMMIT got no answer. What a later transaction finds of it is visible, and perhaps not durable."""

    is_open = False


class Database:
    """Opens its connection at the first use, and again after it was lost.

    With ``waits_for_free`` its first connection is asked for again while the server has none that is free, for as long
    as the patience. A later one is not: then the caller holds leases, and has more to do than to wait.

    From the first COMMIT on that got no answer, each write transaction writes a marker, so that its own COMMIT waits
    for a synchronous standby. So whatever ``work`` has found again is durable when ``write`` returns.
    """

    def __init__(
        self,
        location: Location,
        *,
        patience: timedelta | Waits,
        doubt: _Doubt | None = None,
        waits_for_free: bool = False,
    ) -> None:
        self.location = location
        self._doubt = doubt or _Doubt()
        self._waits_for_free = waits_for_free
        self.waits = patience if isinstance(patience, Waits) else Waits.of(patience)
        self._connection: Connection | None = None
        # These describe the current call. Other threads read them.
        self._call_since: float | None = None
        self._wire: Wire | None = None
        self._holder: Holder | None = None
        self._is_cut = False
        # Whether a writer can starve while others write. If so, each write also renews the leases of its tick.
        self.waits_unfairly = not location.has_server

    def second_connection(self) -> Database:
        """A second connection to the same database, for another thread."""
        return Database(self.location, patience=self.waits, doubt=self._doubt)

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in one transaction and commit it. A transient failure is retried a few times.

        ``work`` may run several times, so it must change nothing but the database. Raises ConnectionLost if it is
        unknown whether the commit was applied and is durable, and DatabaseUnavailable if it was not applied.
        """
        return self._persist(lambda: self._once(work, writes=True))

    def confirm(self, work: Callable[[Connection], T]) -> T:
        """As ``write``, for what a COMMIT on another connection may have left: what ``work`` finds is durable then."""
        self._doubt.is_open = True
        return self.write(work)

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in a transaction that only reads."""
        return self._persist(lambda: self._once(work, writes=False))

    def snapshot(self, work: Callable[[Connection], T]) -> T:
        """The same, and all of its statements see the database at one instant. Keep it short: rows stay for it."""
        return self._persist(lambda: self._once(work, writes=False, is_snapshot=True))

    def stuck_for(self) -> float:
        """The age of the current transaction in seconds; 0 means that there is none. Any thread may call this."""
        since = self._call_since
        return 0.0 if since is None else clock.elapsed() - since

    def find_holder(self) -> None:
        """Find out which session blocks the current call, so that its error can name it. Any thread may call this."""
        since, wire = self._call_since, self._wire
        holder = None if wire is None else wire.holder()
        if holder is not None and since == self._call_since:
            self._holder = holder

    def cut(self) -> None:
        """End the current call. Its thread gets ConnectionLost. Any thread may call this."""
        since, wire = self._call_since, self._wire
        if wire is not None:
            self._is_cut = True
            wire.cancel()
            # Only this call is ended, never the next one.
            if self._call_since == since:
                wire.shut()

    def close(self) -> None:
        """Close the connection. The next use opens a new one."""
        connection, self._connection, self._wire = self._connection, None, None
        if connection is not None:
            connection.close()

    def hit(self, point: str) -> None:
        """Hit a failpoint between two transactions. It may break the open connection."""
        connection = self._connection
        failpoints.hit(point, cut=None if connection is None else connection.sever)

    def connect(self) -> Connection:
        """The open connection, outside any transaction. Raises DatabaseUnavailable, never with the password."""
        give_up_at = clock.elapsed() + self.waits.file
        while self._connection is None:
            try:
                self._connection = _open(self.location, waits=self.waits, opened=self._opened)
            except (DriverError, OSError, ValueError) as error:
                may_wait = self._waits_for_free and raw_driver.is_none_free(error)
                if not may_wait or clock.elapsed() >= give_up_at:
                    raise self._unreachable(error) from None
                clock.sleep(raw_driver.pause_before_next())
        self._waits_for_free = False
        return self._connection

    def outside(self, work: Callable[[Connection], object]) -> None:
        """Run ``work`` outside any transaction. Raises the errors of ``write``."""
        self._persist(lambda: self._call(lambda: work(self.connect())))

    def is_on(self, connection: Connection) -> bool:
        """Whether this is still the open connection."""
        return self._connection is connection

    def _opened(self, wire: Wire) -> None:
        self._wire = wire

    def _persist(self, once: Callable[[], T]) -> T:
        # At most two waits for a file's lock, each as long as the patience. For a tick that is half a lease: its main
        # loop must not wait longer while it holds leases.
        give_up_at = clock.elapsed() + 2 * self.waits.file
        self._holder = None
        for pause in (*_PAUSES_SECONDS, None):
            try:
                return once()
            except DriverError as error:
                if not failures.is_transient(error):
                    raise
                if failures.is_lock_timeout(error):
                    raise self._held() from None
                if pause is None or clock.elapsed() >= give_up_at:
                    raise self._unreachable(error.orig) from None
                clock.sleep(pause)
        raise AssertionError("the last round returns or raises")

    def _once(self, work: Callable[[Connection], T], *, writes: bool, is_snapshot: bool = False) -> T:
        def call() -> T:
            connection = self.connect()
            connection.begin(writes=writes, is_snapshot=is_snapshot)
            try:
                value = work(connection)
                if writes and self._doubt.is_open:
                    connection.write_marker()
                is_acknowledged = self._commit(connection)
            except BaseException:
                connection.rollback()
                raise
            if not is_acknowledged:
                self._commit_again(connection)
            return value

        return self._call(call)

    def _commit(self, connection: Connection) -> bool:
        try:
            return connection.commit()
        except BaseException:
            self._doubt.is_open = True
            raise

    def _commit_again(self, connection: Connection) -> None:
        """Wait for the standby again, after a COMMIT that was applied without it."""
        self._doubt.is_open = True
        # What the driver raises here says nothing about the first COMMIT, which must not be repeated.
        with suppress(DriverError):
            if not self._is_cut:
                connection.begin()
                connection.write_marker()
                if connection.commit():
                    return
        self.close()
        raise CommitUnconfirmed(
            f"the database {self.location.label} has applied the COMMIT, but no synchronous standby has confirmed it",
            commits.REMEDY,
        )

    def _call(self, call: Callable[[], T]) -> T:
        self._is_cut = False
        self._call_since = clock.elapsed()
        try:
            with self._translated():
                return call()
        finally:
            self._call_since = None

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except DriverError as error:
            if failures.is_missing_schema(error) or failures.is_missing_column(error) or failures.is_closed(error):
                self._refuse_schema()
            if failures.is_missing_schema(error):
                cause = None if self._connection is None else rights.hidden(self._connection)
                if cause is not None:
                    unusable = f"cannot use the database {self.location.label}: {cause.reason}"
                    raise DatabaseUnavailable(unusable, cause.remedy) from None
                from jobrunner.store.drivers import schema_fit

                may_be_elsewhere = not (self.location.file or self.location.schema)
                raise schema_fit.no_tables(self.location.label, may_be_elsewhere=may_be_elsewhere) from None
            is_transient = failures.is_transient(error) and not (self._is_cut and failures.is_cancelled(error))
            if not is_transient and (self._is_cut or failures.is_lost(error)):
                self.close()
                reason, remedy = self._cause(error.orig)
                lost = f"lost the connection to the database {self.location.label}: {reason}"
                raise ConnectionLost(lost, remedy) from None
            if failures.is_refused(error):
                raise self._unreachable(error.orig, error.statement) from None
            raise

    def _refuse_schema(self) -> None:
        from jobrunner.store.drivers import schema_fit

        refusal = None if self._connection is None else schema_fit.refusal(self._connection, self.location.label)
        if refusal is not None:
            raise refusal from None

    def _held(self) -> DatabaseHeld:
        holder = self._holder or Holder(
            "another session holds a lock that is needed", "find it in pg_locks, and let it end its transaction"
        )
        return DatabaseHeld(f"cannot use the database {self.location.label}: {holder.text}", holder.remedy)

    def _unreachable(self, error: BaseException, statement: str = "") -> DatabaseUnavailable:
        kind = DatabaseDamaged if failures.is_damaged(error) else DatabaseUnavailable
        reason, remedy = self._cause(error, statement)
        return kind(f"cannot use the database {self.location.label}: {reason}", remedy)

    def _cause(self, error: BaseException, statement: str = "") -> Cause:
        if self._holder is not None:
            return Cause(*self._holder)
        if self._is_cut:
            return Cause(f"no answer for {self.waits.call:g} s", causes.SLOW)
        if failures.is_denied(error) and self._connection is not None:
            return rights.lacking(self._connection, error, statement) or causes.cause(error, self.location)
        return causes.cause(error, self.location)


def _open(location: Location, *, waits: Waits, opened: Callable[[Wire], None]) -> Connection:
    """A connection for one thread. ``opened`` is called before its first statement. Raises DriverError."""
    if location.file is None:
        from jobrunner.store.drivers.postgresql import ServerConnection

        server = ServerConnection(location.options, waits, location.schema)
        opened(server.wire)
        return server
    from jobrunner.store.drivers.sqlite import FileConnection

    file = FileConnection(location.file, waits)
    opened(file.wire)
    try:
        file.prepare()
    except DriverError:
        file.close()
        raise
    return file
