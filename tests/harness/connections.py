"""The fixture `connection`: what an application enqueues through, a connection of its driver."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from harness.database import Database, SQLiteDatabase


def opened(database: Database) -> Any:
    if isinstance(database, SQLiteDatabase):
        return sqlite3.connect(database.path, timeout=30)
    return psycopg.connect(database.url)


@pytest.fixture
def connection(database: Database) -> Iterator[Any]:
    with closing(opened(database)) as connection:
        yield connection
