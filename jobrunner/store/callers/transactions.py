"""Transactions that a handler writes in, and that jobrunner begins and commits: on a connection of the handler's own.

``begin`` opens one on what the caller has: an engine, connection or session of SQLAlchemy, a connection of a driver, or
Django's. Their libraries are not imported here: whoever has such an object has imported its library. All is written
with await. A connection without await returns what is awaited elsewhere at once, so that ``at_once`` gets to the end.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from inspect import isawaitable
from typing import Any, TypeVar

from jobrunner.errors import UsageError
from jobrunner.store.callers.borrowed import connection_of_caller, is_of, name_of, unscoped
from jobrunner.store.callers.borrowed_async import autocommit_of_file, follow_on
from jobrunner.store.drivers.commits import CommitWarnings
from jobrunner.store.drivers.raw import raw_driver
from jobrunner.store.drivers.steps import Steps, follow
from jobrunner.store.sql.traits import TRAITS

T = TypeVar("T")


class OwnTransaction:
    """An open transaction. ``handle`` is what the handler writes with; ``schema`` is that of our tables."""

    driver: Any
    """The connection of the driver."""
    is_ours = False
    """Whether nobody else would end what ``begin`` has begun."""

    def __init__(self, handle: Any, schema: str | None, *, is_awaited: bool) -> None:
        self.handle = handle
        self._schema = schema
        self._is_awaited = is_awaited

    async def begin(self) -> None:
        """Begin it. Raises UsageError for what cannot have a transaction."""
        try:
            await self._open()
            # Refuses a connection in autocommit mode.
            self._database = await self._follow(_name)
        except BaseException:
            if self.is_ours:
                await self.rollback()
            raise

    async def _open(self) -> None:
        self.driver = self.handle

    async def follow(self, work: Callable[[str], Steps[T]]) -> T:
        """Execute our last statements, after what the handler has not sent yet."""
        return await self._follow(work)

    async def _follow(self, work: Callable[[str], Steps[T]]) -> T:
        if self._is_awaited:
            return await follow_on(self.handle, self._schema, work)
        caller = connection_of_caller(self.handle, self._schema)
        return follow(caller, work(caller.database))

    def holds_only_lock(self) -> bool:
        """Whether nobody else can write to the database while the transaction is open."""
        return TRAITS[self._database].has_one_writer

    async def interrupt(self) -> None:
        """End the current statement on SQLite, and wait until its thread has come back from it, if it has its own."""
        interruption = self.driver.interrupt()
        if interruption is not None:
            await interruption
            await (await self.driver.cursor()).close()

    def sever(self) -> None:
        """Break the connection, like a network failure, for a failpoint."""
        if hasattr(self.driver, "pgconn"):
            raw_driver.shut_down(self.driver)
        elif hasattr(self.driver, "terminate"):
            self.driver.terminate()
        elif self._is_awaited:
            # In its thread, which goes on: whoever closes the connection later waits for it.
            self.driver._tx.put_nowait((None, self.driver._conn.close))  # noqa: SLF001
        else:
            self.driver.close()

    async def commit(self) -> bool:
        """Commit. Returns whether that is an answer: see ``drivers.commits``. Raises the errors of the library."""
        if self.holds_only_lock():
            await self._commit()
            return True
        warnings = CommitWarnings(self.driver)
        try:
            await self._commit()
        finally:
            warnings.close()
        return warnings.is_acknowledged()

    async def rollback(self) -> None:
        """Roll back, as far as the connection can still be used."""
        with suppress(Exception):
            await self._rollback()

    async def _commit(self) -> None:
        await _done(self.handle.commit())

    async def _rollback(self) -> None:
        await _done(self.handle.rollback())


async def begin(given: Any, schema: str | None, *, is_awaited: bool) -> OwnTransaction:
    """Begin a transaction on what a handler has given. Raises UsageError for what cannot have one."""
    handle = unscoped(given)
    kinds = _AWAITED if is_awaited else _PLAIN
    kind = next((kind for kind, names in kinds.items() if is_of(type(handle), *names)), None)
    if kind is None and not is_awaited and hasattr(handle, "ensure_connection"):
        kind = _OnDjango
    if kind is None:
        raise UsageError(
            f"async with ctx.transaction cannot use {name_of(given)}; give an AsyncEngine, AsyncConnection or"
            " AsyncSession of SQLAlchemy, or a connection of psycopg, asyncpg or aiosqlite for await; `with` takes the"
            " others"
            if is_awaited
            else f"ctx.transaction cannot use {name_of(given)}; give an engine, connection or session of SQLAlchemy, a"
            " connection of psycopg or sqlite3, or Django's; `async with` takes those for await"
        )
    own = kind(handle, schema, is_awaited=is_awaited)
    await own.begin()
    return own


class _OnConnection(OwnTransaction):
    """A connection of SQLAlchemy."""

    async def _open(self) -> None:
        if not self.handle.in_transaction():
            await _done(self.handle.begin())
        await self._look_at(self.handle)

    async def _look_at(self, connection: Any) -> None:
        lent = await connection.get_raw_connection() if self._is_awaited else connection.connection
        self.driver = lent.driver_connection


class _OnEngine(_OnConnection):
    """A connection that is taken from an engine, and given back."""

    is_ours = True

    def __init__(self, engine: Any, schema: str | None, *, is_awaited: bool) -> None:
        super().__init__(engine.connect(), schema, is_awaited=is_awaited)

    async def _open(self) -> None:
        await _done(self.handle)
        await super()._open()

    async def _commit(self) -> None:
        try:
            await super()._commit()
        finally:
            await self.rollback()

    async def rollback(self) -> None:
        await super().rollback()
        with suppress(Exception):
            await _done(self.handle.close())


class _OnSession(_OnConnection):
    """A session of SQLAlchemy."""

    async def _open(self) -> None:
        await self._look_at(await _done(self.handle.connection()))

    async def follow(self, work: Callable[[str], Steps[T]]) -> T:
        await _done(self.handle.flush())
        # The handler may have ended a transaction of the session, and the next one is on another connection.
        await self._open()
        return await super().follow(work)


class _OnPsycopg(OwnTransaction):
    """A connection of psycopg."""

    async def _open(self) -> None:
        await super()._open()
        if self.handle.autocommit and not self.handle.info.transaction_status:
            await _done(self.handle.execute("BEGIN"))


class _OnAsyncpg(OwnTransaction):
    """A connection of asyncpg."""

    async def _open(self) -> None:
        await super()._open()
        if self.handle.is_in_transaction():
            # Ours would be a savepoint of it, and its COMMIT none.
            raise UsageError("a transaction is open on this connection of asyncpg; give a connection without one")
        self._transaction = self.handle.transaction()
        await self._transaction.start()

    async def _commit(self) -> None:
        await self._transaction.commit()

    async def _rollback(self) -> None:
        await self._transaction.rollback()


class _OnSqlite(OwnTransaction):
    """A connection of sqlite3 or aiosqlite."""

    async def _open(self) -> None:
        await super()._open()
        if not self.handle.in_transaction:
            # Not deferred: such a transaction may fail at its first write, whatever the busy timeout is.
            await _done(self.handle.execute("BEGIN IMMEDIATE"))

    async def _commit(self) -> None:
        await self._end("COMMIT", self.handle.commit)

    async def _rollback(self) -> None:
        await self._end("ROLLBACK", self.handle.rollback)

    async def _end(self, words: str, method: Callable[[], Any]) -> None:
        handle = self.handle
        mode = await autocommit_of_file(handle) if self._is_awaited else getattr(handle, "autocommit", None)
        # In the autocommit mode of Python 3.12 the methods do nothing.
        await _done(handle.execute(words) if mode is True else method())


class _OnDjango(OwnTransaction):
    """A connection of Django, in an ``atomic`` block that must be the outermost one."""

    is_ours = True

    async def _open(self) -> None:
        from importlib import import_module

        self._atomic = import_module("django.db.transaction").atomic(using=self.handle.alias, durable=True)
        self._atomic.__enter__()
        self._is_open = True
        self.driver = self.handle.connection

    async def _commit(self) -> None:
        self._is_open = False
        self._atomic.__exit__(None, None, None)

    async def _rollback(self) -> None:
        if self._is_open:
            self._is_open = False
            self._atomic.__exit__(RuntimeError, RuntimeError("rolled back"), None)


async def _done(value: Awaitable[T] | T) -> T:
    return await value if isawaitable(value) else value


def _name(database: str) -> Steps[str]:
    """No steps: the name of the database."""
    yield from ()
    return database


_PLAIN: dict[type[OwnTransaction], tuple[str, ...]] = {
    _OnEngine: ("sqlalchemy.engine.Engine",),
    _OnConnection: ("sqlalchemy.engine.Connection",),
    _OnSession: ("sqlalchemy.orm.Session", "sqlalchemy.orm.scoped_session"),
    _OnSqlite: ("sqlite3.Connection",),
    _OnPsycopg: ("psycopg.Connection",),
}
_AWAITED: dict[type[OwnTransaction], tuple[str, ...]] = {
    _OnEngine: ("sqlalchemy.ext.asyncio.AsyncEngine",),
    _OnConnection: ("sqlalchemy.ext.asyncio.AsyncConnection",),
    _OnSession: ("sqlalchemy.ext.asyncio.AsyncSession",),
    _OnPsycopg: ("psycopg.AsyncConnection",),
    # A pool lends the second one.
    _OnAsyncpg: ("asyncpg.Connection", "asyncpg.pool.PoolConnectionProxy"),
    _OnSqlite: ("aiosqlite.Connection",),
}
