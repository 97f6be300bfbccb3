"""What another thread can do about a call that hangs: find the session that blocks it, and end the call."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from jobrunner.store import raw_driver
from jobrunner.store.waits import Waits
from jobrunner.text import one_line, visible

# The sessions that hold the needed lock, without those that only wait before us. A prepared transaction has pid 0. The
# state of another role's session is visible only to that role and to superusers.
_HOLDERS = """
WITH RECURSIVE ahead (pid) AS (
  SELECT unnest(pg_blocking_pids(%s)) UNION SELECT unnest(pg_blocking_pids(ahead.pid)) FROM ahead
)
SELECT ahead.pid, usename, state, to_char(xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')
FROM ahead LEFT JOIN pg_stat_activity USING (pid)
WHERE cardinality(pg_blocking_pids(ahead.pid)) = 0 ORDER BY xact_start LIMIT 1
"""


class Wire(ABC):
    """One connection, from its first byte. Any thread may use it."""

    @abstractmethod
    def cancel(self) -> None:
        """Request the end of the current call. Returns soon, even if the server does not answer."""

    @abstractmethod
    def shut(self) -> None:
        """End the connection, which also ends every wait on it."""

    @abstractmethod
    def holder(self) -> str | None:
        """The session that blocks the current call, as text for a person. None means that it is not known."""


class FileWire(Wire):
    """An SQLite file."""

    def __init__(self, driver: Any, _: Waits) -> None:
        self._driver = driver

    def cancel(self) -> None:
        self._driver.interrupt()

    def shut(self) -> None:
        self._driver.interrupt()

    def holder(self) -> str | None:
        return None


class ServerWire(Wire):
    """A session of PostgreSQL. ``session`` is its number, which the server returns at each BEGIN."""

    def __init__(self, driver: Any, waits: Waits) -> None:
        self.session: int | None = None
        self._driver = driver
        self._waits = waits

    def cancel(self) -> None:
        raw_driver.cancel(self._driver, self._waits)

    def shut(self) -> None:
        raw_driver.shut_down(self._driver)

    def holder(self) -> str | None:
        if self.session is None:
            return None
        given = {each.keyword.decode(): each.val.decode() for each in self._driver.pgconn.info if each.val}
        found = raw_driver.first_row(given, _HOLDERS, (self.session,))
        if found is None:
            return None
        pid, role, state, since = found
        if not pid:
            return "a prepared transaction (see pg_prepared_xacts) holds a lock that is needed"
        if state is None:
            doing = "doing what only that role may see"
        else:
            doing = f"{state}, its transaction open since {since} UTC" if since else state
        return f"session {pid} of the role {visible(one_line(role or '?', 80))} holds a lock that is needed ({doing})"
