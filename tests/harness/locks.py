"""Transactions that lock rows, as a tick or a command does, while a test looks at what others do."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from harness import Database, PostgresDatabase, SQLiteDatabase
from harness.database import to_sqlite, translated

linux_tells = pytest.mark.skipif(not Path("/proc/locks").exists(), reason="only Linux tells who locks a file")
Execute = Callable[[str, Iterable[Any]], object]


@contextmanager
def locked_definition(database: Database, name: str) -> Iterator[Execute]:
    """In one transaction, which is committed at the end; what is executed belongs to it."""
    if isinstance(database, SQLiteDatabase):
        with closing(database.connect()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield lambda statement, params: connection.execute(statement, [to_sqlite(value) for value in params])
            connection.execute("COMMIT")
        return
    assert isinstance(database, PostgresDatabase)
    with closing(database.connect()) as session:
        session.execute("BEGIN")
        session.execute("SELECT id FROM job_definitions WHERE name = %s FOR UPDATE", [name])
        yield lambda statement, params: session.execute(translated(statement), list(params))
        session.execute("COMMIT")


def wait_for_lock(database: Database, count: int = 1) -> None:
    """Wait until this many sessions wait for the lock. SQLite does not report that; there the sessions just wait."""
    if isinstance(database, PostgresDatabase):
        database.wait_until(
            "SELECT count(*) >= ? FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock'",
            [count],
            describe="sessions that wait for the lock",
        )


@contextmanager
def open_transaction(
    database: PostgresDatabase, statement: str, run_ids: list[int]
) -> Iterator[psycopg.Connection[Any]]:
    """While the block runs, another transaction has done this to these runs and does not end."""
    with closing(database.connect()) as session:
        session.execute("BEGIN")
        session.execute(statement, [run_ids])
        yield session
        session.execute("ROLLBACK")
