"""Which COMMIT is an answer: one that the server has acknowledged without a warning.

With a synchronous standby a COMMIT waits for it. A cancel request ends the wait: the transaction is applied and
visible, and perhaps no standby has it, so a promotion undoes it. PostgreSQL says so by a warning beside the answer.
What is visible is durable only when a later transaction that has written something is acknowledged.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from jobrunner.store.sql.namespace import MARK

MARKER = f"""DO $$ BEGIN
  PERFORM pg_catalog.pg_logical_emit_message(true, 'jobrunner', 'commit');
EXCEPTION WHEN insufficient_privilege THEN
  PERFORM {MARK}.jobrunner_mark();
END $$"""
"""Writes a record into the server's log, and no row. Without any record a COMMIT waits for nobody.

Where the right to write a message was taken from PUBLIC, a function of ours writes a row and deletes it.
"""

REMEDY = (
    "start the standby, or go on without it: ALTER SYSTEM SET synchronous_standby_names = ''; SELECT pg_reload_conf()"
)
_UNCONFIRMED = ("01000", "57P01")
"""A warning (also one of a deferred trigger, which costs only a second COMMIT), and the end of the session."""


class CommitWarnings:
    """Notices the warnings on a connection of a driver to PostgreSQL, until closed.

    It knows psycopg, asyncpg and psycopg2. Of another driver it cannot see them, so that none of its COMMITs is an
    answer by itself.
    """

    def __init__(self, driver: Any) -> None:
        self._driver = driver
        self._is_warned = False
        self._before: list[Any] | None = None
        if hasattr(driver, "add_notice_handler"):
            driver.add_notice_handler(self._note)
        elif hasattr(driver, "add_log_listener"):
            driver.add_log_listener(self._note_of_listener)
        elif isinstance(getattr(driver, "notices", None), list):
            self._before = list(driver.notices)
        else:
            self._is_warned = True

    def clear(self) -> None:
        """Forget the warnings until now."""
        self._is_warned = False

    def close(self) -> None:
        """Stop. The connection may be closed already."""
        with suppress(Exception):
            if hasattr(self._driver, "remove_notice_handler"):
                self._driver.remove_notice_handler(self._note)
            elif hasattr(self._driver, "remove_log_listener"):
                self._driver.remove_log_listener(self._note_of_listener)

    def is_acknowledged(self) -> bool:
        """Whether a COMMIT that has returned is an answer."""
        return not self._is_warned and (self._before is None or self._before == self._driver.notices)

    def _note(self, diagnostic: Any) -> None:
        self._is_warned |= diagnostic.sqlstate in _UNCONFIRMED

    def _note_of_listener(self, _: Any, message: Any) -> None:
        self._is_warned |= message.sqlstate in _UNCONFIRMED
