"""The caller's own connection, for a few statements inside the transaction that is open on it.

On one that is not SQLAlchemy's, an ``ExternalConnection``, ``first_row`` runs a statement that was compiled once,
without SQLAlchemy in between: an enqueue is on the path of its caller's request. For everything else
``usable_connection`` gives it to an engine that can make cursors on it and nothing else.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

from sqlalchemy import Connection, Dialect, Engine, NullPool, Select, UpdateBase, create_engine, exc

from jobrunner.errors import UsageError

if TYPE_CHECKING:
    import sqlite3

    import psycopg
    from sqlalchemy.orm import Session, scoped_session


class DjangoConnection(Protocol):
    """``django.db.connection``, or one of ``django.db.connections``."""

    @property
    def connection(self) -> Any:
        """The driver's connection; None before the first use."""

    def ensure_connection(self) -> None:
        """Connect unless that has been done."""


Transaction: TypeAlias = (
    "Connection | Session | scoped_session[Any] | psycopg.Connection[Any] | sqlite3.Connection | DjangoConnection"
)


Statement: TypeAlias = UpdateBase | Select[Any]


def connection_of_caller(transaction: Transaction) -> Connection | ExternalConnection:
    """What to write with, in the transaction of whoever gave it, which is neither begun nor ended here.

    On a connection of a driver, errors are the driver's own. Raises UsageError where no transaction is open on it and
    none will be opened by itself (autocommit), and for anything that is not a connection.
    """
    if isinstance(transaction, Connection):
        return transaction
    given: Any = transaction
    if hasattr(given, "run_sync"):
        raise UsageError(
            f"cannot enqueue through {_name_of(given)} directly; write:"
            " await connection_or_session.run_sync(lambda each: HANDLER.enqueue(each, ...))"
        )
    if hasattr(given, "ensure_connection"):
        given.ensure_connection()
        given = given.connection
    driver: type = type(given)
    if kind := _kind_of(driver):
        return _begun(kind(given))
    if callable(getattr(given, "connection", None)):
        session: Session = given
        return session.connection()
    raise UsageError(
        f"cannot enqueue through {_name_of(given)}; give the connection or session of SQLAlchemy, psycopg, sqlite3 or"
        " Django that your transaction is open on"
    )


def first_row(caller: Connection | ExternalConnection, statement: Statement, parameters: dict[str, Any]) -> Any:
    """Execute a statement and return its first row, or None. Build the statement once: it is compiled once."""
    if isinstance(caller, Connection):
        return caller.execute(statement, parameters).first()
    return caller.first_row(statement, parameters)


def dialect_name(caller: Connection | ExternalConnection) -> str:
    """Which database it is a connection to."""
    return caller.dialect.name if isinstance(caller, Connection) else caller.dialect().name


@contextmanager
def usable_connection(caller: Connection | ExternalConnection) -> Iterator[Connection]:
    """The same as a connection of SQLAlchemy's."""
    if isinstance(caller, Connection):
        yield caller
        return
    token = _current.set(caller)
    try:
        with _engine(caller.url).connect() as connection:
            yield connection
    except exc.DBAPIError as error:
        raise error.orig or error from None
    finally:
        _current.reset(token)


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A statement as its driver takes it, and what makes of its values what the driver takes."""

    text: str
    processors: tuple[tuple[str, Callable[[Any], Any]], ...]

    def values(self, parameters: dict[str, Any]) -> dict[str, Any]:
        if not self.processors:
            return parameters
        return parameters | {name: process(parameters[name]) for name, process in self.processors}


@lru_cache(maxsize=256)
def _compiled(statement: Statement, kind: type[ExternalConnection]) -> _Compiled:
    dialect = kind.dialect()
    compiled = statement.compile(dialect=dialect)
    types = {name: each.type for name, each in compiled.binds.items()}
    processors = {name: each.dialect_impl(dialect).bind_processor(dialect) for name, each in types.items()}
    return _Compiled(str(compiled), tuple((name, each) for name, each in processors.items() if each is not None))


class _OwnersToEnd:
    """All that would end the transaction does nothing."""

    def commit(self) -> None:
        """Is the owner's to do."""

    def rollback(self) -> None:
        """Is the owner's to do."""

    def close(self) -> None:
        """Is the owner's to do."""


