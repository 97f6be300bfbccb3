"""One thread's connection to the database: transactions, another try for what is transient, and its watch.

A ``Database`` belongs to one thread. Another thread may only ask ``stuck_for`` and call ``cut``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import TypeVar

from sqlalchemy import Connection, exc

from jobrunner import clock, faults
from jobrunner.errors import ConnectionLost, DatabaseUnavailable, SchemaMismatch
from jobrunner.store import dialect, failures
from jobrunner.store.location import Location

__all__ = ["Connection", "Database"]

T = TypeVar("T")
_PAUSES_SECONDS = (0.02, 0.1, 0.3, 1.0)


class Database:
    """Opens its connection at first use and again after it was lost."""

    def __init__(self, location: Location, *, patience: timedelta) -> None:
        self.location = location
        self.patience = patience
        self._engine = dialect.open_engine(location, patience=patience)
        self._connection: Connection | None = None
        self._busy_since: float | None = None
        self._cutter: Callable[[], None] | None = None
        self.waits_unfairly = dialect.waits_unfairly(self._engine)

    def twin(self) -> Database:
        """Another connection to the same database, for another thread."""
        return Database(self.location, patience=self.patience)

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in one transaction and commit it; again, a few times, where the failure is transient.

        ``work`` may run several times and must leave nothing behind but its SQL. Raises ConnectionLost when
        it is unknown whether the commit was applied, DatabaseUnavailable when nothing was sent.
        """
        return self._persist(lambda: self._once(work, writes=True))

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in a transaction that only reads."""
        return self._persist(lambda: self._once(work, writes=False))

    def stuck_for(self) -> float:
        """Seconds that the transaction of the moment has been open; 0 when there is none. From any thread."""
        since = self._busy_since
        return 0.0 if since is None else clock.elapsed() - since

    def cut(self) -> None:
        """End whatever the connection waits for; its thread gets ConnectionLost. From any thread."""
        cutter = self._cutter
        if cutter is not None:
            cutter()

    def close(self) -> None:
        """Close the connection; the next use opens a new one."""
        connection, self._connection, self._cutter = self._connection, None, None
        if connection is not None:
            with suppress(exc.DBAPIError, exc.InvalidRequestError):
                connection.invalidate()
            connection.close()

    def reach(self, point: str) -> None:
        """A fault point between two transactions: it may break the open connection."""
        connection = self._connection
        faults.reach(point, cut=None if connection is None else lambda: dialect.sever(connection))

    def connect(self) -> Connection:
        """The open connection, outside any transaction. Raises DatabaseUnavailable without the password."""
        if self._connection is None:
            try:
                self._connection = self._engine.connect()
            except (exc.SQLAlchemyError, OSError, ValueError) as error:
                raise self._unreachable(error) from None
            self._cutter = dialect.connection_cutter(self._connection)
        return self._connection

    def is_on(self, connection: Connection) -> bool:
        """Whether this is still the open connection."""
        return self._connection is connection

    def _persist(self, once: Callable[[], T]) -> T:
        # Two waits for a lock, each of the whole patience: for a tick that is half a lease, the most that its main
        # loop may stand still while it holds any.
        give_up_at = clock.elapsed() + 2 * self.patience.total_seconds()
        for pause in (*_PAUSES_SECONDS, None):
            try:
                return once()
            except exc.DBAPIError as error:
                if not failures.is_transient(error):
                    raise
                if pause is None or clock.elapsed() >= give_up_at:
                    raise self._unreachable(error.orig or error) from None
                time.sleep(pause)
        raise AssertionError("the last round returns or raises")

    def _once(self, work: Callable[[Connection], T], *, writes: bool) -> T:
        self._busy_since = clock.elapsed()
        try:
            with self._translated():
                connection = self.connect().execution_options(jobrunner_writes=writes)
                with connection.begin():
                    value = work(connection)
                    dialect.must_commit(connection)
                return value
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
            if not failures.is_transient(error) and failures.is_lost(error):
                self.close()
                raise ConnectionLost(
                    f"lost the connection to the database {self.location.label}:"
                    f" {failures.refusal_reason(error.orig or error)}"
                ) from None
            if failures.is_refused(error):
                raise self._unreachable(error.orig or error) from None
            raise
        except (exc.InvalidRequestError, exc.ResourceClosedError) as error:
            self.close()
            raise ConnectionLost(f"lost the connection to the database {self.location.label}") from error

    def _unreachable(self, error: BaseException) -> DatabaseUnavailable:
        reason = failures.refusal_reason(error)
        return DatabaseUnavailable(f"cannot use the database {self.location.label}: {reason}")
