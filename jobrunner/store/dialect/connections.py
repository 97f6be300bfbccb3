"""How a connection is opened, how its transactions begin, and how another thread ends what it waits for."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from datetime import timedelta
from typing import Any, cast

from sqlalchemy import Connection, Engine, NullPool, create_engine, event

from jobrunner.store import handwritten
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
