"""An application that is tested with the testing kit: its connections and what its handlers write."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session

from harness import Database, SQLiteDatabase
from harness.connections import sqlalchemy_url

KINDS = ("driver", "engine", "session")


@contextmanager
def opened(kind: str, database: Database) -> Iterator[Any]:
    """A connection of an application on the test's database."""
    if kind == "driver":
        path = database.path if isinstance(database, SQLiteDatabase) else None
        connection: Any = sqlite3.connect(path) if path else psycopg.connect(database.url)
        yield connection
        connection.close()
        return
    engine = create_engine(sqlalchemy_url(database))
    with engine.connect() if kind == "engine" else Session(engine) as given:
        yield given
    engine.dispose()


def write(connection: Any, value: int) -> None:
    statement = f"INSERT INTO written VALUES ({value})"
    connection.execute(text(statement) if hasattr(connection, "begin_nested") else statement)


def written(connection: Any) -> list[int]:
    statement = "SELECT n FROM written ORDER BY n"
    found = connection.execute(text(statement) if hasattr(connection, "begin_nested") else statement)
    return [row[0] for row in found.fetchall()]
