"""Locks, and inserts that may conflict with existing rows."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Table, select, text
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert


def lock_migrations(connection: Connection) -> None:
    """Let only one migration run at a time. Expects a write transaction, which on SQLite is the lock already.

    The lock is an advisory key, which every user of the database can take, because before the first migration there is
    no table to lock. An error names the session that holds it, as for every lock.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(7206148301)"))


def stay_with(connection: Connection, table: str) -> None:
    """Until the transaction ends, look up names only in the schema of this table."""
    if connection.dialect.name == "postgresql":
        schema = "SELECT relnamespace::regnamespace::text FROM pg_class WHERE oid = to_regclass(:table)"
        connection.execute(text(f"SELECT set_config('search_path', ({schema}), true)"), {"table": table})


def lock_named_row(connection: Connection, table: Table, name: str) -> None:
    """Lock the row of this name until the transaction ends. A missing row is inserted.

    Expects a write transaction, which on SQLite is the lock already.
    """
    if connection.dialect.name == "sqlite":
        return
    held = select(table.c.name).where(table.c.name == name).with_for_update()
    if connection.execute(held).one_or_none() is None:
        # If another transaction inserts it at the same time, one of these statements waits for it.
        connection.execute(inserting("postgresql", table).values(name=name).on_conflict_do_nothing())
        connection.execute(held)


def wait_briefly_for_locks(connection: Connection) -> None:
    """Until the transaction ends, wait for no lock longer than a second, nor longer than the usual limit.

    On SQLite there is only one lock, and the transaction has it from its begin.
    """
    if connection.dialect.name == "postgresql":
        seconds = min(1.0, connection.get_execution_options()["jobrunner_lock_seconds"])
        connection.execute(text(f"SET LOCAL lock_timeout = {seconds * 1000:.0f}"))


def insert_or_skip(connection: Connection, table: Table, values: dict[str, Any]) -> bool:
    """Insert a row unless one of its unique keys exists. Returns whether it was inserted.

    PostgreSQL waits for another transaction that inserts the same key.
    """
    key = next(iter(table.primary_key))
    statement = inserting(connection.dialect.name, table).values(**values)
    return connection.execute(statement.on_conflict_do_nothing().returning(key)).one_or_none() is not None


def inserting(dialect_name: str, table: Table) -> Any:
    """An INSERT with ``on_conflict_do_nothing``, which SQLAlchemy Core has only for each database separately."""
    return (sqlite_insert if dialect_name == "sqlite" else postgresql_insert)(table)
