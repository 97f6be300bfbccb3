"""The bell: how a tick that waits hears at once that somebody has committed a run.

PostgreSQL rings it (NOTIFY) from a trigger, so that every way in rings, a hand-written INSERT, too. SQLite has no bell:
a number that changes with every commit of another connection is looked at often.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Any

from sqlalchemy import Connection, text

_CHANNEL = "jobrunner"
_LOCK = "720615, 0"
_LOOK_SECONDS = 0.12

# A NOTIFY makes the commits of a whole server wait for each other: 3 300 instead of 5 500 a second from eight clients,
# on a disk that syncs in 0.1 ms. So it is sent only while a tick waits: whoever waits holds the lock, with its session,
# and an attempt to take it tells. One expression: nothing can interrupt it between the lock and its release.
# A transaction that has notified cannot be prepared: where two-phase commits are allowed, nobody is notified.
_POSTGRESQL_NOTIFY = (
    f"""
CREATE FUNCTION jobrunner_ring() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT (CASE WHEN pg_try_advisory_lock({_LOCK}) THEN pg_advisory_unlock({_LOCK}) ELSE false END)
     AND current_setting('max_prepared_transactions') = '0' THEN
    PERFORM pg_notify('{_CHANNEL}', '');
  END IF;
  RETURN NULL;
END $$
""",
    "CREATE TRIGGER jobrunner_ring AFTER INSERT ON job_runs FOR EACH STATEMENT EXECUTE FUNCTION jobrunner_ring()",
)


def notify_statements(dialect_name: str) -> list[str]:
    """What a migration must run once there is a table of runs."""
    return [] if dialect_name == "sqlite" else list(_POSTGRESQL_NOTIFY)


def notify_removal(dialect_name: str) -> list[str]:
    """The inverse of ``notify_statements``, once the table of runs is gone."""
    return [] if dialect_name == "sqlite" else ["DROP FUNCTION IF EXISTS jobrunner_ring()"]


class Notifier(ABC):
    """On one connection, for the thread that it belongs to.

    ``descriptor`` becomes readable when it rings or when the connection is gone. ``look_seconds`` None: no need to look
    for as long as the descriptor is silent.
    """

    descriptor: int | None = None
    look_seconds: float | None = None

    def __init__(self, connection: Connection) -> None:
        self._driver: Any = connection.connection.driver_connection
        self._error = connection.dialect.loaded_dbapi.Error

    @abstractmethod
    def notifications(self) -> int:
        """How often it has rung since it was last asked. Raises OSError: the connection is gone."""

    def pause(self, connection: Connection) -> None:  # noqa: B027 - nothing, where nobody rings
        """Let nobody ring for now. Expects a transaction on the same connection."""

    def resume(self, connection: Connection) -> None:  # noqa: B027 - as above
        """The inverse of ``mute``."""

    def take_down(self, connection: Connection) -> None:  # noqa: B027 - as above
        """Let nobody ring any more; it is muted already."""

    def close(self) -> None:  # noqa: B027 - nothing, where nothing was opened
        """Hear nothing more."""


def open_notifier(connection: Connection) -> Notifier:
    """A bell on this connection. Expects a transaction: it rings once that is committed."""
    if connection.dialect.name == "sqlite":
        return _Commits(connection)
    driver: Any = connection.connection.driver_connection
    if connection.scalar(text("SELECT pg_backend_pid()")) != driver.pgconn.backend_pid:
        # A pooler, which makes up the number: what a session holds there is lost, or left to somebody else.
        return _Silence(connection)
    connection.execute(text(f"LISTEN {_CHANNEL}"))
    bell = _Notices(connection)
    bell.resume(connection)
    return bell


class _Silence(Notifier):
    """Nobody rings: all that can be heard is the end of the connection."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        # A number of its own for the same socket: the driver closes its one when the connection breaks, and then
        # another file may get that number while it is still waited for.
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


class _Notices(_Silence):
    """Notices come with the answer to a statement, or while nothing is asked."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._noted = 0
        self._driver.add_notify_handler(self._note)

    def notifications(self) -> int:
        noted, self._noted = self._noted, 0
        return super().notifications() + noted

    def pause(self, connection: Connection) -> None:
        connection.execute(text(f"SELECT pg_advisory_unlock_shared({_LOCK})"))

    def resume(self, connection: Connection) -> None:
        connection.execute(text(f"SELECT pg_advisory_lock_shared({_LOCK})"))

    def take_down(self, connection: Connection) -> None:
        connection.execute(text(f"UNLISTEN {_CHANNEL}"))

    def close(self) -> None:
        super().close()
        self._driver.remove_notify_handler(self._note)

    def _note(self, _: Any) -> None:
        self._noted += 1


class _Commits(Notifier):
    """Another connection's commit changes the number; the commits of this one do not."""

    look_seconds = _LOOK_SECONDS

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._path = str(connection.scalar(text("SELECT file FROM pragma_database_list WHERE name = 'main'")))
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
