"""The application's own tables. They live in the same database as jobrunner's."""

import os
from datetime import UTC, datetime
from functools import cache
from typing import Any

from sqlalchemy import (
    Column,
    Date,
    DateTime,
    Engine,
    ForeignKey,
    Integer,
    MetaData,
    String,
    Table,
    create_engine,
    event,
    make_url,
)
from sqlalchemy.engine import URL

metadata = MetaData()

users = Table(
    "users",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("email", String(200), nullable=False, unique=True),
    Column("name", String(100), nullable=False),
    Column("since", Date, nullable=False),
)

sessions = Table(
    "sessions",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("user_id", ForeignKey("users.id"), nullable=False),
    Column("expires_at", DateTime, nullable=False, index=True),
)

activity = Table(
    "activity",
    metadata,
    Column("user_id", ForeignKey("users.id"), primary_key=True),
    Column("day", Date, primary_key=True),
    Column("events", Integer, nullable=False),
)

# The guard: one row per report, by its primary key. `run_id` is the run that may send it; with `sent_at` it is sent.
sent_reports = Table(
    "sent_reports",
    metadata,
    Column("user_id", ForeignKey("users.id"), primary_key=True),
    Column("first_day", Date, primary_key=True),
    Column("last_day", Date, primary_key=True),
    Column("message_id", String(200), nullable=False, unique=True),
    Column("run_id", Integer, nullable=False),
    Column("sent_at", DateTime),
)


def url() -> URL:
    """The database that jobrunner uses, as SQLAlchemy wants it: psycopg 3 has to be named."""
    found = make_url(os.environ.get("JOBRUNNER_DATABASE_URL") or os.environ["DATABASE_URL"])
    return found if found.drivername.startswith("sqlite") else found.set(drivername="postgresql+psycopg")


@cache
def engine() -> Engine:
    """The application's engine, one per process."""
    if not url().drivername.startswith("sqlite"):
        return create_engine(url())
    made = create_engine(url(), connect_args={"timeout": 30})

    # SQLAlchemy's own recipe for SQLite: a transaction that reads first and writes later would otherwise fail with
    # "database is locked" at once when another process has written in between.
    @event.listens_for(made, "connect")
    def leave_begin_to_us(connection: Any, _: Any) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA foreign_keys = ON")

    @event.listens_for(made, "begin")
    def begin_as_a_writer(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return made


def utc_now() -> datetime:
    """Now, as the application's columns hold it: UTC without saying so."""
    return datetime.now(UTC).replace(tzinfo=None)
