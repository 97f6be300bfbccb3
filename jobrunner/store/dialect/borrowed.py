"""The caller's own connection, for a few statements inside the transaction that is open on it.

One that is not SQLAlchemy's is lent to an engine which can make cursors on it and nothing else.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

from sqlalchemy import Connection, Engine, NullPool, create_engine, exc

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


@contextmanager
def connection_of(transaction: Transaction) -> Iterator[Connection]:
    """What to write with, in the transaction of whoever gave it, which is neither begun nor ended here.

    On a connection of a driver, errors are the driver's own. Raises UsageError where no transaction is open on it and
    none will be opened by itself (autocommit), and for anything that is not a connection.
    """
    if isinstance(transaction, Connection):
        yield transaction
        return
    given: Any = transaction
    if hasattr(given, "run_sync"):
        raise UsageError(
            f"cannot enqueue through {_kind(given)} directly; write:"
            " await connection_or_session.run_sync(lambda each: HANDLER.enqueue(each, ...))"
        )
    if loan := _loan(given):
        with _lent(loan) as connection:
            yield connection
    elif callable(getattr(given, "connection", None)):
        yield given.connection()
    else:
        raise UsageError(
            f"cannot enqueue through {_kind(given)}; give the connection or session of SQLAlchemy, psycopg, sqlite3 or"
            " Django that your transaction is open on"
        )


class _OwnersToEnd:
    """All that would end the transaction does nothing."""

    def commit(self) -> None:
        """Is the owner's to do."""

    def rollback(self) -> None:
        """Is the owner's to do."""

    def close(self) -> None:
        """Is the owner's to do."""


class _Loan(_OwnersToEnd, ABC):
    """What SQLAlchemy gets in place of a driver's connection."""

    url: ClassVar[str]
    driver: ClassVar[str]

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    @abstractmethod
    def begins_by_itself(self) -> bool:
        """Whether a transaction is open, or the driver opens one before it writes."""

    @abstractmethod
    def cursor(self) -> Any:
        """A cursor whose rows are tuples, whatever the owner made of those of the connection."""


class _SqliteLoan(_Loan):
    url = "sqlite://"
    driver = "sqlite3"

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


class _PsycopgLoan(_Loan):
    url = "postgresql+psycopg://"
    driver = "psycopg"

    def begins_by_itself(self) -> bool:
        idle = 0  # psycopg.pq.TransactionStatus.IDLE
        return not self.connection.autocommit or self.connection.info.transaction_status != idle

    def cursor(self) -> Any:
        from psycopg.rows import tuple_row

        return self.connection.cursor(row_factory=tuple_row)

    def add_notice_handler(self, _: Any) -> None:
        """SQLAlchemy would log the notices, and once more after each loan."""

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


_current: ContextVar[_Loan] = ContextVar("the connection that is lent")


@contextmanager
def _lent(loan: _Loan) -> Iterator[Connection]:
    if not loan.begins_by_itself():
        raise UsageError(
            "no transaction is open on this connection, which is in autocommit mode; enqueue inside one"
            " (transaction.atomic() in Django, connection.transaction() in psycopg, BEGIN in sqlite3)"
        )
    token = _current.set(loan)
    try:
        with _engine(loan.url).connect() as connection:
            yield connection
    except exc.DBAPIError as error:
        raise error.orig or error from None
    finally:
        _current.reset(token)


@cache
def _engine(url: str) -> Engine:
    # One for all loans, since it keeps the statements that it has compiled; without a pool, it asks for each loan.
    options = {} if url.startswith("sqlite") else {"use_native_hstore": False}
    return create_engine(url, creator=_current.get, poolclass=NullPool, hide_parameters=True, **options)


def _loan(given: Any) -> _Loan | None:
    if hasattr(given, "ensure_connection"):
        given.ensure_connection()
        given = given.connection
    for kind in (_SqliteLoan, _PsycopgLoan):
        # Not imported here: whoever has such a connection has imported its driver.
        module = sys.modules.get(kind.driver)
        if module is not None and isinstance(given, module.Connection):
            return kind(given)
    return None


def _kind(given: object) -> str:
    return f"{type(given).__module__}.{type(given).__qualname__}"