class ExternalConnection(_OwnersToEnd, ABC):
    """A driver's connection, and what SQLAlchemy gets in its place."""

    url: ClassVar[str]
    driver: ClassVar[str]

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def first_row(self, statement: Statement, parameters: dict[str, Any]) -> Any:
        """See the function of this name."""
        compiled = _compiled(statement, type(self))
        cursor = self.cursor()
        try:
            return cursor.execute(compiled.text, compiled.values(parameters)).fetchone()
        finally:
            cursor.close()

    @staticmethod
    @abstractmethod
    def dialect() -> Dialect:
        """How statements for this driver are written, with parameters by name."""

    @abstractmethod
    def begins_by_itself(self) -> bool:
        """Whether a transaction is open, or the driver opens one before it writes."""

    @abstractmethod
    def cursor(self) -> Any:
        """A cursor whose rows are tuples, whatever the owner made of those of the connection."""


class _SqliteConnection(ExternalConnection):
    url = "sqlite://"
    driver = "sqlite3"

    @staticmethod
    @cache
    def dialect() -> Dialect:
        from sqlalchemy.dialects.sqlite import dialect

        return dialect(paramstyle="named")

    def begins_by_itself(self) -> bool:
        legacy = -1  # sqlite3.LEGACY_TRANSACTION_CONTROL, from Python 3.12 on
        autocommit = getattr(self.connection, "autocommit", legacy)
        if self.connection.in_transaction:
            return True
        return self.connection.isolation_level is not None if autocommit == legacy else not autocommit

    def cursor(self) -> Any:
        cursor = self.connection.cursor()
        cursor.row_factory = None
        return cursor

    def create_function(self, *_: Any, **__: Any) -> None:
        """SQLAlchemy's own REGEXP would replace the owner's."""


class _PsycopgConnection(ExternalConnection):
    url = "postgresql+psycopg://"
    driver = "psycopg"

    @staticmethod
    @cache
    def dialect() -> Dialect:
        from sqlalchemy.dialects.postgresql.psycopg import dialect

        made: Dialect = dialect()  # type: ignore[no-untyped-call]
        return made

    def begins_by_itself(self) -> bool:
        idle = 0  # psycopg.pq.TransactionStatus.IDLE
        return not self.connection.autocommit or self.connection.info.transaction_status != idle

    def cursor(self) -> Any:
        from psycopg.rows import tuple_row

        return self.connection.cursor(row_factory=tuple_row)

    def add_notice_handler(self, _: Any) -> None:
        """SQLAlchemy would log the notices, and once more after each external."""

    @property
    def info(self) -> Any:
        """Asked for the state of the transaction."""
        return self.connection.info

    @property
    def closed(self) -> bool:
        """Asked after an error."""
        return bool(self.connection.closed)

    @property
    def broken(self) -> bool:
        """Asked after an error."""
        return bool(self.connection.broken)


_current: ContextVar[ExternalConnection] = ContextVar("the connection that is lent")


def _begun(external: ExternalConnection) -> ExternalConnection:
    if not external.begins_by_itself():
        raise UsageError(
            "no transaction is open on this connection, which is in autocommit mode; enqueue inside one"
            " (transaction.atomic() in Django, connection.transaction() in psycopg, BEGIN in sqlite3)"
        )
    return external


@cache
def _engine(url: str) -> Engine:
    # One for all loans, since it keeps the statements that it has compiled; without a pool, it asks for each external.
    options = {} if url.startswith("sqlite") else {"use_native_hstore": False}
    return create_engine(url, creator=_current.get, poolclass=NullPool, hide_parameters=True, **options)


@lru_cache(maxsize=64)
def _kind_of(given: type) -> type[ExternalConnection] | None:
    for kind in (_SqliteConnection, _PsycopgConnection):
        # Not imported here: whoever has such a connection has imported its driver.
        module = sys.modules.get(kind.driver)
        if module is not None and issubclass(given, module.Connection):
            return kind
    return None


def _name_of(given: object) -> str:
    return f"{type(given).__module__}.{type(given).__qualname__}"
