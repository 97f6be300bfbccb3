"""What ``doctor`` asks a database about itself. Every function expects a read transaction and changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.sql.dialect.values import now
from jobrunner.store.sql.statement import Prepared
from jobrunner.store.upkeep.neighbours import our_names

_SERVER = """
SELECT current_setting('server_version') AS version, current_setting('TimeZone') AS timezone, current_user AS role,
  pg_catalog.pg_is_in_recovery() AS is_standby, current_setting('autovacuum') = 'off' AS is_autovacuum_off
"""
_TABLES = """
SELECT relname::text AS name, n_live_tup AS live, n_dead_tup AS dead, pg_total_relation_size(relid) AS bytes,
  array_to_string(ARRAY(SELECT unnest(reloptions) FROM pg_class WHERE oid = relid), ',') AS options
FROM pg_stat_user_tables WHERE schemaname = coalesce(%(schema)s, current_schema()) AND relname = ANY(%(names)s)
"""
# A lock for reading rows only is no reason: it holds nobody up. The rows of another role's session are NULL, unless
# ours may see them.
_SESSIONS = """
WITH holding AS (
  SELECT DISTINCT pid FROM pg_locks JOIN pg_class ON pg_class.oid = relation
  JOIN pg_namespace ON pg_namespace.oid = relnamespace
  WHERE database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND granted
    AND mode <> 'AccessShareLock' AND nspname = coalesce(%(schema)s, current_schema()) AND relname = ANY(%(names)s)
)
SELECT pid, coalesce(usename::text, '?') AS role, coalesce(application_name, '') AS application, state,
  extract(epoch FROM clock_timestamp() - xact_start)::float8 AS open_seconds,
  extract(epoch FROM clock_timestamp() - state_change)::float8 AS idle_seconds,
  pid IN (SELECT pid FROM holding) AS holds_ours
FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
  AND (xact_start IS NOT NULL OR pid IN (SELECT pid FROM holding))
UNION ALL
SELECT 0, owner::text, gid, 'prepared', extract(epoch FROM clock_timestamp() - prepared)::float8, NULL, false
FROM pg_prepared_xacts WHERE database = current_database()
ORDER BY open_seconds DESC NULLS LAST
"""
_FILE = """
SELECT sqlite_version() AS version, (SELECT journal_mode FROM pragma_journal_mode) AS journal,
  (SELECT page_size FROM pragma_page_size) AS page_bytes, (SELECT page_count FROM pragma_page_count) AS pages,
  (SELECT freelist_count FROM pragma_freelist_count) AS free_pages
"""


@dataclass(frozen=True)
class Server:
    """A server of PostgreSQL, as our session sees it."""

    version: str
    timezone: str
    role: str
    is_standby: bool
    is_autovacuum_off: bool


@dataclass(frozen=True)
class StoredFile:
    """An SQLite file."""

    version: str
    journal: str
    page_bytes: int
    pages: int
    free_pages: int


@dataclass(frozen=True)
class TableSize:
    """The rows of one of our tables, by the server's statistics. ``options`` are its storage parameters."""

    name: str
    live: int
    dead: int
    bytes: int
    options: str


@dataclass(frozen=True)
class Session:
    """A session with an open transaction. ``pid`` 0: a prepared transaction, named by ``application``.

    ``state`` and the durations are None if our role may not see them. ``holds_ours``: it has locked rows of ours.
    """

    pid: int
    role: str
    application: str
    state: str | None
    open_seconds: float | None
    idle_seconds: float | None
    holds_ours: bool


@dataclass(frozen=True)
class LastTick:
    """When the last tick of a host began."""

    host: str
    started_at: datetime


def server(connection: Connection) -> Server:
    """The server of a connection to PostgreSQL."""
    return Server(**connection.execute(_SERVER).one()._asdict())


def file(connection: Connection) -> StoredFile:
    """The file of a connection to SQLite."""
    return StoredFile(**connection.execute(_FILE).one()._asdict())


def tables(connection: Connection) -> list[TableSize]:
    """Our tables on PostgreSQL."""
    return [TableSize(**row._asdict()) for row in connection.execute(_TABLES, _ours(connection))]


def sessions(connection: Connection) -> list[Session]:
    """The sessions of this database of PostgreSQL that have an open transaction, the oldest first."""
    return [Session(**row._asdict()) for row in connection.execute(_SESSIONS, _ours(connection))]


def clock(connection: Connection) -> datetime:
    """The database's clock."""
    instant: datetime = connection.execute(select(now())).scalar_one()
    return instant


def last_ticks(connection: Connection) -> Sequence[LastTick]:
    """The last tick of each host, the newest first."""
    found = [LastTick(row.host, row.started_at) for row in connection.execute(Prepared("findings.hosts"))]
    return sorted(found, key=lambda tick: tick.started_at, reverse=True)


def _ours(connection: Connection) -> dict[str, Any]:
    return {"schema": connection.schema, "names": sorted(our_names())}
