"""Opens connections and begins their transactions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, Engine, NullPool, create_engine, event, exc

from jobrunner.errors import JobrunnerError
from jobrunner.store import raw_driver
from jobrunner.store.dialect.hung_calls import FileWire, ServerWire, Wire
from jobrunner.store.dialect.values import read_json, read_text
from jobrunner.store.location import Location
from jobrunner.store.waits import Waits

_SQLITE_WAL = "PRAGMA journal_mode = WAL"
_WIRE = "jobrunner_wire"
_OLDEST_SQLITE = (3, 37)


def open_engine(location: Location, *, waits: Waits, opened: Callable[[Wire], None] = lambda _: None) -> Engine:
    """An engine for one thread. ``opened`` is called with each new connection before its first statement."""
    engine = _server_engine(location, waits) if location.file is None else _sqlite_engine(location, waits)

    def register(driver: Any, record: Any) -> None:
        record.info[_WIRE] = wire = (ServerWire if location.file is None else FileWire)(driver, waits)
        opened(wire)

    # The first listener, because SQLAlchemy itself sends statements before it calls the later ones.
    event.listen(engine, "connect", register, insert=True)
    return engine


def _server_engine(location: Location, waits: Waits) -> Engine:
    engine = create_engine(
        location.url.set(drivername="postgresql+psycopg"),
        poolclass=NullPool,
        json_deserializer=read_json,
        # Otherwise the error of a statement would contain the payload.
        hide_parameters=True,
        execution_options={"jobrunner_lock_seconds": waits.lock},
        # Otherwise SQLAlchemy asks each connection for that type, in a transaction without our limits.
        use_native_hstore=False,
        connect_args=raw_driver.connection_options(waits, given=location.url.query),
    )
    # One message, so that the limits cost no round trip. The level is set, because a role or database may have a
    # stricter default, in which SKIP LOCKED fails. Behind a pooler only the server knows the number of its session.
    begin_and_limit = f"BEGIN ISOLATION LEVEL READ COMMITTED; {raw_driver.limits(waits)}"
    # The driver can read only dates in ISO style.
    text = f"{begin_and_limit}; SET LOCAL datestyle = 'ISO'; SELECT pg_catalog.pg_backend_pid()"

    def begin(connection: Connection) -> None:
        driver: Any = connection.connection.driver_connection
        connection.info[_WIRE].session = int(_at_once(connection, driver, text.encode()))

    event.listen(engine, "begin", begin)
    return engine


def _at_once(connection: Connection, driver: Any, statements: bytes) -> Any:
    """The last value of these statements. It calls libpq, because the driver took twice as long."""
    from psycopg import errors, pq

    try:
        answer = driver.pgconn.exec_(statements)
        if answer.status == pq.ExecStatus.TUPLES_OK:
            return answer.get_value(0, 0)
        error = errors.error_from_result(answer)
    except errors.Error as raised:
        error = raised
    is_gone = driver.pgconn.status != pq.ConnStatus.OK
    if is_gone:
        connection.invalidate()
    raise exc.DBAPIError.instance("BEGIN", None, error, errors.Error, connection_invalidated=is_gone) from error


def _sqlite_engine(location: Location, waits: Waits) -> Engine:
    assert location.file is not None
    engine = create_engine(
        f"sqlite:///{raw_driver.file_uri(location.file)}&uri=true",
        poolclass=NullPool,
        hide_parameters=True,
        json_deserializer=read_json,
        connect_args={"timeout": waits.file, "check_same_thread": False},
    )

    def prepare(connection: Any, _: Any) -> None:
        connection.text_factory = read_text
        raw_driver.prepare_file_connection(connection)

    def begin(connection: Connection) -> None:
        # A deferred transaction that reads and then writes may fail at once, in spite of the busy timeout.
        writes = connection.get_execution_options().get("jobrunner_writes", True)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    event.listen(engine, "connect", prepare)
    event.listen(engine, "begin", begin)
    return engine


def check_version(connection: Connection) -> None:
    """Raise JobrunnerError if the SQLite of this Python has no STRICT tables."""
    if connection.dialect.name == "sqlite":
        found = connection.dialect.loaded_dbapi.sqlite_version_info
        if found < _OLDEST_SQLITE:
            version, needed = (".".join(map(str, each)) for each in (found, _OLDEST_SQLITE))
            raise JobrunnerError(
                f"this Python has SQLite {version}, and jobrunner needs {needed}; take a Python with a newer one,"
                " or PostgreSQL"
            )


def prepare_file(connection: Connection) -> None:
    """Set the options that the file itself stores. Call it outside a transaction; only ``migrate`` does.

    WAL is set only here: when eight processes set it at the same time, some got "database is locked".
    """
    if connection.dialect.name == "sqlite":
        _outside(connection, _SQLITE_WAL)


def file_preparation(dialect_name: str) -> str:
    """The same as SQL, for a person to run before the migrations."""
    return f"{_SQLITE_WAL};\n\n" if dialect_name == "sqlite" else ""


def checkpoint(connection: Connection) -> None:
    """Move the content of a file's write-ahead log into the file itself. Call it outside a transaction."""
    _outside(connection, "PRAGMA wal_checkpoint(TRUNCATE)")


def _outside(connection: Connection, statement: str) -> None:
    driver: Any = connection.connection.driver_connection
    error_type = connection.dialect.loaded_dbapi.Error
    try:
        driver.execute(statement)
    except error_type as error:
        raise exc.DBAPIError.instance(statement, None, error, error_type) from error


def waits_unfairly(engine: Engine) -> bool:
    """Whether a writer can starve while others write. If so, each write also renews the leases of its tick."""
    return engine.dialect.name == "sqlite"


def sever(connection: Connection) -> None:
    """Break the connection from its own thread, like a network failure. An open transaction is rolled back."""
    driver: Any = connection.connection.driver_connection
    if connection.dialect.name == "sqlite":
        driver.close()
    else:
        raw_driver.shut_down(driver)


def must_commit(connection: Connection) -> None:
    """Raise if a COMMIT would save nothing: psycopg commits an aborted transaction without an error."""
    if connection.dialect.name == "postgresql":
        driver: Any = connection.connection.driver_connection
        if driver.pgconn.transaction_status == 3:  # INERROR
            raise RuntimeError("the transaction was aborted by an error that was ignored")
