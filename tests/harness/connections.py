"""The fixtures `connection` and `engine`: what an application enqueues through, of its driver and of SQLAlchemy."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest
from sqlalchemy import Engine, create_engine

from harness.database import Database, SQLiteDatabase


def opened(database: Database) -> Any:
    if isinstance(database, SQLiteDatabase):
        return sqlite3.connect(database.path, timeout=30)
    return psycopg.connect(database.url)


@pytest.fixture
def connection(database: Database) -> Iterator[Any]:
    with closing(opened(database)) as connection:
        yield connection


@pytest.fixture
def engine(database: Database) -> Iterator[Engine]:
    made = create_engine(sqlalchemy_url(database))
    yield made
    made.dispose()


def sqlalchemy_url(database: Database) -> str:
    return database.url.replace("postgresql:", "postgresql+psycopg:")
