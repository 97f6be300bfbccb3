"""As ``transactions``, on a connection of an event loop: of SQLAlchemy's asyncio, psycopg, asyncpg or aiosqlite."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from jobrunner.errors import UsageError
from jobrunner.store.callers.borrowed import name_of, unscoped
from jobrunner.store.callers.borrowed_async import autocommit_of_file, follow_on
from jobrunner.store.drivers.commits import CommitWarnings
from jobrunner.store.drivers.raw import raw_driver
from jobrunner.store.drivers.steps import Steps
from jobrunner.store.sql.traits import TRAITS

T = TypeVar("T")


class AsyncOwnTransaction(ABC):
    """An open transaction. ``handle`` is what the handler writes with; ``schema`` is that of our tables."""

    database: str
    driver: Any
    """The connection of the driver."""

    def __init__(self, handle: Any, schema: str | None) -> None:
        self.handle = handle
        self.schema = schema

    async def follow(self, work: Callable[[str], Steps[T]]) -> T:
        """Execute our last statements, after what the handler has not sent yet."""
        return await follow_on(self.handle, self.schema, work)

    def holds_only_lock(self) -> bool:
        """Whether nobody else can write to the database while the transaction is open."""
        return TRAITS[self.database].has_one_writer

    async def interrupt(self) -> None:
        """End the current statement on SQLite, and wait until its thread has come back from it."""
        await self.driver.interrupt()
        await (await self.driver.cursor()).close()

    def sever(self) -> None:
        """Break the connection, like a network failure, for a failpoint."""
        if hasattr(self.driver, "pgconn"):
            raw_driver.shut_down(self.driver)
        elif hasattr(self.driver, "terminate"):
            self.driver.terminate()
        else:
            # In its thread, which goes on: whoever closes the connection later waits for it.
            self.driver._tx.put_nowait((None, self.driver._conn.close))  # noqa: SLF001

    @abstractmethod
    async def begin(self) -> None:
        """Begin it. Raises UsageError for what cannot have a transaction."""

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

    async def _commit(self) -> None:
        await self.handle.commit()

    async def rollback(self) -> None:
        """Roll back, as far as the connection can still be used."""
        with suppress(Exception):
            await self.handle.rollback()


async def begin(given: Any, schema: str | None) -> AsyncOwnTransaction:
    """Begin a transaction on what an async handler has given. Raises UsageError for what cannot have one."""
    handle = unscoped(given)
    for names, kind in _KINDS.items():
        for each in names:
            # No import is needed: whoever has such an object has imported its library.
            module, _, name = each.rpartition(".")
            known = getattr(sys.modules.get(module), name, None)
            if known is not None and isinstance(handle, known):
                own = kind(handle, schema)
                await own.begin()
                return own
    raise UsageError(
        f"async with ctx.transaction cannot use {name_of(given)}; give an AsyncEngine, AsyncConnection or AsyncSession"
        " of SQLAlchemy, or a connection of psycopg, asyncpg or aiosqlite for await; `with` takes the others"
    )


class _OnConnection(AsyncOwnTransaction):
    """An AsyncConnection of SQLAlchemy."""

    async def begin(self) -> None:
        if not self.handle.in_transaction():
            await self.handle.begin()
        await self._look_at(self.handle)

    async def _look_at(self, connection: Any) -> None:
        self.database = connection.dialect.name
        self.driver = (await connection.get_raw_connection()).driver_connection
        # Refuses a connection in autocommit mode.
        await self.follow(lambda _: _no_steps())


class _OnEngine(_OnConnection):
    """A connection that is taken from an AsyncEngine, and given back."""

    def __init__(self, engine: Any, schema: str | None) -> None:
        super().__init__(engine.connect(), schema)

    async def begin(self) -> None:
        await self.handle
        try:
            await super().begin()
        except BaseException:
            await self.rollback()
            raise

    async def _commit(self) -> None:
        try:
            await super()._commit()
        finally:
            await self.rollback()

    async def rollback(self) -> None:
        await super().rollback()
        with suppress(Exception):
            await self.handle.close()


class _OnSession(_OnConnection):
    """An AsyncSession of SQLAlchemy."""

    async def begin(self) -> None:
        await self._look_at(await self.handle.connection())

    async def follow(self, work: Callable[[str], Steps[T]]) -> T:
        await self.handle.flush()
        return await super().follow(work)


class _OnPsycopg(AsyncOwnTransaction):
    """An AsyncConnection of psycopg."""

    database = "postgresql"

    async def begin(self) -> None:
        self.driver = self.handle
        if self.handle.autocommit and not self.handle.info.transaction_status:
            await self.handle.execute("BEGIN")


class _OnAsyncpg(AsyncOwnTransaction):
    """A connection of asyncpg."""

    database = "postgresql"

    async def begin(self) -> None:
        self.driver = self.handle
        if self.handle.is_in_transaction():
            # Ours would be a savepoint of it, and its COMMIT none.
            raise UsageError("a transaction is open on this connection of asyncpg: give it before that")
        self._transaction = self.handle.transaction()
        await self._transaction.start()

    async def _commit(self) -> None:
        await self._transaction.commit()

    async def rollback(self) -> None:
        with suppress(Exception):
            await self._transaction.rollback()


class _OnAiosqlite(AsyncOwnTransaction):
    """A connection of aiosqlite."""

    database = "sqlite"

    async def begin(self) -> None:
        self.driver = self.handle
        if not self.handle.in_transaction:
            # Not deferred: such a transaction may fail at its first write, whatever the busy timeout is.
            await self.handle.execute("BEGIN IMMEDIATE")

    async def _commit(self) -> None:
        await self._end("COMMIT", self.handle.commit)

    async def rollback(self) -> None:
        with suppress(Exception):
            await self._end("ROLLBACK", self.handle.rollback)

    async def _end(self, words: str, method: Callable[[], Any]) -> None:
        # In the autocommit mode of Python 3.12 the methods do nothing.
        if await autocommit_of_file(self.handle) is True:
            await self.handle.execute(words)
        else:
            await method()


def _no_steps() -> Steps[None]:
    yield from ()


_KINDS: dict[tuple[str, ...], type[AsyncOwnTransaction]] = {
    ("sqlalchemy.ext.asyncio.AsyncEngine",): _OnEngine,
    ("sqlalchemy.ext.asyncio.AsyncConnection",): _OnConnection,
    ("sqlalchemy.ext.asyncio.AsyncSession",): _OnSession,
    ("psycopg.AsyncConnection",): _OnPsycopg,
    # A pool lends the second one.
    ("asyncpg.Connection", "asyncpg.pool.PoolConnectionProxy"): _OnAsyncpg,
    ("aiosqlite.Connection",): _OnAiosqlite,
}
