"""The caller's own connection, for a few statements inside the transaction that is open on it.

On a connection of a driver, an ``ExternalConnection``, compiled statements run without SQLAlchemy. That is faster, and
the caller's request waits for the enqueue.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeAlias

from jobrunner.errors import UsageError
from jobrunner.store.callers.unfit_schema import noting_unfit_schema
from jobrunner.store.drivers.connection import NO_VALUES, DriverExecutor, Executor, Result
from jobrunner.store.sql.plain_cursors import execute_psycopg, has_converters, is_pipelined, plain_texts
from jobrunner.store.sql.statement import Compiled, Statement, Values, core

if TYPE_CHECKING:
    import sqlite3

    import psycopg
    from sqlalchemy import Connection as EngineConnection
    from sqlalchemy.orm import Session, scoped_session


class DjangoConnection(Protocol):
    """``django.db.connection``, or one of ``django.db.connections``."""

    @property
    def connection(self) -> Any:
        """The driver's connection; None before the first use."""

    def ensure_connection(self) -> None:
        """Connect unless that has been done."""


Transaction: TypeAlias = (
    "EngineConnection | Session | scoped_session[Any] | psycopg.Connection[Any] | sqlite3.Connection | DjangoConnection"
)
"""The connection or session of the application, with its open transaction."""


class Purpose(NamedTuple):
    """What a caller wants of its connection, in the words of a refusal, and how it is written with await."""

    verb: str
    awaited: str
    with_await: str


ENQUEUE = Purpose(
    "enqueue",
    "await HANDLER.enqueue_async(...), or in a function that you give to run_sync: HANDLER.enqueue(...)",
    "for connections that are used with await there is enqueue_async",
)
ASK = Purpose(
    "ask",
    "await ask.run_async(...), or in a function that you give to run_sync: ask.run(...)",
    "for connections that are used with await there is run_async, health_async and so on",
)


def unscoped(transaction: object) -> Any:
    """The session of the current task or scope, if it is a scoped one; anything else as it is given.

    A scoped session has no ``run_sync`` of its own.
    """
    library = sys.modules.get("sqlalchemy.ext.asyncio")
    if library is not None and isinstance(transaction, library.async_scoped_session):
        return transaction.registry()
    return transaction


def connection_of_caller(transaction: Transaction, schema: str | None) -> Executor:
    """The connection for the statements. The caller begins and ends its transaction.

    ``schema`` holds our tables if it is a connection to PostgreSQL; None: the server finds them by its search path.
    On a connection of a driver, errors are the driver's own. Raises UsageError if no transaction is open on it and none
    will be opened (autocommit), and for anything that is not a connection.
    """
    return _begun(connection_below(transaction, schema, ENQUEUE))


def connection_below(transaction: Transaction, schema: str | None, purpose: Purpose) -> CallersConnection:
    """The same, whether or not a transaction is open."""
    given: Any = transaction
    # Not imported here, nor below: whoever has such a connection has imported its library.
    if (engine := sys.modules.get("sqlalchemy.engine")) and isinstance(given, engine.Connection):
        return SqlalchemyConnection(given, schema)
    if hasattr(unscoped(given), "run_sync"):
        raise UsageError(f"cannot {purpose.verb} through {name_of(given)} without await; write: {purpose.awaited}")
    if (orm := sys.modules.get("sqlalchemy.orm")) and isinstance(given, orm.Session | orm.scoped_session):
        return SqlalchemyConnection(given.connection(), schema)
    if hasattr(given, "ensure_connection"):
        return _of_django(given, schema)
    if (pool := sys.modules.get("sqlalchemy.pool")) and isinstance(given, pool.PoolProxiedConnection):
        # What Engine.raw_connection() gives.
        given = given.driver_connection
    driver: type = type(given)
    if kind := _kind_of(driver):
        return kind(given, schema)
    raise UsageError(
        f"cannot {purpose.verb} through {name_of(given)}; give the connection or session of SQLAlchemy, psycopg,"
        f" sqlite3 or Django that your transaction is open on; {purpose.with_await}"
    )


def _of_django(given: Any, schema: str | None) -> CallersConnection:
    """The connection below one of Django's, by whose rules it is used: its cursors are not asked."""
    given.ensure_connection()
    if hasattr(given.cursor, "wrapped"):
        # The class of the test does not name this database: Django refuses.
        given.cursor()
    # Raises TransactionManagementError: what is written now would be lost at the end of the block.
    given.validate_no_broken_transaction()
    driver: type = type(given.connection)
    kind = _kind_of(driver)
    if kind is None:
        name = name_of(given.connection)
        raise UsageError(f"jobrunner works on PostgreSQL with psycopg 3 and on SQLite, and this connection is a {name}")
    found = kind(given.connection, schema)
    found.errors = given.wrap_database_errors
    return found


class CallersConnection(Executor):
    """A connection on which the caller begins and ends transactions."""

    @abstractmethod
    def begins_by_itself(self) -> bool:
        """Whether a transaction is open, or will be opened before the first write."""

    @property
    @abstractmethod
    def driver_connection(self) -> Any:
        """The connection of the driver, below the pool and what SQLAlchemy puts around one of an event loop."""


