"""Connections of an event loop, as applications open them: one for each driver and each way of SQLAlchemy."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiosqlite
import asyncpg  # type: ignore[import-untyped]
import psycopg
from psycopg.rows import dict_row
from sqlalchemy.ext.asyncio import AsyncSession, async_scoped_session, async_sessionmaker, create_async_engine

from harness.database import Database, SQLiteDatabase

Ending = Callable[[], Awaitable[Any]]


@dataclass(frozen=True)
class Opened:
    """A connection on which a transaction is open, or will be at the first statement."""

    connection: Any
    begin: Ending
    commit: Ending
    rollback: Ending


Opening = Callable[[Database], AbstractAsyncContextManager[Opened]]


async def _nothing() -> None: ...


@asynccontextmanager
async def psycopg_connection(database: Database) -> AsyncIterator[Opened]:
    async with await psycopg.AsyncConnection.connect(database.url, row_factory=dict_row) as connection:
        yield Opened(connection, _nothing, connection.commit, connection.rollback)


def _of_asyncpg(connection: Any) -> Opened:
    return Opened(
        connection,
        lambda: connection.execute("BEGIN"),
        lambda: connection.execute("COMMIT"),
        lambda: connection.execute("ROLLBACK"),
    )


@asynccontextmanager
async def asyncpg_connection(database: Database) -> AsyncIterator[Opened]:
    connection = await asyncpg.connect(database.url)
    # Many applications have JSON decoded and encoded.
    for kind in ("json", "jsonb"):
        await connection.set_type_codec(kind, encoder=repr, decoder=repr, schema="pg_catalog")
    try:
        yield _of_asyncpg(connection)
    finally:
        await connection.close()


# All types of the columns and parameters of our statements, and some beside them.
TYPES = ["int2", "int4", "int8", "float8", "numeric", "bool", "text", "varchar", "timestamptz", "uuid", "json", "jsonb"]


async def set_codecs(connection: Any) -> None:
    """Have asyncpg send and return other values than those that it is given, for each type."""
    for kind in TYPES:
        await connection.set_type_codec(
            kind, encoder=lambda _: "1", decoder=lambda found: f"decoded {found}", schema="pg_catalog"
        )


@asynccontextmanager
async def asyncpg_with_codecs(database: Database) -> AsyncIterator[Opened]:
    async with asyncpg_connection(database) as opened:
        await set_codecs(opened.connection)
        yield opened


@asynccontextmanager
async def asyncpg_pool(database: Database) -> AsyncIterator[Opened]:
    lending = asyncpg.create_pool(database.url, min_size=1, max_size=1, statement_cache_size=0)
    async with lending as pool, pool.acquire() as connection:
        yield _of_asyncpg(connection)


@asynccontextmanager
async def aiosqlite_connection(database: Database) -> AsyncIterator[Opened]:
    assert isinstance(database, SQLiteDatabase)
    async with aiosqlite.connect(database.path) as connection:
        yield Opened(connection, _nothing, connection.commit, connection.rollback)


@asynccontextmanager
async def aiosqlite_with_rows(database: Database) -> AsyncIterator[Opened]:
    assert isinstance(database, SQLiteDatabase)
    async with aiosqlite.connect(database.path) as connection:
        connection.row_factory = lambda cursor, row: {"the owner's": row}  # type: ignore[assignment]
        yield Opened(connection, _nothing, connection.commit, connection.rollback)


def _through(scheme: str, *, in_session: bool = False) -> Opening:
    @asynccontextmanager
    async def opening(database: Database) -> AsyncIterator[Opened]:
        engine = create_async_engine(f"{scheme}:{database.url.partition(':')[2]}")
        async with engine.connect() as connection:
            if in_session:
                async with AsyncSession(connection) as session:
                    yield Opened(session, _nothing, session.commit, session.rollback)
            else:
                yield Opened(connection, _nothing, connection.commit, connection.rollback)
        await engine.dispose()

    opening.__name__ = f"{scheme}{' session' if in_session else ''}"
    return opening


@asynccontextmanager
async def scoped_session(database: Database) -> AsyncIterator[Opened]:
    scheme = "sqlite+aiosqlite" if isinstance(database, SQLiteDatabase) else "postgresql+psycopg"
    engine = create_async_engine(f"{scheme}:{database.url.partition(':')[2]}")
    session = async_scoped_session(async_sessionmaker(engine), scopefunc=asyncio.current_task)
    yield Opened(session, _nothing, session.commit, session.rollback)
    await session.remove()
    await engine.dispose()


KINDS: dict[str, list[Opening]] = {
    "postgresql": [
        psycopg_connection,
        asyncpg_connection,
        asyncpg_with_codecs,
        asyncpg_pool,
        _through("postgresql+asyncpg"),
        _through("postgresql+psycopg"),
        _through("postgresql+asyncpg", in_session=True),
        scoped_session,
    ],
    "sqlite": [
        aiosqlite_connection,
        aiosqlite_with_rows,
        _through("sqlite+aiosqlite"),
        _through("sqlite+aiosqlite", in_session=True),
        scoped_session,
    ],
}
