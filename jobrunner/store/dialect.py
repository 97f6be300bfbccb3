"""The only file that names a database. Everything else is written once, for both.

What differs: how an instant is stored and read from the clock, how a transaction begins, how a hung
call is cut, what an error means, and how the places of one host are counted by one tick at a time.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from sqlalchemy import (
    JSON,
    BigInteger,
    ColumnElement,
    Connection,
    Dialect,
    Engine,
    Float,
    Integer,
    NullPool,
    Select,
    Table,
    create_engine,
    event,
    literal,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB, TIMESTAMP
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator, TypeEngine

from jobrunner.store import handwritten
from jobrunner.store.location import Location

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

# julianday() is a double whose last bits are worth some 40 microseconds: milliseconds are what it holds.
_SQLITE_NOW = (
    "(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000"
    " + (SELECT clock_offset FROM job_state))"
)
_POSTGRESQL_NOW = "jobrunner_now()"
_SQLITE_WAL = "PRAGMA journal_mode = WAL"

# STABLE and free of SET clauses, so that the planner inlines it and an index condition stays one:
# clock_timestamp() would be a filter. Tests move the setting and nothing else.
_POSTGRESQL_CLOCK = """
CREATE FUNCTION jobrunner_now() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT statement_timestamp() + coalesce(nullif(current_setting('jobrunner.clock_offset', true), ''), '0')::interval
$$
"""


class UtcTime(TypeDecorator[datetime]):
    """An aware UTC datetime: timestamptz, or on SQLite whole microseconds since 1970 (text dates sort wrong)."""

    impl = TIMESTAMP(timezone=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """The column type of this database."""
        return dialect.type_descriptor(BigInteger() if dialect.name == "sqlite" else TIMESTAMP(timezone=True))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """Refuses a naive datetime: guessing its zone would move the instant."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a naive datetime has no instant; give it a time zone")
        return (value - _EPOCH) // _MICROSECOND if dialect.name == "sqlite" else value

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """Always aware, always UTC."""
        if value is None:
            return None
        try:
            if dialect.name == "sqlite":
                return _EPOCH + timedelta(microseconds=value)
            return cast(datetime, value).astimezone(UTC)
        except (OverflowError, TypeError):
            return handwritten.nearest_instant(is_past=isinstance(value, int | float) and value < 0)


# Keys that only ever grow: SQLite's rowid alias must be plain INTEGER, which is 64 bits wide there.
BigKey = BigInteger().with_variant(Integer(), "sqlite")
JsonObject = JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")


class now(FunctionElement[datetime]):  # noqa: N801 - reads as the SQL function that it is
    """The one clock of all SQL: the start of the statement by the database's clock."""

    type = UtcTime()
    inherit_cache = True


class later(FunctionElement[datetime]):  # noqa: N801 - reads as the SQL function that it is
    """``now`` plus a number of seconds: ``later(bindparam("lease_seconds", type_=Float))``."""

    type = UtcTime()
    inherit_cache = True


@compiles(now)
def _now_postgresql(element: now, compiler: Any, **_: Any) -> str:
    return _POSTGRESQL_NOW


@compiles(now, "sqlite")
def _now_sqlite(element: now, compiler: Any, **_: Any) -> str:
    return _SQLITE_NOW


@compiles(later)
def _later_postgresql(element: later, compiler: Any, **keywords: Any) -> str:
    return f"({_POSTGRESQL_NOW} + make_interval(secs => {compiler.process(element.clauses, **keywords)}))"


@compiles(later, "sqlite")
def _later_sqlite(element: later, compiler: Any, **keywords: Any) -> str:
    return f"({_SQLITE_NOW} + CAST({compiler.process(element.clauses, **keywords)} * 1000000 AS INTEGER))"


Seconds = Float(53)


def ddl_words(dialect_name: str) -> dict[str, str]:
    """The words by which a migration's SQL text differs: types, the clock, room for HOT updates."""
    if dialect_name == "sqlite":
        return {
            # AUTOINCREMENT: without it the id of a deleted top row is used again.
            "identity": "INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT",
            "key": "INTEGER",
            "time": "BIGINT",
            "json": "JSON",
            "seconds": "FLOAT",
            "now": _SQLITE_NOW,
            "ten_minutes": "600000000",
            "one_second": "1000000",
            "room_for_hot_updates": "",
        }
    return {
        "identity": "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
        "key": "BIGINT",
        "time": "TIMESTAMPTZ",
        "json": "JSONB",
        "seconds": "DOUBLE PRECISION",
        "now": _POSTGRESQL_NOW,
        "ten_minutes": "interval '10 minutes'",
        "one_second": "interval '1 second'",
        "room_for_hot_updates": " WITH (fillfactor = 80)",
    }


def clock_statements(dialect_name: str) -> list[str]:
    """What a migration must run to create the clock before the first view uses it."""
    return [] if dialect_name == "sqlite" else [_POSTGRESQL_CLOCK]


def clock_removal(dialect_name: str) -> list[str]:
    """The inverse of ``clock_statements``."""
    return [] if dialect_name == "sqlite" else ["DROP FUNCTION IF EXISTS jobrunner_now()"]


