"""Where the histories on a server have their databases."""

from __future__ import annotations

from psycopg import sql

from harness.database import PostgresDatabase
from harness.databases import Copies
from simulator.servers import CLOCK


class ServerPlace:
    """Makes a database for each history, from one with the clock of the simulator and the table of an application."""

    def __init__(self, copies: Copies) -> None:
        self.url = copies.access.admin_url
        self._copies = copies
        self._last: PostgresDatabase | None = None
        made = copies.make()
        made.execute(CLOCK)
        made.execute("CREATE TABLE simulated_work (run_id bigint, token text)")
        self._template = made.database

    def fresh(self) -> PostgresDatabase:
        """A database for the next history. The one of the last history is dropped."""
        self._drop_last()
        made = self._last = self._copies.make(keeps_session=True, template=self._template)
        # So that the victim of a deadlock is the session that waits last, and nobody waits for it in real time.
        soon = sql.SQL("ALTER DATABASE {} SET deadlock_timeout = '1ms'").format(sql.Identifier(made.database))
        self._copies.access.execute(soon)
        return made

    def close(self) -> None:
        """Drop the databases."""
        self._drop_last()
        self._copies.drop(self._template)

    def _drop_last(self) -> None:
        if self._last is not None:
            self._last.forget_sessions()
            self._copies.drop(self._last.database)
            self._last = None
