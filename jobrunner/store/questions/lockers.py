"""Who holds a lock that keeps ticks from claiming: a session of PostgreSQL, or another process with an SQLite file.

It only looks, so it cannot tell of each lock whether a claim needs it. What it names are the table locks that claims
wait for, the rows whose last change or lock has not ended, and the write lock of a file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import timedelta
from typing import Any, NamedTuple

from jobrunner.durations import format_duration
from jobrunner.store.drivers import file_locks
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.sql.namespace import qualifier
from jobrunner.text import one_line, visible

TABLES = (
    *("job_attempts", "job_definitions", "job_effects", "job_events", "job_gates", "job_hosts", "job_keys"),
    *("job_limits", "job_locks", "job_notices", "job_parents", "job_pauses", "job_runs", "job_state", "job_tallies"),
    *("job_set_limits", "job_ticks", "job_totals", "job_types"),
)
"""Our tables, without the one of versions. ``neighbours`` has them, too, and needs SQLAlchemy."""
_OWN = "jobrunner"
_BRIEF_SECONDS = 10.0
"""Our own sessions hold their locks for moments, as when a tick is just claiming the run."""
# A transaction that has changed or locked a row stands in its xmax, and holds the lock of its own number until it ends.
# The number of a group of transactions that share a row is no such number: they are not named.
_HELD = """
WITH held AS (
  SELECT 'the table ' || relname AS what, pid, virtualtransaction
  FROM pg_locks JOIN pg_class ON pg_class.oid = relation JOIN pg_namespace ON pg_namespace.oid = relnamespace
  WHERE locktype = 'relation' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND granted AND mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
    AND nspname = coalesce(CAST(%(schema)s AS text), current_schema()) AND relname = ANY(CAST(%(names)s AS text[]))
  UNION ALL
  SELECT 'the row of run ' || id, pid, virtualtransaction
  FROM {schema}job_runs AS rows JOIN pg_locks ON locktype = 'transactionid' AND transactionid = rows.xmax AND granted
  WHERE id = ANY(CAST(%(ids)s AS bigint[]))
  UNION ALL
  SELECT 'the row of job_limits of the type ' || job_type, pid, virtualtransaction
  FROM {schema}job_limits AS rows JOIN pg_locks ON locktype = 'transactionid' AND transactionid = rows.xmax AND granted
  WHERE job_type = ANY(CAST(%(types)s AS text[]))
  UNION ALL
  SELECT 'the row of the schedule ' || name, pid, virtualtransaction
  FROM {schema}job_definitions AS rows
  JOIN pg_locks ON locktype = 'transactionid' AND transactionid = rows.xmax AND granted
  WHERE id = ANY(CAST(%(definitions)s AS bigint[]))
)
SELECT what, held.pid, coalesce(usename, owner)::text AS role, application_name AS application, state, gid,
  extract(epoch FROM clock_timestamp() - coalesce(xact_start, prepared))::float8 AS seconds
FROM held LEFT JOIN pg_stat_activity ON pg_stat_activity.pid = held.pid
LEFT JOIN pg_prepared_xacts ON held.pid IS NULL AND transaction::text = split_part(virtualtransaction, '/', 2)
WHERE held.pid IS DISTINCT FROM pg_backend_pid()
ORDER BY seconds DESC NULLS LAST, what
"""


class Locker(NamedTuple):
    """A session or process and what it holds. ``seconds`` is for how long; None: we may not see it, or cannot know.

    ``remedy`` is what ends it.
    """

    what: str
    who: str
    pid: int | None
    seconds: float | None
    remedy: str

    def __str__(self) -> str:
        """In words: who holds what."""
        return f"{self.who} holds {self.what}"


def of_run(connection: Connection, run_id: int, job_type: str) -> Locker | None:
    """Who keeps ticks from claiming this waiting run. Expects a read transaction."""
    return next(iter(look(connection, [run_id], [job_type])), None)


def of_schedule(connection: Connection, definition_id: int) -> Locker | None:
    """Who keeps ticks from making the run of this schedule. Expects a read transaction."""
    return next(iter(look(connection, [], [], [definition_id])), None)


def look(
    connection: Connection,
    run_ids: Collection[int],
    job_types: Collection[str],
    definition_ids: Collection[int] = (),
) -> list[Locker]:
    """Who keeps ticks from claiming these runs, of these types, the longest first. Expects a read transaction."""
    if not connection.traits.has_server:
        return _of_file(connection)
    given = {"schema": connection.schema, "names": list(TABLES)}
    values: dict[str, Any] = {
        **given,
        "ids": list(run_ids),
        "types": list(job_types),
        "definitions": list(definition_ids),
    }
    found = connection.execute(_HELD.replace("{schema}", qualifier(connection.schema)), values)
    return [_of_session(row) for row in found if not _is_our_own(row)]


def _is_our_own(row: Any) -> bool:
    return row.application == _OWN and (row.seconds is None or row.seconds < _BRIEF_SECONDS)


def _of_session(row: Any) -> Locker:
    role = visible(one_line(row.role or "?", 80))
    if row.gid is not None:
        since = format_duration(timedelta(seconds=round(row.seconds)))
        name = visible(one_line(row.gid, 200))
        who = f"the prepared transaction '{name}' of the role {role}, open for {since},"
        return Locker(row.what, who, None, row.seconds, f"ROLLBACK PREPARED '{name}'")
    if row.seconds is None:
        doing = "doing what only that role may see"
    else:
        doing = f"{row.state}, its transaction open for {format_duration(timedelta(seconds=round(row.seconds)))}"
    application = f" ({visible(one_line(row.application, 80))})" if row.application else ""
    who = f"session {row.pid} of the role {role}{application}, {doing},"
    return Locker(row.what, who, row.pid, row.seconds, f"SELECT pg_terminate_backend({row.pid})")


def _of_file(connection: Connection) -> list[Locker]:
    files: Iterable[Any] = connection.execute("PRAGMA database_list")
    file = next((str(row.file) for row in files if row.name == "main"), "")
    found = file_locks.writer(file) if file else None
    if found is None or found.is_ours:
        return []
    return [Locker("the write lock of the file", str(found), found.pid, None, f"kill {found.pid}")]
