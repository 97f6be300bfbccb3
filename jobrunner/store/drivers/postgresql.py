"""A connection to a server of PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg import errors, pq

from jobrunner.store.drivers.commits import MARKER, REMEDY, CommitWarnings
from jobrunner.store.drivers.connection import Connection, DriverError, Holder, Wire
from jobrunner.store.drivers.raw import raw_driver
from jobrunner.store.drivers.raw.sockets import HeldSocket
from jobrunner.store.drivers.waits import Waits
from jobrunner.store.sql.plain_cursors import psycopg_adapters
from jobrunner.store.sql.statement import Compiled
from jobrunner.text import one_line, visible

# The sessions that hold the needed lock, without those that only wait before us. A prepared transaction has pid 0. The
# state of another role's session is visible only to that role and to superusers. Our own session is one of them if it
# waits for a standby.
_HOLDERS = """
WITH RECURSIVE ahead (pid) AS (
  SELECT unnest(pg_blocking_pids(%s)) UNION SELECT unnest(pg_blocking_pids(ahead.pid)) FROM ahead
)
SELECT pid, usename, state, to_char(xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS'),
  coalesce(wait_event, '') = 'SyncRep' AS waits_for_standby
FROM (SELECT pid FROM ahead UNION SELECT pid FROM pg_stat_activity WHERE pid = %s AND wait_event = 'SyncRep') AS found
LEFT JOIN pg_stat_activity USING (pid)
WHERE cardinality(pg_blocking_pids(pid)) = 0 ORDER BY xact_start LIMIT 1
"""


class ServerWire(Wire):
    """A session of PostgreSQL. ``session`` is its number, which the server returns at each BEGIN."""

    def __init__(self, driver: psycopg.Connection[Any], waits: Waits) -> None:
        self.session: int | None = None
        self._driver = driver
        self._waits = waits
        self._held = HeldSocket(driver.pgconn.socket)

    def cancel(self) -> None:
        raw_driver.cancel(self._driver, self._waits)

    def shut(self) -> None:
        self._held.shut_down()

    def close(self) -> None:
        """Nothing is shut down after this."""
        self._held.close()

    def holder(self) -> Holder | None:
        if self.session is None:
            return None
        given = {each.keyword.decode(): each.val.decode() for each in self._driver.pgconn.info if each.val}
        found = raw_driver.first_row(given, _HOLDERS, (self.session, self.session))
        if found is None:
            return None
        pid, role, state, since, waits_for_standby = found
        if waits_for_standby:
            whose = "its COMMIT" if pid == self.session else f"the COMMIT of session {pid}, which holds a needed lock,"
            return Holder(
                f"{whose} waits for a synchronous standby that does not confirm it",
                REMEDY,
            )
        if not pid:
            return Holder(
                "a prepared transaction (see pg_prepared_xacts) holds a lock that is needed",
                "end it with COMMIT PREPARED or ROLLBACK PREPARED and its gid",
            )
        if state is None:
            doing = "doing what only that role may see"
        else:
            doing = f"{state}, its transaction open since {since} UTC" if since else state
        who = f"session {pid} of the role {visible(one_line(role or '?', 80))}"
        remedy = f"let it end its transaction, or end it: SELECT pg_terminate_backend({pid})"
        return Holder(f"{who} holds a lock that is needed ({doing})", remedy)


class ServerConnection(Connection):
    """A connection to a server."""

    database = "postgresql"
    wire: ServerWire
    _refusal_of_writes = "SET TRANSACTION READ ONLY"

    def __init__(self, options: Mapping[str, Any], waits: Waits, schema: str | None) -> None:
        try:
            driver: psycopg.Connection[Any] = psycopg.connect(
                **{**options, **raw_driver.connection_options(waits, given=options)}, context=psycopg_adapters()
            )
        except errors.Error as error:
            raise DriverError(error, is_gone=True) from error
        super().__init__(driver, waits, errors.Error)
        self.schema = schema
        self.wire = ServerWire(driver, waits)
        # Each statement says itself whether it is prepared.
        driver.prepare_threshold = 1
        self._is_direct = False
        self._cursor = driver.cursor()
        self._warnings = CommitWarnings(driver)
        # One message, so that the limits cost no round trip. The level is set, because a role or database may have a
        # stricter default, in which SKIP LOCKED fails. Behind a pooler only the server knows the number of its session.
        begin_and_limit = f"BEGIN ISOLATION LEVEL READ COMMITTED; {raw_driver.limits(waits)}"
        # The driver can read only dates in ISO style. A kept plan must not read whole tables: they may have been
        # small when it was made.
        settings = "SET LOCAL datestyle = 'ISO'; SET LOCAL enable_seqscan = off; SET LOCAL jit = off"
        # The server must say that a COMMIT did not wait for the standby, whatever the role has set.
        warned = "SET LOCAL client_min_messages = warning"
        self._begin = f"{begin_and_limit}; {settings}; {warned}; SELECT pg_catalog.pg_backend_pid()".encode()
        self._begin_snapshot = self._begin.replace(b"READ COMMITTED", b"REPEATABLE READ READ ONLY", 1)

    def begin(self, *, writes: bool = True, is_snapshot: bool = False) -> None:
        # It calls libpq, because the driver took twice as long.
        try:
            answer = self.driver.pgconn.exec_(self._begin_snapshot if is_snapshot else self._begin)
            if answer.status != pq.ExecStatus.TUPLES_OK:
                raise errors.error_from_result(answer)
        except errors.Error as error:
            raise self.raised(error) from error
        self.wire.session = int(answer.get_value(0, 0))
        # A pooler tells its clients a number of its own. Behind it the next transaction may be in another session.
        self._is_direct = self.wire.session == self.driver.pgconn.backend_pid

    def close(self) -> None:
        self.wire.close()
        super().close()

    def commit_alone(self) -> None:
        self.execute("SET LOCAL synchronous_commit = local")

    def execute_alone(self, statement: str) -> None:
        """Execute what must be in no transaction. It may wait for any lock as long as it wants."""
        self.driver.autocommit = True
        try:
            self.execute(statement)
        finally:
            self.driver.autocommit = False

    def write_marker(self) -> None:
        self.execute(MARKER)

    def sever(self) -> None:
        self.wire.shut()

    def _run(self, known: Compiled, parameters: Mapping[str, Any]) -> Any:
        return self._cursor.execute(known.text, parameters, prepare=known.keeps_plan and self._is_direct)

    def _is_gone(self, error: Exception) -> bool:
        return bool(self.driver.closed)

    def _commit(self) -> bool:
        # The driver commits an aborted transaction without an error, and nothing is saved.
        if self.driver.pgconn.transaction_status == pq.TransactionStatus.INERROR:
            raise RuntimeError("the transaction was aborted by an error that was ignored")
        self._warnings.clear()
        self.driver.commit()
        return self._warnings.is_acknowledged()

    def _rollback(self) -> None:
        self.driver.rollback()