class SqlalchemyConnection(CallersConnection):
    """A connection of SQLAlchemy. Errors are SQLAlchemy's."""

    def __init__(self, connection: EngineConnection, schema: str | None) -> None:
        self.connection = connection
        self.database = connection.dialect.name
        if self.traits.has_schemas:
            self.schema = schema

    def begins_by_itself(self) -> bool:
        self.refuse_pipeline(ENQUEUE)
        if self._driver_begins():
            return True
        if self.connection.in_transaction():
            return False
        # An application may send BEGIN itself when SQLAlchemy begins, as SQLAlchemy's own recipe for SQLite does.
        begun = self.connection.begin()
        if self._driver_begins():
            return True
        begun.rollback()
        return False

    def refuse_pipeline(self, purpose: Purpose) -> None:
        """Raise UsageError in a block of psycopg in which SQLAlchemy sees no answer before its end."""
        if is_pipelined(self.driver_connection):
            raise UsageError(
                "the connection is in psycopg's pipeline mode, where SQLAlchemy gets no answers;"
                f" {purpose.verb} before or after the block of pipeline(), or give the connection of psycopg itself"
            )

    def _driver_begins(self) -> bool:
        driver: Any = self.connection.connection.dbapi_connection
        of_driver: type = type(driver)
        if kind := _kind_of(of_driver):
            return kind(driver, self.schema).begins_by_itself()
        if not self.traits.has_server:
            return driver.isolation_level is not None or bool(driver.driver_connection.in_transaction)
        return not driver.autocommit

    def execute(self, statement: Statement, values: Values = NO_VALUES) -> Result:
        assert not isinstance(statement, str)
        # Without the setting, the caller's own schema_translate_map counts.
        options: Any = {} if self.schema is None else {"schema_translate_map": {None: self.schema}}
        with nullcontext() if self.traits.has_server else plain_texts(self.driver_connection):
            with noting_unfit_schema():
                result = self.connection.execute(core(statement), values, execution_options=options)
            rows: list[Any] = list(result.all()) if result.returns_rows else []
        return Result(rows, result.rowcount)

    @property
    def driver_connection(self) -> Any:
        return self.connection.connection.driver_connection


class ExternalConnection(DriverExecutor, CallersConnection):
    """A connection of a driver. Errors are the driver's own, or what ``errors`` makes of them."""

    of_driver: ClassVar[str]
    """The class of the driver's connections, after its module."""
    errors: AbstractContextManager[Any] | None = None

    def __init__(self, driver: Any, schema: str | None) -> None:
        super().__init__(driver)
        if self.traits.has_schemas:
            self.schema = schema

    @property
    def driver_connection(self) -> Any:
        return self.driver

    def execute(self, statement: Statement, values: Values = NO_VALUES) -> Result:
        with self.errors or nullcontext(), noting_unfit_schema():
            return super().execute(statement, values)


class _SqliteConnection(ExternalConnection):
    database = "sqlite"
    of_driver = "sqlite3.Connection"

    def begins_by_itself(self) -> bool:
        legacy = -1  # sqlite3.LEGACY_TRANSACTION_CONTROL, from Python 3.12 on
        autocommit = getattr(self.driver, "autocommit", legacy)
        if self.driver.in_transaction:
            return True
        return self.driver.isolation_level is not None if autocommit == legacy else not autocommit

    def _send(self, known: Compiled, parameters: Values) -> Any:
        cursor = self.driver.cursor()
        # Tuples, whatever the owner made of the rows of the connection.
        cursor.row_factory = None
        return cursor.execute(known.undeclared if has_converters() else known.text, parameters)

    def _fetch(self, cursor: Any) -> list[tuple[Any, ...]]:
        with plain_texts(self.driver):
            return super()._fetch(cursor)


class _PsycopgConnection(ExternalConnection):
    database = "postgresql"
    of_driver = "psycopg.Connection"

    def begins_by_itself(self) -> bool:
        idle = 0  # psycopg.pq.TransactionStatus.IDLE
        return not self.driver.autocommit or self.driver.info.transaction_status != idle

    def _send(self, known: Compiled, parameters: Values) -> Any:
        return execute_psycopg(self.driver, known.text, parameters)


def _begun(connection: CallersConnection) -> CallersConnection:
    if not connection.begins_by_itself():
        raise UsageError(
            "no transaction is open on this connection, which is in autocommit mode; enqueue inside one"
            " (transaction.atomic() in Django, connection.transaction() in psycopg, BEGIN in sqlite3; in SQLAlchemy"
            " another isolation_level than AUTOCOMMIT)"
        )
    return connection


@lru_cache(maxsize=64)
def _kind_of(given: type) -> type[ExternalConnection] | None:
    kinds: tuple[type[ExternalConnection], ...] = (_SqliteConnection, _PsycopgConnection)
    return next((kind for kind in kinds if is_of(given, kind.of_driver)), None)


def is_of(given: type, *names: str) -> bool:
    """Whether it is one of these classes, each after its module. None is imported: whoever has one has done that."""
    for each in names:
        module, _, name = each.rpartition(".")
        known = getattr(sys.modules.get(module), name, None)
        if known is not None and issubclass(given, known):
            return True
    return False


def name_of(given: object) -> str:
    """The class of an object, for a message."""
    return f"{type(given).__module__}.{type(given).__qualname__}"
