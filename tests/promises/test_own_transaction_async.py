"""``async with ctx.transaction``: as ``with``, on connections of an event loop."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, closing, suppress
from typing import Any

import aiosqlite
import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

import jobrunner as package
from harness import Database, PostgresDatabase, SQLiteDatabase, pages, postgresql_only, sqlite_only
from harness.async_connections import KINDS, Opening, asyncpg_connection
from harness.effects import LostRun, close_all, effects_of, place_order, state
from harness.invariants import outcomes
from harness.waiting import stretched
from jobrunner import HandlerStopped, TransactionTooLong
from jobrunner.effects.run import RunEffects
from jobrunner.errors import UsageError

INSERT = "INSERT INTO things VALUES (1)"
Work = Callable[[Any], Awaitable[object]]


@pytest.fixture
def run(database: Database) -> Iterator[LostRun]:
    database.execute("CREATE TABLE things (id INTEGER)")
    yield LostRun(database)
    close_all()


async def write(handle: Any) -> None:
    is_sqlalchemy = type(handle).__module__.startswith("sqlalchemy")
    await handle.execute(text(INSERT) if is_sqlalchemy else INSERT)


async def divide_by_zero(_: Any) -> float:
    return 1 / 0


def none() -> None:
    return None


async def work_in(effects: RunEffects, given: object, *work: Work) -> None:
    """An async handler that does this work in its own transaction."""
    async with effects.transaction(given, none) as handle:
        for each in work:
            await each(handle)


@asynccontextmanager
async def engine(database: Database) -> AsyncIterator[Any]:
    scheme = "sqlite+aiosqlite" if isinstance(database, SQLiteDatabase) else "postgresql+asyncpg"
    made = create_async_engine(f"{scheme}:{database.url.partition(':')[2]}")
    yield made
    await made.dispose()


@asynccontextmanager
async def in_autocommit(database: Database) -> AsyncIterator[Any]:
    if isinstance(database, SQLiteDatabase):
        new = {"autocommit": True} if sys.version_info >= (3, 12) else {}
        async with aiosqlite.connect(database.path, isolation_level=None, **new) as file:  # type: ignore[arg-type]
            yield file
        return
    async with await psycopg.AsyncConnection.connect(database.url, autocommit=True) as connection:
        yield connection


def lent(opening: Opening) -> Callable[[Database], Any]:
    @asynccontextmanager
    async def given(database: Database) -> AsyncIterator[Any]:
        async with opening(database) as opened:
            yield opened.connection

    given.__name__ = opening.__name__
    return given


@asynccontextmanager
async def ours(_: Database) -> AsyncIterator[None]:
    yield None


@pytest.mark.promise("P5")
def test_work_and_end_of_the_run_commit_together_on_each_kind_of_async_connection(database: Database) -> None:
    """First a block that raises, then one whose lease is lost, then one that succeeds and enqueues."""
    database.execute("CREATE TABLE things (id INTEGER)")

    async def story(given: Any, run: LostRun) -> None:
        with pytest.raises(ZeroDivisionError):
            await work_in(effects_of(database.url, run.claim()), given, write, divide_by_zero)
        stale = effects_of(database.url, run.claim())
        run.claim()
        with pytest.raises(HandlerStopped, match="lost its lease"):
            await work_in(stale, given, write)
        assert state(database, run) == ("running", 0)
        async with effects_of(database.url, run.claim()).transaction(given, lambda: {"kept": 1}) as handle:
            await write(handle)
            made = await package.enqueue_async(handle, "append", {})
            assert database.value("SELECT count(*) FROM things") == 0
        assert state(database, run) == ("succeeded", 1)
        assert database.value("SELECT status FROM job_runs WHERE id = ?", [made.id]) == "queued"
        assert database.value("SELECT result FROM job_runs WHERE id = ?", [run.run_id]) == {"kept": 1}
        assert outcomes(database, run.run_id) == ["succeeded"]
        if given is not None and hasattr(given, "rollback"):
            # And the connection is the application's again.
            await write(given)
            await given.rollback()
            database.execute("DELETE FROM things")

    async def tell() -> None:
        for kind in (ours, engine, in_autocommit, *map(lent, KINDS[database.name])):
            database.execute("DELETE FROM things")
            try:
                async with kind(database) as given:
                    await story(given, LostRun(database))
            except BaseException as error:
                error.add_note(f"on {kind.__name__}")
                raise

    asyncio.run(tell())
    close_all()


@pytest.mark.promise("P5")
def test_example_of_the_page_commits_the_order_the_mail_and_the_run(database: Database, run: LostRun) -> None:
    name = (
        "tests/promises/test_own_transaction_async.py::test_example_of_the_page_commits_the_order_the_mail_and_the_run"
    )
    (block,) = pages.checked_by(name)
    place_order(database, run, block.text)


@pytest.mark.promise("P5")
def test_cancelled_async_block_is_done_as_a_whole_or_not_at_all(database: Database, run: LostRun) -> None:
    """At whatever step: as a request to stop comes."""

    async def tell() -> int:
        done = 0
        for turn in range(0, 40, 2):
            lease = run.claim()
            database.execute("DELETE FROM job_attempts")
            task = asyncio.ensure_future(work_in(effects_of(database.url, lease), None, write))
            for _ in range(turn):
                await asyncio.sleep(0.0005)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            status = "running" if state(database, run)[0] == "running" else "succeeded"
            done += status == "succeeded"
            assert state(database, run) == (status, done), turn
        return done

    assert asyncio.run(tell()) < 20


@pytest.mark.promise("P5")
def test_second_async_transaction_an_effect_inside_and_a_block_left_open_are_errors(
    database: Database, run: LostRun
) -> None:
    async def tell() -> None:
        left = effects_of(database.url, run.claim())
        await write(await left.transaction(None, none).__aenter__())
        with pytest.raises(UsageError, match="no effect inside"):
            await left.once_async("k", str, "raise")
        with pytest.raises(UsageError, match="returned inside its own transaction"):
            await left.close_async()
        assert state(database, run) == ("running", 0)
        effects = effects_of(database.url, run.claim())
        with pytest.raises(UsageError, match="transaction only once"):
            await work_in(effects, None, lambda _: work_in(effects, None))
        await work_in(effects, None, write)
        with pytest.raises(UsageError, match="transaction only once"):
            await work_in(effects, None)
        assert state(database, run) == ("succeeded", 1)

    asyncio.run(tell())


def test_connection_of_the_other_kind_is_refused_with_the_right_word(database: Database, run: LostRun) -> None:
    async def tell() -> None:
        effects = effects_of(database.url, run.claim())
        assert isinstance(database, PostgresDatabase | SQLiteDatabase)
        with closing(database.connect()) as plain, pytest.raises(UsageError, match="`with` takes the others"):
            await work_in(effects, plain)
        async with engine(database) as made:
            with pytest.raises(UsageError, match="`async with` takes those"), effects.transaction(made, none):
                pass
        for wrong in (7, object()):
            with pytest.raises(UsageError, match="cannot use"):
                await work_in(effects, wrong)
        assert state(database, run) == ("running", 0)

    asyncio.run(tell())


@postgresql_only
def test_connection_of_asyncpg_inside_a_transaction_is_refused(database: Database, run: LostRun) -> None:
    """Ours would be a savepoint, and the end of the run not committed at the end of the block."""

    async def tell() -> None:
        async with asyncpg_connection(database) as opened:
            await opened.begin()
            with pytest.raises(UsageError, match="a transaction is open on this connection of asyncpg"):
                await work_in(effects_of(database.url, run.claim()), opened.connection, write)
            await opened.rollback()

    asyncio.run(tell())


def test_library_that_is_not_installed_is_named(
    database: Database, run: LostRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "greenlet", None)
    with pytest.raises(UsageError, match="needs greenlet: pip install greenlet"):
        asyncio.run(work_in(effects_of(database.url, run.claim()), None, write))


@pytest.mark.promise("P2", "P6")
@sqlite_only
def test_async_block_that_holds_the_lock_of_a_file_for_a_quarter_of_the_lease_is_interrupted(
    database: SQLiteDatabase, run: LostRun
) -> None:
    """In the middle of a wait, and of a statement that never ends; and at its end if it never awaited."""
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

    async def block_the_loop(_: Any) -> None:
        time.sleep(0.6)

    ways: list[Work] = [lambda _: asyncio.sleep(30), lambda handle: handle.execute(text(endless)), block_the_loop]
    for way in ways:
        began = time.monotonic()
        with pytest.raises(TransactionTooLong, match="longer than 500ms, a quarter of the lease"):
            asyncio.run(work_in(effects_of(database.url, run.claim(), lease_seconds=2), None, write, way))
        assert time.monotonic() - began < stretched(10)
        assert state(database, run) == ("running", 0)
    asyncio.run(work_in(effects_of(database.url, run.claim()), None, write))
    assert state(database, run) == ("succeeded", 1)
