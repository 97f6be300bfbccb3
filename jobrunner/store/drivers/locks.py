"""Locks of PostgreSQL. On SQLite a write transaction is the lock already."""

from __future__ import annotations

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.sql.statement import Prepared

_LOCK, _INSERT = Prepared("locks.lock"), Prepared("locks.insert")


def lock_migrations(connection: Connection) -> None:
    """Let only one migration run at a time. Expects a write transaction.

    The lock is an advisory key, which every user of the database can take, because before the first migration there is
    no table to lock. An error names the session that holds it, as for every lock.
    """
    if connection.database == "postgresql":
        connection.execute("SELECT pg_advisory_xact_lock(7206148301)")


def stay_with(connection: Connection, table: str) -> None:
    """Until the transaction ends, look up names only in the schema of this table, if there is one."""
    if connection.database == "postgresql":
        schema = "SELECT relnamespace::regnamespace::text AS schema FROM pg_class WHERE oid = to_regclass(%(table)s)"
        change = f"SELECT set_config('search_path', schema, true) FROM ({schema}) AS found"  # noqa: S608
        connection.execute(change, {"table": table})


def lock_named_row(connection: Connection, name: str) -> str | None:
    """Lock the row of ``job_locks`` with this name until the transaction ends; its ``sole_owner``.

    Expects a write transaction.
    """
    if connection.database == "sqlite":
        return None
    row = connection.execute(_LOCK, {"row_name": name}).one_or_none()
    if row is None:
        # If another transaction inserts it at the same time, one of these statements waits for it.
        connection.execute(_INSERT, {"row_name": name})
        row = connection.execute(_LOCK, {"row_name": name}).one()
    sole_owner: str | None = row.sole_owner
    return sole_owner


def wait_briefly_for_locks(connection: Connection) -> None:
    """Until the transaction ends, wait for no lock longer than a second, nor longer than the usual limit."""
    if connection.database == "postgresql":
        seconds = min(1.0, connection.waits.lock)
        connection.execute(f"SET LOCAL lock_timeout = {seconds * 1000:.0f}")
