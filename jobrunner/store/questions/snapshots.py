"""Who keeps an old state of the database readable, so that what has changed since cannot be tidied up.

On PostgreSQL VACUUM removes no row that a transaction of the database, a prepared one, or a query on a standby might
still read, and each claim reads such dead rows again. On SQLite nothing is copied out of the log that a reader has not
seen yet. It only looks, and is silent about what it cannot see.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, NamedTuple

from jobrunner.durations import format_duration
from jobrunner.store.drivers import file_readers
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.sql.namespace import qualifier
from jobrunner.text import mebibytes, one_line, visible

# What a session has a snapshot or a number for holds the rows of its database, unless it is a VACUUM. A slot holds them
# by its xmin only: its catalog_xmin, which a logical one has, is for rows of the catalogs, of which jobrunner makes no
# dead ones. Since when is known of what our role may see. Of all else the ticks tell it at least: one that has ended
# with a later number is younger. Where several have the same number they were copied into the table, later than that.
_HELD = """
WITH held AS (
  SELECT 'session' AS kind, pid, usename::text AS role, application_name AS name, host(client_addr) AS address,
    state, xact_start AS since, greatest(age(backend_xid), age(backend_xmin)) AS transactions
  FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid() AND usesysid IS NOT NULL
    AND coalesce(backend_type, 'client backend') = 'client backend'
    AND pid NOT IN (SELECT pid FROM pg_stat_progress_vacuum)
    AND pid NOT IN (SELECT pid FROM pg_stat_replication)
  UNION ALL
  SELECT 'prepared', NULL, owner::text, gid, NULL, NULL, prepared, age(transaction)
  FROM pg_prepared_xacts WHERE database = current_database()
  UNION ALL
  SELECT CASE WHEN active THEN 'used slot' ELSE 'slot' END, NULL, NULL, slot_name::text, NULL, NULL, NULL, age(xmin)
  FROM pg_replication_slots WHERE xmin IS NOT NULL
  UNION ALL
  SELECT 'standby', pid, usename::text, application_name, host(client_addr), NULL, NULL, age(backend_xmin)
  FROM pg_stat_replication WHERE backend_xmin IS NOT NULL
), ended AS (
  SELECT min(finished_at) AS at, min(age) AS age
  FROM (SELECT finished_at, age(xmin) AS age FROM {schema}job_ticks ORDER BY id DESC LIMIT 2000) AS newest
  WHERE finished_at IS NOT NULL GROUP BY age HAVING count(*) = 1
)
SELECT kind, pid, role, name, address, state, transactions,
  extract(epoch FROM clock_timestamp() - since)::float8 AS seconds,
  extract(epoch FROM {now} - CASE WHEN since IS NULL THEN
    (SELECT min(at) FROM ended WHERE ended.age < held.transactions) END)::float8 AS least_seconds
FROM held WHERE transactions >= CAST(%(transactions)s AS bigint) ORDER BY transactions DESC, kind, name
"""
_ON_STANDBY = (
    "end its long query there, or execute there: ALTER SYSTEM SET hot_standby_feedback = off; SELECT pg_reload_conf()"
)


class Holder(NamedTuple):
    """Who holds an old state, and how much has changed since. ``remedy`` ends it.

    ``seconds`` is for how long at least; None: of a file that is not known.
    """

    who: str
    seconds: float | None
    changed: str
    remedy: str

    def __str__(self) -> str:
        """In words: who, and for how long."""
        age = "" if self.seconds is None else f"{format_duration(timedelta(seconds=round(self.seconds)))} and "
        return f"{self.who} for {age}{self.changed}"


def look(connection: Connection, least_transactions: int, least_bytes: int) -> list[Holder]:
    """Who holds a state of the database since which so much has changed: transactions, or bytes of an SQLite file. The
    oldest one first. Expects a read transaction.
    """
    if not connection.traits.has_server:
        return _of_file(connection, least_bytes)
    before = qualifier(connection.schema)
    text = _HELD.replace("{schema}", before).replace("{now}", f"{before}jobrunner_now()")
    found = [_of_row(row) for row in connection.execute(text, {"transactions": least_transactions})]
    return [each for each in found if each.seconds is not None]


def _of_row(row: Any) -> Holder:
    seconds = row.least_seconds if row.seconds is None else row.seconds
    changed = f"{row.transactions} transactions"
    who, remedy = _session(row) if row.kind == "session" else _other(row)
    return Holder(who, seconds, changed, remedy)


def _session(row: Any) -> tuple[str, str]:
    doing = row.state or "doing what only that role may see"
    who = f"session {row.pid} of the role {_named(row.role)}{_application(row)}, {doing},"
    return who, f"let it end its transaction, or end it: SELECT pg_terminate_backend({row.pid})"


def _other(row: Any) -> tuple[str, str]:
    name = _named(row.name, 200)
    literal = name.replace("'", "''")
    if row.kind == "prepared":
        who = f"the prepared transaction '{name}' of the role {_named(row.role)},"
        return who, f"have its application commit it, or give it up: ROLLBACK PREPARED '{literal}'"
    if row.kind == "slot":
        remedy = f"if what has used it does not come back: SELECT pg_drop_replication_slot('{literal}')"
        return f"the replication slot {name}, which nothing uses,", remedy
    if row.kind == "used slot":
        return f"the standby of the replication slot {name},", _ON_STANDBY
    return f"the standby of the session {row.pid}, role {_named(row.role)}{_application(row)},", _ON_STANDBY


def _application(row: Any) -> str:
    parts = [_named(row.name)] if row.name else []
    parts += [f"at {row.address}"] if row.address else []
    return f" ({' '.join(parts)})" if parts else ""


def _named(text: str | None, most: int = 80) -> str:
    return visible(one_line(text or "?", most))


def _of_file(connection: Connection, least_bytes: int) -> list[Holder]:
    file = next((str(row.file) for row in connection.execute("PRAGMA database_list") if row.name == "main"), "")
    found = file_readers.oldest(file) if file else None
    if found is None or found.bytes_since < least_bytes:
        return []
    remedy = f"let it end its read transaction, or end it: kill {found.process.pid}"
    return [Holder(f"{found.process}, which reads,", None, f"{mebibytes(found.bytes_since)} of changes", remedy)]
