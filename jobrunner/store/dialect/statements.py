"""Inserts that may conflict with existing rows."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Table
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from jobrunner.store.connection import Connection


def insert_or_skip(connection: Connection, table: Table, values: dict[str, Any]) -> bool:
    """Insert a row unless one of its unique keys exists. Returns whether it was inserted.

    PostgreSQL waits for another transaction that inserts the same key.
    """
    key = next(iter(table.primary_key))
    statement = inserting(connection.database, table).values(**values)
    return connection.execute(statement.on_conflict_do_nothing().returning(key)).one_or_none() is not None


def inserting(dialect_name: str, table: Table) -> Any:
    """An INSERT with ``on_conflict_do_nothing``, which SQLAlchemy Core has only for each database separately."""
    return (sqlite_insert if dialect_name == "sqlite" else postgresql_insert)(table)
