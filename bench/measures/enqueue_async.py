"""What it costs an application with an event loop to enqueue, through each driver."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

from plan import Line, measure
from processes import NotThere
from sizes import POSTGRESQL, SQLITE
from stage import Queue, Stage

import jobrunner
from harness.database import to_sqlite

ASYNC_INSERT = "async INSERT, {db}"
# The names stand where other measures have a database.
DRIVERS = ("asyncpg", "psycopg", "aiosqlite")
_COLUMNS = "job_type, payload, status, priority, run_at, created_at, updated_at"


@asynccontextmanager
async def _opened(queue: Queue, driver: str) -> AsyncIterator[Any]:
    try:
        library = import_module(driver)
    except ImportError as error:
        raise NotThere(f"{driver} is not installed yet") from error
    if driver == "aiosqlite":
        connecting = library.connect(queue.database.url.removeprefix("sqlite:///"))
    elif driver == "psycopg":
        connecting = library.AsyncConnection.connect(queue.database.url)
    else:
        connecting = library.connect(queue.database.url)
    connection = await connecting
    try:
        if driver != "psycopg":
            await connection.execute("BEGIN" if driver == "asyncpg" else "BEGIN IMMEDIATE")
        yield connection
    finally:
        await connection.close()


def _insert(queue: Queue, driver: str, connection: Any) -> Callable[[], Awaitable[object]]:
    now = "jobrunner_now()" if driver != "aiosqlite" else str(to_sqlite(queue.database.now()))
    values = f"'noop', '{{}}', 'queued', 0, {now}, {now}, {now}"
    statement = f"INSERT INTO job_runs ({_COLUMNS}) VALUES ({values}) RETURNING id"
    if driver == "asyncpg":
        return lambda: connection.fetchval(statement)

    async def once() -> object:
        return await (await connection.execute(statement)).fetchone()

    return once


def _medians(stage: Stage, driver: str) -> Iterator[float]:
    """Median milliseconds of one INSERT and of one enqueue, in turn in one transaction; the first do not count."""
    queue, count = stage.queue(SQLITE if driver == "aiosqlite" else POSTGRESQL), stage.sizes.enqueued

    async def measured() -> list[list[float]]:
        async with _opened(queue, driver) as connection:
            ways = [_insert(queue, driver, connection), lambda: jobrunner.enqueue_async(connection, "noop", {})]
            times: list[list[float]] = [[], []]
            for _ in range(count + 10):
                for way, taken in zip(ways, times, strict=True):
                    began = time.perf_counter()
                    await way()
                    taken.append(time.perf_counter() - began)
        return times

    for taken in asyncio.run(measured()):
        yield sorted(taken[10:])[count // 2] * 1000


@measure(
    Line(ASYNC_INSERT, "ms"),
    Line("async enqueue, {db}", "ms", ASYNC_INSERT),
    group="enqueue",
    on=DRIVERS,
    times=3,
)
def enqueue(stage: Stage, driver: str) -> Iterator[float]:
    """One INSERT of a run with await, its id returned, through an open connection, without the commit; median of many.

    And one `jobrunner.enqueue_async` on the same connection: both in turn, so that noise meets both alike.
    """
    if not hasattr(jobrunner, "enqueue_async"):
        raise NotThere("there is no jobrunner.enqueue_async yet")
    yield from _medians(stage, driver)