def open_engine(location: Location, *, patience: timedelta) -> Engine:
    """An engine for one thread. ``patience`` bounds connecting and, on SQLite, each wait for the file's lock."""
    if location.file is not None:
        return _sqlite_engine(location, patience)
    url = location.url.set(drivername="postgresql+psycopg")
    engine = create_engine(
        url,
        poolclass=NullPool,
        json_deserializer=handwritten.read_json,
        # An error of a statement would repeat the payload.
        hide_parameters=True,
        # A role or database may default to a stricter level, in which SKIP LOCKED fails instead of skipping.
        isolation_level="READ COMMITTED",
        connect_args={
            "connect_timeout": max(2, min(5, round(patience.total_seconds()))),
            # Behind a transaction pooler a prepared statement is on another server connection the next time.
            "prepare_threshold": None,
            "application_name": "jobrunner",
            **({} if "keepalives_idle" in url.query else {"keepalives_idle": 15, "keepalives_interval": 5}),
        },
    )
    event.listen(engine, "connect", handwritten.read_any_instant)
    return engine


def _sqlite_engine(location: Location, patience: timedelta) -> Engine:
    assert location.file is not None
    # mode=rw: a file that is not there is an error here, never silently created empty.
    uri = f"file:{_quoted(str(location.file))}?mode=rw&uri=true"
    engine = create_engine(
        f"sqlite:///{uri}",
        poolclass=NullPool,
        hide_parameters=True,
        json_deserializer=handwritten.read_json,
        connect_args={"timeout": patience.total_seconds(), "check_same_thread": False},
    )

    def prepare(connection: Any, _: Any) -> None:
        connection.isolation_level = None
        connection.text_factory = handwritten.read_text
        connection.execute("PRAGMA foreign_keys = ON")
        # NORMAL may lose the last commits at a power cut: a finished run would run again.
        connection.execute("PRAGMA synchronous = FULL")

    def begin(connection: Connection) -> None:
        # A deferred transaction that reads and then writes fails at once, whatever the busy timeout.
        writes = connection.get_execution_options().get("jobrunner_writes", True)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    event.listen(engine, "connect", prepare)
    event.listen(engine, "begin", begin)
    return engine


def _quoted(path: str) -> str:
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def prepare_file(connection: Connection) -> None:
    """Set what lives in the file itself. Outside a transaction; only ``migrate`` calls it.

    WAL is set once and here: eight processes setting it at a time gave "database is locked".
    """
    if connection.dialect.name == "sqlite":
        driver = connection.connection.driver_connection
        assert driver is not None
        driver.execute(_SQLITE_WAL)


def file_preparation(dialect_name: str) -> str:
    """The same as SQL, to stand before the migrations when a person runs them."""
    return f"{_SQLITE_WAL};\n\n" if dialect_name == "sqlite" else ""


def checkpoint(connection: Connection) -> None:
    """Move what lies in the write-ahead log of a file into the file itself. Outside a transaction."""
    driver = connection.connection.driver_connection
    assert driver is not None
    driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def lock_migrations(connection: Connection) -> None:
    """One migrator at a time. Expects a write transaction, which on SQLite is the lock already."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(7206148301)"))


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
    statement = _insert(connection, table)
    if unless is None:
        statement = statement.values(**values)
    else:
        statement = statement.from_select(list(values), row_unless(table, values, unless))
    return connection.execute(statement.on_conflict_do_nothing().returning(key)).one_or_none() is not None


def insert_or_update(connection: Connection, table: Table, key: dict[str, Any], values: dict[str, Any]) -> None:
    """Insert a row, or give the one of this primary key these values."""
    statement = _insert(connection, table).values(**key, **values)
    connection.execute(statement.on_conflict_do_update(index_elements=list(key), set_=values))


def _insert(connection: Connection, table: Table) -> Any:
    return (sqlite_insert if connection.dialect.name == "sqlite" else postgresql_insert)(table)


def row_unless(table: Table, values: dict[str, Any], unless: ColumnElement[bool]) -> Select[Any]:
    """One row of these values, or none: for an INSERT that asks and writes in one statement."""
    # Typed: a bare parameter in a SELECT is of no type to PostgreSQL.
    typed = (
        value if isinstance(value, ColumnElement) else literal(value, table.c[name].type)
        for name, value in values.items()
    )
    return select(*typed).where(~unless)


def waits_unfairly(engine: Engine) -> bool:
    """Whether a writer can starve while others write: there each write also renews its tick's leases."""
    return engine.dialect.name == "sqlite"


def connection_cutter(connection: Connection) -> Callable[[], None]:
    """A function that another thread may call to end whatever this connection is waiting for.

    On PostgreSQL the socket is shut down: a COMMIT to a stopped server ignores every timeout that can
    be set beforehand.
    """
    driver: Any = connection.connection.driver_connection
    if connection.dialect.name == "sqlite":
        return cast(Callable[[], None], driver.interrupt)

    def shut_down() -> None:
        try:
            # A duplicate, since the descriptor's number may be closed and used again at this moment.
            with socket.socket(fileno=os.dup(driver.pgconn.socket)) as connected:
                connected.shutdown(socket.SHUT_RDWR)
        except Exception:  # noqa: BLE001 - already closed, which is what was wanted
            return

    return shut_down


def sever(connection: Connection) -> None:
    """Break the connection from its own thread as a network failure would: what is open is rolled back."""
    driver: Any = connection.connection.driver_connection
    if connection.dialect.name == "sqlite":
        driver.close()
    else:
        connection_cutter(connection)()


def must_commit(connection: Connection) -> None:
    """Raise if a commit would silently save nothing: psycopg commits an aborted transaction without a word."""
    if connection.dialect.name == "postgresql":
        driver: Any = connection.connection.driver_connection
        if driver.pgconn.transaction_status == 3:  # INERROR
            raise RuntimeError("the transaction was aborted by an error that somebody swallowed")
