"""One thread's connection to the database: transactions, another try for what is transient, and what a watch needs.

A ``Database`` belongs to one thread. Another thread may only ask ``stuck_for`` and call ``inquire`` and ``cut``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import TypeVar

from sqlalchemy import Connection, exc

from jobrunner import clock, failpoints
from jobrunner.errors import ConnectionLost, DatabaseHeld, DatabaseUnavailable, SchemaMismatch
from jobrunner.store import dialect, failures
from jobrunner.store.location import Location
from jobrunner.store.waits import Waits

__all__ = ["Connection", "Database"]

T = TypeVar("T")
_PAUSES_SECONDS = (0.02, 0.1, 0.3, 1.0)


class Database:
    """Opens its connection at first use and again after it was lost."""

    def __init__(self, location: Location, *, patience: timedelta | Waits) -> None:
        self.location = location
        self.waits = patience if isinstance(patience, Waits) else Waits.of(patience)
        self._engine = dialect.open_engine(location, waits=self.waits, opened=self._opened)
        self._connection: Connection | None = None
        # Of the call that is under way; other threads read them.
        self._busy_since: float | None = None
        self._wire: dialect.Wire | None = None
        self._holder: str | None = None
        self._is_cut = False
        self.waits_unfairly = dialect.waits_unfairly(self._engine)

    def twin(self) -> Database:
        """Another connection to the same database, for another thread."""
        return Database(self.location, patience=self.waits)

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in one transaction and commit it; again, a few times, where the failure is transient.

        ``work`` may run several times and must leave nothing behind but its SQL. Raises ConnectionLost when
        it is unknown whether the commit was applied, DatabaseUnavailable when it surely was not.
        """
        return self._persist(lambda: self._once(work, writes=True))

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in a transaction that only reads."""
        return self._persist(lambda: self._once(work, writes=False))

    def stuck_for(self) -> float:
        """Seconds that the transaction of the moment has been open; 0 when there is none. From any thread."""
        since = self._busy_since
        return 0.0 if since is None else clock.elapsed() - since

    def inquire(self) -> None:
        """Ask who holds up the call of the moment, so that its error can say so. From any thread."""
        since, wire = self._busy_since, self._wire
        holder = None if wire is None else wire.holder()
        if holder is not None and since == self._busy_since:
            self._holder = holder

    def cut(self) -> None:
        """End whatever the connection waits for; its thread gets ConnectionLost. From any thread."""
        since, wire = self._busy_since, self._wire
        if wire is not None:
            self._is_cut = True
            wire.cancel()
            # The next call has done nothing wrong.
            if self._busy_since == since:
                wire.shut()

    def close(self) -> None:
        """Close the connection; the next use opens a new one."""
        connection, self._connection, self._wire = self._connection, None, None
        if connection is not None:
            with suppress(exc.DBAPIError, exc.InvalidRequestError):
                connection.invalidate()
            connection.close()

    def hit(self, point: str) -> None:
        """A fault point between two transactions: it may break the open connection."""
        connection = self._connection
        failpoints.hit(point, cut=None if connection is None else lambda: dialect.sever(connection))

    def connect(self) -> Connection:
        """The open connection, outside any transaction. Raises DatabaseUnavailable without the password."""
        if self._connection is None:
            try:
                self._connection = self._engine.connect()
            except (exc.SQLAlchemyError, OSError, ValueError) as error:
                raise self._unreachable(error) from None
        return self._connection

    def prepare(self) -> None:
        """Set what lives in an SQLite file itself. Raises as ``write`` does."""
        self._persist(lambda: self._call(lambda: dialect.prepare_file(self.connect())))

    def is_on(self, connection: Connection) -> bool:
        """Whether this is still the open connection."""
        return self._connection is connection

    def _opened(self, wire: dialect.Wire) -> None:
        self._wire = wire

    def _persist(self, once: Callable[[], T]) -> T:
        # Two waits for a file's lock, each of the whole patience: for a tick that is half a lease, the most that its
        # main loop may stand still while it holds any.
        give_up_at = clock.elapsed() + 2 * self.waits.file
        self._holder = None
        for pause in (*_PAUSES_SECONDS, None):
            try:
                return once()
            except exc.DBAPIError as error:
                if not failures.is_transient(error):
                    raise
                if failures.is_lock_timeout(error):
                    raise self._held() from None
                if pause is None or clock.elapsed() >= give_up_at:
                    raise self._unreachable(error.orig or error) from None
                time.sleep(pause)
        raise AssertionError("the last round returns or raises")

    def _once(self, work: Callable[[Connection], T], *, writes: bool) -> T:
        def call() -> T:
            connection = self.connect().execution_options(jobrunner_writes=writes)
            with connection.begin():
                value = work(connection)
                dialect.must_commit(connection)
            return value

        return self._call(call)

    def _call(self, call: Callable[[], T]) -> T:
        self._is_cut = False
        self._busy_since = clock.elapsed()
        try:
            with self._translated():
                return call()
        finally:
            self._busy_since = None

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except exc.DBAPIError as error:
            if failures.is_missing_schema(error):
                raise SchemaMismatch(
                    f"the database {self.location.label} has no jobrunner tables; run: jobrunner migrate"
                ) from None
            is_transient = failures.is_transient(error) and not (self._is_cut and failures.is_cancelled(error))
            if not is_transient and (self._is_cut or failures.is_lost(error)):
                self.close()
                raise ConnectionLost(
                    f"lost the connection to the database {self.location.label}: {self._reason(error.orig or error)}"
                ) from None
            if failures.is_refused(error):
                raise self._unreachable(error.orig or error) from None
            raise
        except (exc.InvalidRequestError, exc.ResourceClosedError) as error:
            self.close()
            raise ConnectionLost(f"lost the connection to the database {self.location.label}") from error

    def _held(self) -> DatabaseHeld:
        holder = self._holder or "another session holds a lock that is needed"
        return DatabaseHeld(f"cannot use the database {self.location.label}: {holder}")

    def _unreachable(self, error: BaseException) -> DatabaseUnavailable:
        return DatabaseUnavailable(f"cannot use the database {self.location.label}: {self._reason(error)}")

    def _reason(self, error: BaseException) -> str:
        if self._holder is not None:
            return self._holder
        return f"no answer for {self.waits.call:g} s" if self._is_cut else failures.refusal_reason(error)
