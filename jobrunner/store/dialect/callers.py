"""The caller's own connection, for a few statements inside the transaction that is open on it.

On a connection of a driver, an ``ExternalConnection``, compiled statements run without SQLAlchemy. That is faster, and
the caller's request waits for the enqueue.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

from sqlalchemy import Connection, Dialect, Select, UpdateBase

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


def connection_of_caller(transaction: Transaction) -> CallersConnection:
    """The connection for the statements. The caller begins and ends its transaction.

    On a connection of a driver, errors are the driver's own. Raises UsageError if no transaction is open on it and the
    driver will not open one (autocommit), and for anything that is not a connection.
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


def fetch(caller: CallersConnection, statement: Statement, parameters: dict[str, Any]) -> Sequence[Any]:
    """Execute a statement and return its rows. Build a statement once, because its compiled form is cached."""
    if isinstance(caller, ExternalConnection):
        return caller.fetch(statement, parameters)
    result = caller.execute(statement, parameters)
    return result.all() if result.returns_rows else ()


def first_row(caller: CallersConnection, statement: Statement, parameters: dict[str, Any]) -> Any:
    """The first row of ``fetch``, or None."""
    rows = fetch(caller, statement, parameters)
    return rows[0] if rows else None


def dialect_name(caller: CallersConnection) -> str:
    """The name of the database's dialect."""
    return caller.dialect.name if isinstance(caller, Connection) else caller.dialect().name


@dataclass(frozen=True, slots=True)
class _Compiled:
    """The text of a statement for the driver, its literals, and the functions that convert values for the driver."""

    text: str
    literals: dict[str, Any]
    processors: tuple[tuple[str, Callable[[Any], Any]], ...]

    def values(self, parameters: dict[str, Any]) -> dict[str, Any]:
        values = self.literals | parameters
        return values | {name: process(values[name]) for name, process in self.processors}


@lru_cache(maxsize=256)
def _compiled(statement: Statement, kind: type[ExternalConnection]) -> _Compiled:
    dialect = kind.dialect()
    compiled = statement.compile(dialect=dialect)
    types = {name: each.type for name, each in compiled.binds.items()}
    processors = {name: each.dialect_impl(dialect).bind_processor(dialect) for name, each in types.items()}
    literals = {name: each.value for name, each in compiled.binds.items() if not each.required}
    return _Compiled(
        str(compiled), literals, tuple((name, each) for name, each in processors.items() if each is not None)
    )


class ExternalConnection(ABC):
    """A connection of a driver. Its owner ends the transaction."""

    driver: ClassVar[str]

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def fetch(self, statement: Statement, parameters: dict[str, Any]) -> Sequence[Any]:
        """See the function ``fetch``."""
        compiled = _compiled(statement, type(self))
        cursor = self.cursor()
        try:
            cursor.execute(compiled.text, compiled.values(parameters))
            return () if cursor.description is None else cursor.fetchall()
        finally:
            cursor.close()

    @staticmethod
    @abstractmethod
    def dialect() -> Dialect:
        """The dialect of this driver, with named parameters."""

    @abstractmethod
    def begins_by_itself(self) -> bool:
        """Whether a transaction is open, or the driver opens one before it writes."""

    @abstractmethod
    def cursor(self) -> Any:
        """A cursor whose rows are tuples, also if the owner has set another kind of rows for the connection."""


class _SqliteConnection(ExternalConnection):
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


class _PsycopgConnection(ExternalConnection):
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


CallersConnection: TypeAlias = Connection | ExternalConnection


def _begun(external: ExternalConnection) -> ExternalConnection:
    if not external.begins_by_itself():
        raise UsageError(
            "no transaction is open on this connection, which is in autocommit mode; enqueue inside one"
            " (transaction.atomic() in Django, connection.transaction() in psycopg, BEGIN in sqlite3)"
        )
    return external


@lru_cache(maxsize=64)
def _kind_of(given: type) -> type[ExternalConnection] | None:
    for kind in (_SqliteConnection, _PsycopgConnection):
        # No import is needed: a caller with such a connection has imported the driver.
        module = sys.modules.get(kind.driver)
        if module is not None and issubclass(given, module.Connection):
            return kind
    return None


def _name_of(given: object) -> str:
    return f"{type(given).__module__}.{type(given).__qualname__}"
