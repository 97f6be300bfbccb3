"""Transactions that a handler writes in, and that jobrunner begins and commits: on a connection of the handler's own.

``begin`` opens one on what the caller has: an engine, connection or session of SQLAlchemy, a connection of psycopg or
sqlite3, or Django's. Their libraries are not imported here: whoever has such an object has imported its library.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from jobrunner.errors import UsageError
from jobrunner.store.callers.borrowed import connection_of_caller
from jobrunner.store.drivers.commits import CommitWarnings
from jobrunner.store.drivers.connection import Executor
from jobrunner.store.drivers.raw import raw_driver


class OwnTransaction(ABC):
    """An open transaction. ``handle`` is what the handler writes with; ``schema`` is that of our tables."""

    def __init__(self, handle: Any, schema: str | None) -> None:
        self.handle = handle
        self._schema = schema

    def executor(self) -> Executor:
        """The connection for our last statement, after what the handler has not sent yet."""
        return connection_of_caller(self.handle, self._schema)

    def holds_only_lock(self) -> bool:
        """Whether nobody else can write to the database while the transaction is open."""
        return self.executor().traits.has_one_writer

    def interrupt(self) -> None:
        """End the current statement on SQLite. Any thread may call this."""
        self.driver().interrupt()

    def sever(self) -> None:
        """Break the connection, like a network failure, for a failpoint."""
        driver = self.driver()
        if hasattr(driver, "pgconn"):
            raw_driver.shut_down(driver)
        else:
            driver.close()

    def commit(self) -> bool:
        """Commit. Returns whether that is an answer: see ``drivers.commits``. Raises the errors of the library."""
        if self.holds_only_lock():
            self._commit()
            return True
        warnings = CommitWarnings(self.driver())
        try:
            self._commit()
        finally:
            warnings.close()
        return warnings.is_acknowledged()

    @abstractmethod
    def _commit(self) -> None: ...

    @abstractmethod
    def rollback(self) -> None:
        """Roll back, as far as the connection can still be used."""

    def driver(self) -> Any:
        """The connection of the driver."""
        return self.handle.connection.dbapi_connection


def begin(given: Any, schema: str | None) -> OwnTransaction:
    """Begin a transaction on what a handler has given. Raises UsageError for what cannot have one."""
    engine = sys.modules.get("sqlalchemy.engine")
    if engine is not None and isinstance(given, engine.Engine):
        return _OnEngine(given, schema)
    if engine is not None and isinstance(given, engine.Connection):
        return _OnConnection(given, schema)
    if hasattr(given, "ensure_connection"):
        return _OnDjango(given, schema)
    if callable(getattr(given, "connection", None)) and callable(getattr(given, "flush", None)):
        return _OnSession(given, schema)
    for name, kind in (("sqlite3", _OnSqlite), ("psycopg", _OnServer)):
        driver = sys.modules.get(name)
        if driver is not None and isinstance(given, driver.Connection):
            return kind(given, schema)
    raise UsageError(
        f"ctx.transaction cannot use {type(given).__module__}.{type(given).__qualname__}; give an engine, connection or"
        " session of SQLAlchemy, a connection of psycopg or sqlite3, or Django's; `async with` takes those for await"
    )


class _OnConnection(OwnTransaction):
    """A connection of SQLAlchemy."""

    def __init__(self, connection: Any, schema: str | None) -> None:
        super().__init__(connection, schema)
        if not connection.in_transaction():
            connection.begin()
        self.executor()

    def _commit(self) -> None:
        self.handle.commit()

    def rollback(self) -> None:
        with suppress(Exception):
            self.handle.rollback()


class _OnEngine(_OnConnection):
    """A connection that is taken from an engine, and given back."""

    def __init__(self, engine: Any, schema: str | None) -> None:
        connection = engine.connect()
        try:
            super().__init__(connection, schema)
        except BaseException:
            connection.close()
            raise

    def _commit(self) -> None:
        try:
            super()._commit()
        finally:
            self.rollback()

    def rollback(self) -> None:
        super().rollback()
        with suppress(Exception):
            self.handle.close()


class _OnSession(OwnTransaction):
    """A session of SQLAlchemy."""

    def __init__(self, session: Any, schema: str | None) -> None:
        super().__init__(session, schema)
        super().executor()

    def executor(self) -> Executor:
        self.handle.flush()
        return super().executor()

    def driver(self) -> Any:
        return self.handle.connection().connection.dbapi_connection

    def _commit(self) -> None:
        self.handle.commit()

    def rollback(self) -> None:
        with suppress(Exception):
            self.handle.rollback()


class _OnServer(OwnTransaction):
    """A connection of psycopg."""

    def __init__(self, connection: Any, schema: str | None) -> None:
        super().__init__(connection, schema)
        if connection.autocommit and not connection.info.transaction_status:
            connection.execute("BEGIN")
        self.executor()

    def _commit(self) -> None:
        self.handle.commit()

    def rollback(self) -> None:
        with suppress(Exception):
            self.handle.rollback()

    def driver(self) -> Any:
        return self.handle


class _OnSqlite(OwnTransaction):
    """A connection of sqlite3."""

    def __init__(self, connection: Any, schema: str | None) -> None:
        super().__init__(connection, schema)
        if not connection.in_transaction:
            # Not deferred: such a transaction may fail at its first write, whatever the busy timeout is.
            connection.execute("BEGIN IMMEDIATE")

    def _commit(self) -> None:
        self._end("COMMIT", self.handle.commit)

    def rollback(self) -> None:
        with suppress(Exception):
            self._end("ROLLBACK", self.handle.rollback)

    def _end(self, words: str, method: Callable[[], None]) -> None:
        # In the autocommit mode of Python 3.12 the methods do nothing.
        if getattr(self.handle, "autocommit", None) is True:
            self.handle.execute(words)
        else:
            method()

    def driver(self) -> Any:
        return self.handle


class _OnDjango(OwnTransaction):
    """A connection of Django, in an ``atomic`` block that must be the outermost one."""

    def __init__(self, connection: Any, schema: str | None) -> None:
        from importlib import import_module

        super().__init__(connection, schema)
        self._atomic = import_module("django.db.transaction").atomic(using=connection.alias, durable=True)
        self._atomic.__enter__()
        self._is_open = True

    def driver(self) -> Any:
        return self.handle.connection

    def _commit(self) -> None:
        self._is_open = False
        self._atomic.__exit__(None, None, None)

    def rollback(self) -> None:
        if self._is_open:
            self._is_open = False
            error = RuntimeError("rolled back")
            with suppress(Exception):
                self._atomic.__exit__(RuntimeError, error, None)
