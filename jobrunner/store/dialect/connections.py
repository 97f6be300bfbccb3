"""How a connection is opened, how its transactions begin, and how another thread ends what it waits for."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any, cast

from sqlalchemy import Connection, Engine, NullPool, create_engine, event

from jobrunner.store import bare, handwritten
from jobrunner.store.location import Location

_SQLITE_WAL = "PRAGMA journal_mode = WAL"


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
        connect_args=bare.connection_options(patience.total_seconds(), given=url.query),
    )
    event.listen(engine, "connect", handwritten.read_any_instant)
    event.listen(engine, "begin", _read_iso_dates)
    return engine


def _read_iso_dates(connection: Connection) -> None:
    """The driver reads no other dates, and a role or database may default to others.

    Within each transaction, since behind a pooler the next one is on another server connection. The server has told the
    driver what it will write, so that only who needs it pays for it.
    """
    driver: Any = connection.connection.driver_connection
    if not (driver.pgconn.parameter_status(b"DateStyle") or b"ISO").startswith(b"ISO"):
        connection.exec_driver_sql("SET LOCAL datestyle = 'ISO'")


def _sqlite_engine(location: Location, patience: timedelta) -> Engine:
    assert location.file is not None
    engine = create_engine(
        f"sqlite:///{bare.file_uri(location.file)}&uri=true",
        poolclass=NullPool,
        hide_parameters=True,
        json_deserializer=handwritten.read_json,
        connect_args={"timeout": patience.total_seconds(), "check_same_thread": False},
    )

    def prepare(connection: Any, _: Any) -> None:
        connection.text_factory = handwritten.read_text
        bare.prepare_file_connection(connection)

    def begin(connection: Connection) -> None:
        # A deferred transaction that reads and then writes fails at once, whatever the busy timeout.
        writes = connection.get_execution_options().get("jobrunner_writes", True)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    event.listen(engine, "connect", prepare)
    event.listen(engine, "begin", begin)
    return engine


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


def waits_unfairly(engine: Engine) -> bool:
    """Whether a writer can starve while others write: there each write also renews its tick's leases."""
    return engine.dialect.name == "sqlite"


def connection_cutter(connection: Connection) -> Callable[[], None]:
    """A function that another thread may call to end whatever this connection is waiting for."""
    driver: Any = connection.connection.driver_connection
    if connection.dialect.name == "sqlite":
        return cast(Callable[[], None], driver.interrupt)
    return partial(bare.shut_down, driver)


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
