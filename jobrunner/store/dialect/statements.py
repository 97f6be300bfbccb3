"""Locks, and inserts that meet what is there."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Table, select, text
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert


def lock_migrations(connection: Connection) -> None:
    """One migrator at a time. Expects a write transaction, which on SQLite is the lock already.

    A key that anybody who may connect can take: before the first migration there is nothing of our own to lock. Who
    has it is named, as whoever else holds up a call.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(7206148301)"))


def stay_with(connection: Connection, table: str) -> None:
    """Until the transaction ends, let names mean what stands beside this table, and nothing of another schema."""
    if connection.dialect.name == "postgresql":
        schema = "SELECT relnamespace::regnamespace::text FROM pg_class WHERE oid = to_regclass(:table)"
        connection.execute(text(f"SELECT set_config('search_path', ({schema}), true)"), {"table": table})


def lock_named_row(connection: Connection, table: Table, name: str) -> None:
    """Hold the row of this name, which is made where there is none, until the transaction ends.

    Expects a write transaction, which on SQLite is the lock already.
    """
    if connection.dialect.name == "sqlite":
        return
    held = select(table.c.name).where(table.c.name == name).with_for_update()
    if connection.execute(held).one_or_none() is None:
        # Whoever makes it at the same time is waited for, here or below.
        connection.execute(inserting("postgresql", table).values(name=name).on_conflict_do_nothing())
        connection.execute(held)


def wait_briefly_for_locks(connection: Connection) -> None:
    """From here to the end of the transaction, no lock is waited for longer than a second, nor than any other one.

    On SQLite the one lock there is has been waited for already, when the transaction began.
    """
    if connection.dialect.name == "postgresql":
        seconds = min(1.0, connection.get_execution_options()["jobrunner_lock_seconds"])
        connection.execute(text(f"SET LOCAL lock_timeout = {seconds * 1000:.0f}"))


def insert_or_skip(connection: Connection, table: Table, values: dict[str, Any]) -> bool:
    """Insert a row unless a unique key of it is taken: False. PostgreSQL waits for the outcome of a rival."""
    key = next(iter(table.primary_key))
    statement = inserting(connection.dialect.name, table).values(**values)
    return connection.execute(statement.on_conflict_do_nothing().returning(key)).one_or_none() is not None


def inserting(dialect_name: str, table: Table) -> Any:
    """An INSERT that can say ``on_conflict_do_nothing``, which Core knows of no database in general."""
    return (sqlite_insert if dialect_name == "sqlite" else postgresql_insert)(table)
