"""Locks, and inserts that meet what is there."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Table, literal, select, text
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert


def lock_migrations(connection: Connection) -> None:
    """One migrator at a time. Expects a write transaction, which on SQLite is the lock already."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(7206148301)"))


def stay_with(connection: Connection, table: str) -> None:
    """Until the transaction ends, let names mean what stands beside this table, and nothing of another schema."""
    if connection.dialect.name == "postgresql":
        schema = "SELECT relnamespace::regnamespace::text FROM pg_class WHERE oid = to_regclass(:table)"
        connection.execute(text(f"SELECT set_config('search_path', ({schema}), true)"), {"table": table})


def lock_declarations(connection: Connection) -> None:
    """One host at a time applies what is declared. Expects a write transaction, which on SQLite is the lock already."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(7206148302)"))


def lock_host_places(connection: Connection, host: str) -> None:
    """One tick of a host counts and takes places at a time. Expects the claim's transaction.

    A transaction-level lock: a session-level one is lost behind a transaction pooler.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(720614, hashtext(:host))"), {"host": host})


def wait_briefly_for_locks(connection: Connection) -> None:
    """From here to the end of the transaction, no lock is waited for longer than a second.

    On SQLite the one lock there is has been waited for already, when the transaction began.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SET LOCAL lock_timeout = '1s'"))


def insert_or_skip(
    connection: Connection, table: Table, values: dict[str, Any], *, unless: ColumnElement[bool] | None = None
) -> bool:
    """Insert a row unless a unique key of it is taken, or ``unless`` is true: False.

    PostgreSQL waits for the outcome of a rival.
    """
    key = next(iter(table.primary_key))
    statement = inserting(connection.dialect.name, table)
    if unless is None:
        statement = statement.values(**values)
    else:
        statement = statement.from_select(list(values), row_unless(table, values, unless))
    return connection.execute(statement.on_conflict_do_nothing().returning(key)).one_or_none() is not None


def insert_or_update(connection: Connection, table: Table, key: dict[str, Any], values: dict[str, Any]) -> None:
    """Insert a row, or give the one of this primary key these values."""
    statement = inserting(connection.dialect.name, table).values(**key, **values)
    connection.execute(statement.on_conflict_do_update(index_elements=list(key), set_=values))


def inserting(dialect_name: str, table: Table) -> Any:
    """An INSERT that can say ``on_conflict_do_nothing``, which Core knows of no database in general."""
    return (sqlite_insert if dialect_name == "sqlite" else postgresql_insert)(table)


def row_unless(table: Table, values: dict[str, Any], unless: ColumnElement[bool]) -> Select[Any]:
    """One row of these values, or none: for an INSERT that asks and writes in one statement."""
    # Typed: a bare parameter in a SELECT is of no type to PostgreSQL.
    typed = (
        value if isinstance(value, ColumnElement) else literal(value, table.c[name].type)
        for name, value in values.items()
    )
    return select(*typed).where(~unless)
