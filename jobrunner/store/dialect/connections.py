"""How a connection is opened, and how its transactions begin: the one place for both."""

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
    """An engine for one thread. ``opened`` hears of each connection before anything is asked on it."""
    engine = _server_engine(location, waits) if location.file is None else _sqlite_engine(location, waits)

    def tell(driver: Any, record: Any) -> None:
        record.info[_WIRE] = wire = (ServerWire if location.file is None else FileWire)(driver, waits)
        opened(wire)

    # The first of all: SQLAlchemy asks the server for its version before it lets anybody see the connection.
    event.listen(engine, "connect", tell, insert=True)
    return engine


def _server_engine(location: Location, waits: Waits) -> Engine:
    engine = create_engine(
        location.url.set(drivername="postgresql+psycopg"),
        poolclass=NullPool,
        json_deserializer=read_json,
        # An error of a statement would repeat the payload.
        hide_parameters=True,
        execution_options={"jobrunner_lock_seconds": waits.lock},
        # Else each connection is asked for that type first, in a transaction without our limits.
        use_native_hstore=False,
        connect_args=raw_driver.connection_options(waits, given=location.url.query),
    )
    # One message, so that the limits cost no round trip. A role or database may default to a stricter level, in which
    # SKIP LOCKED fails instead of skipping. Behind a pooler only the server itself knows its session's number.
    begin_and_limit = f"BEGIN ISOLATION LEVEL READ COMMITTED; {raw_driver.limits(waits)}"
    # The driver reads no other dates.
    text = f"{begin_and_limit}; SET LOCAL datestyle = 'ISO'; SELECT pg_catalog.pg_backend_pid()"

    def begin(connection: Connection) -> None:
        driver: Any = connection.connection.driver_connection
        connection.info[_WIRE].session = int(_at_once(connection, driver, text.encode()))

    event.listen(engine, "begin", begin)
    return engine


def _at_once(connection: Connection, driver: Any, statements: bytes) -> Any:
    """The last value that they answer. By libpq itself: the driver took as long again to read the answers."""
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
        # A deferred transaction that reads and then writes fails at once, whatever the busy timeout.
        writes = connection.get_execution_options().get("jobrunner_writes", True)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    event.listen(engine, "connect", prepare)
    event.listen(engine, "begin", begin)
    return engine


def check_version(connection: Connection) -> None:
    """Raises JobrunnerError where this Python's SQLite knows no STRICT tables."""
    if connection.dialect.name == "sqlite":
        found = connection.dialect.loaded_dbapi.sqlite_version_info
        if found < _OLDEST_SQLITE:
            version, needed = (".".join(map(str, each)) for each in (found, _OLDEST_SQLITE))
            raise JobrunnerError(
                f"this Python has SQLite {version}, and jobrunner needs {needed}; take a Python with a newer one,"
                " or PostgreSQL"
            )


def prepare_file(connection: Connection) -> None:
    """Set what lives in the file itself. Outside a transaction; only ``migrate`` calls it.

    WAL is set once and here: eight processes setting it at a time gave "database is locked".
    """
    if connection.dialect.name == "sqlite":
        _outside(connection, _SQLITE_WAL)


def file_preparation(dialect_name: str) -> str:
    """The same as SQL, to stand before the migrations when a person runs them."""
    return f"{_SQLITE_WAL};\n\n" if dialect_name == "sqlite" else ""


def checkpoint(connection: Connection) -> None:
    """Move what lies in the write-ahead log of a file into the file itself. Outside a transaction."""
    _outside(connection, "PRAGMA wal_checkpoint(TRUNCATE)")


def _outside(connection: Connection, statement: str) -> None:
    driver: Any = connection.connection.driver_connection
    error_type = connection.dialect.loaded_dbapi.Error
    try:
        driver.execute(statement)
    except error_type as error:
        raise exc.DBAPIError.instance(statement, None, error, error_type) from error


def waits_unfairly(engine: Engine) -> bool:
    """Whether a writer can starve while others write: there each write also renews its tick's leases."""
    return engine.dialect.name == "sqlite"


def sever(connection: Connection) -> None:
    """Break the connection from its own thread as a network failure would: what is open is rolled back."""
    driver: Any = connection.connection.driver_connection
    if connection.dialect.name == "sqlite":
        driver.close()
    else:
        raw_driver.shut_down(driver)


def must_commit(connection: Connection) -> None:
    """Raise if a commit would silently save nothing: psycopg commits an aborted transaction without a word."""
    if connection.dialect.name == "postgresql":
        driver: Any = connection.connection.driver_connection
        if driver.pgconn.transaction_status == 3:  # INERROR
            raise RuntimeError("the transaction was aborted by an error that somebody swallowed")
