"""The notifier: how a listening tick learns at once that a run was committed.

PostgreSQL notifies it (NOTIFY) from a trigger, so every INSERT notifies, also one by hand. SQLite has no notifications:
the tick often reads a number that changes with each commit of another connection.
"""

from __future__ import annotations

import os
import zlib
from abc import ABC, abstractmethod
from typing import Any

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.sql.namespace import qualifier

_LOOK_SECONDS = 0.12

# A NOTIFY makes all commits of a server wait for each other: 3 300 instead of 5 500 a second from eight clients, on a
# disk that syncs in 0.1 ms. So it is sent only while a tick listens. Each listening tick holds the lock in its session,
# and the trigger tries to take the lock to find that out. It does so in one expression, because nothing can interrupt
# that between the lock and its release. A transaction that has notified cannot be prepared, so where two-phase commits
# are allowed, there are no notifications.
_POSTGRESQL_NOTIFY = (
    """
CREATE FUNCTION {schema}jobrunner_notify() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT (CASE WHEN pg_try_advisory_lock({lock}) THEN pg_advisory_unlock({lock}) ELSE false END)
     AND current_setting('max_prepared_transactions') = '0' THEN
    PERFORM pg_notify('{channel}', '');
  END IF;
  RETURN NULL;
END $$
""",
    """
CREATE TRIGGER jobrunner_notify AFTER INSERT ON {schema}job_runs
  FOR EACH STATEMENT EXECUTE FUNCTION {schema}jobrunner_notify()
""",
)


def notify_statements(dialect_name: str, schema: str | None) -> list[str]:
    """What a migration must run after it has created the table of runs."""
    words = {"schema": qualifier(schema), **_words(schema)}
    return [] if dialect_name == "sqlite" else [statement.format(**words) for statement in _POSTGRESQL_NOTIFY]


def _words(schema: str | None) -> dict[str, str]:
    """The channel and the lock. Those of another schema of the same database should not wake the ticks of this one."""
    if schema is None:
        return {"channel": "jobrunner", "lock": "720615, 0"}
    number = zlib.crc32(schema.encode()) & 0x7FFF_FFFF
    return {"channel": f"jobrunner_{number}", "lock": f"720615, {number}"}


class Notifier(ABC):
    """Counts notifications on one connection, in the thread of that connection.

    ``descriptor`` becomes readable when a notification arrives or the connection is lost. ``look_seconds`` is how often
    to call ``notifications`` without that; None means never.
    """

    descriptor: int | None = None
    look_seconds: float | None = None

    def __init__(self, connection: Connection) -> None:
        self._driver = connection.driver
        self._error = connection.error_type

    @abstractmethod
    def notifications(self) -> int:
        """The number of notifications since the last call. Raises OSError if the connection is lost."""

    def pause(self, connection: Connection) -> None:  # noqa: B027 - by default there are none
        """Stop notifications. Expects a transaction on the same connection."""

    def resume(self, connection: Connection) -> None:  # noqa: B027 - as above
        """The inverse of ``pause``."""

    def remove(self, connection: Connection) -> None:  # noqa: B027 - as above
        """Stop listening forever, after ``pause``."""

    def close(self) -> None:  # noqa: B027 - by default nothing is open
        """Free what the notifier has opened. No database is needed."""


def open_notifier(connection: Connection) -> Notifier:
    """A notifier on this connection. Expects a transaction. Notifications start after its COMMIT."""
    if connection.database == "sqlite":
        return _CommitCounter(connection)
    if connection.execute("SELECT pg_backend_pid()").scalar_one() != connection.driver.pgconn.backend_pid:
        # A pooler, which invents the number. There a lock of the session would be lost, or left to another client.
        return _NoNotifications(connection)
    connection.execute(f"LISTEN {_words(connection.schema)['channel']}")
    notifier = _Notifications(connection)
    notifier.resume(connection)
    return notifier


class _NoNotifications(Notifier):
    """There are no notifications. Only the end of the connection is noticed."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        # A duplicate of the socket's descriptor. The driver closes its own when the connection breaks, and then another
        # file may get that number while the tick still waits for it.
        self.descriptor = os.dup(self._driver.fileno())

    def notifications(self) -> int:
        count = 0
        try:
            self._driver.pgconn.consume_input()
            while self._driver.pgconn.notifies() is not None:
                count += 1
        except self._error as error:
            raise ConnectionResetError from error
        return count

    def close(self) -> None:
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None


class _Notifications(_NoNotifications):
    """Notifications arrive with the answer to a statement, or between statements."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        words = _words(connection.schema)
        self._channel, self._lock = words["channel"], words["lock"]
        self._received = 0
        self._driver.add_notify_handler(self._receive)

    def notifications(self) -> int:
        received, self._received = self._received, 0
        return super().notifications() + received

    def pause(self, connection: Connection) -> None:
        connection.execute(f"SELECT pg_advisory_unlock_shared({self._lock})")

    def resume(self, connection: Connection) -> None:
        connection.execute(f"SELECT pg_advisory_lock_shared({self._lock})")

    def remove(self, connection: Connection) -> None:
        connection.execute(f"UNLISTEN {self._channel}")

    def close(self) -> None:
        super().close()
        self._driver.remove_notify_handler(self._receive)

    def _receive(self, _: Any) -> None:
        self._received += 1


class _CommitCounter(Notifier):
    """Reads a number that changes with each commit of another connection, and not with our own commits."""

    look_seconds = _LOOK_SECONDS

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._path = str(connection.execute("SELECT file FROM pragma_database_list WHERE name = 'main'").scalar_one())
        self._file = _identity(self._path)
        self._version: int | None = None

    def notifications(self) -> int:
        if _identity(self._path) != self._file:
            raise FileNotFoundError
        try:
            (version,) = self._driver.execute("PRAGMA data_version").fetchone()
        except self._error as error:
            raise ConnectionResetError from error
        before, self._version = self._version, version
        return int(before != version)


def _identity(path: str) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_dev, found.st_ino
