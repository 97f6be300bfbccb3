"""The testing kit on every kind of connection that an application may have, and the cost of a test with it."""

import asyncio
import importlib
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

import jobrunner
from harness import App, Database, PostgresDatabase, SQLiteDatabase, postgresql_only
from harness.handlers_rows import queue
from jobrunner import Context, Discard, Retry, Snooze
from jobrunner.application import enqueueing
from jobrunner.errors import PayloadMismatch, UsageError
from jobrunner.testing import Jobs, context

KINDS = ("driver", "engine", "session")


@contextmanager
def opened(kind: str, database: Database) -> Iterator[Any]:
    """A connection of an application on the test's database."""
    if kind == "driver":
        assert isinstance(database, SQLiteDatabase | PostgresDatabase)
        is_file = isinstance(database, SQLiteDatabase)
        connection: Any = sqlite3.connect(database.path) if is_file else psycopg.connect(database.url)
        yield connection
        connection.close()
        return
    engine = create_engine(database.url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect() if kind == "engine" else Session(engine) as given:
        yield given
    engine.dispose()


def write(connection: Any, value: int) -> None:
    statement = f"INSERT INTO written VALUES ({value})"
    connection.execute(text(statement) if hasattr(connection, "begin_nested") else statement)


def written(connection: Any) -> list[int]:
    statement = "SELECT n FROM written ORDER BY n"
    found = connection.execute(text(statement) if hasattr(connection, "begin_nested") else statement)
    return [row[0] for row in found.fetchall()]


class Broken(Exception):
    pass


@pytest.mark.parametrize("kind", KINDS)
def test_due_handlers_run_in_the_callers_transaction_and_leave_nothing_when_it_is_rolled_back(
    kind: str, database: Database
) -> None:
    # As where Django is imported: an async handler runs in the thread of its connection all the same.
    importlib.import_module("asgiref.sync")
    database.execute("CREATE TABLE written (n INTEGER)")
    with opened(kind, database) as connection:

        @jobrunner.job("write", max_attempts=2, backoff=jobrunner.fixed("1h"))
        def writes(ctx: Context, n: int, fails_until: int = 0) -> dict[str, int]:
            write(connection, n)
            ctx.progress(1, 2)
            if ctx.attempt <= fails_until:
                connection.execute(text("SELEC") if kind != "driver" else "SELEC")
            return {"n": n}

        @jobrunner.job("more")
        async def more(ctx: Context) -> None:
            await asyncio.sleep(0)
            writes.enqueue(connection, n=10)

        @jobrunner.job("ask")
        def asks(ctx: Context, how: str) -> Any:
            if how == "retry":
                raise Retry("later", after="2h")
            if how == "discard":
                raise Discard("never")
            return Snooze("1d")

        jobs = Jobs(connection)
        queue(database, "elsewhere")
        with jobs.enqueued() as made:
            writes.enqueue(connection, n=1)
            writes.enqueue(connection, n=2, fails_until=1)
            writes.using(run_at=timedelta(minutes=5)).enqueue(connection, n=3)
            more.enqueue(connection)
            assert len(made) == 4
        assert [run.payload["n"] for run in made.of(writes)] == [1, 2, 3]
        assert jobs.assert_enqueued(writes, n=3).run_at > jobs.now() + timedelta(minutes=4)
        jobs.refute_enqueued(writes, n=4)
        with pytest.raises(AssertionError, match=r"write\(n=4\) is not enqueued; 5 waiting:\n(.*\n)*.*write\(n=3"):
            jobs.assert_enqueued("write", n=4)
        with pytest.raises(AssertionError, match=r"write\(n=3\) is enqueued"):
            jobs.refute_enqueued(writes, n=3)

        drained = jobs.drain(raising=False)
        assert [(each.job_type, each.status) for each in drained] == [
            ("write", "succeeded"), ("write", "failed"), ("more", "succeeded"), ("write", "succeeded")
        ]  # fmt: skip
        assert drained.counts == {"succeeded": 3, "failed": 1}
        assert written(connection) == [1, 10]
        first, second = jobs.all(writes)[:2]
        assert (first.result, first.attempts, second.status, second.attempts) == ({"n": 1}, 1, "failed", 1)
        assert second.run_at > jobs.now() + timedelta(minutes=45)

        jobs.move_clock("10m")
        assert [(each.attempt, each.result) for each in jobs.drain()] == [(1, {"n": 3})]
        jobs.move_clock(timedelta(hours=1, minutes=10))
        assert [(each.run_id, each.attempt, each.status) for each in jobs.drain()] == [(second.id, 2, "succeeded")]
        assert written(connection) == [1, 2, 3, 10]

        for how in ("retry", "discard", "snooze"):
            asks.enqueue(connection, how=how)
        assert [each.status for each in jobs.drain()] == ["failed", "dead", "queued"]
        connection.rollback()
        assert jobs.drain().attempts == []
        assert [(run.job_type, run.status) for run in jobs.all()] == [("elsewhere", "queued")]
        assert abs(jobs.now() - database.now()) < timedelta(minutes=1)
        connection.rollback()


@pytest.mark.parametrize("kind", KINDS)
def test_exception_of_a_handler_is_written_to_its_run_and_raised_in_the_test(kind: str, database: Database) -> None:
    with opened(kind, database) as connection:

        @jobrunner.job("broken", max_attempts=1)
        def broken(ctx: Context) -> None:
            raise Broken("as asked")

        @jobrunner.job("snooze")
        def snooze(ctx: Context) -> Snooze:
            return Snooze("0s")

        jobs = Jobs(connection)
        broken.enqueue(connection)
        with pytest.raises(Broken, match="as asked"):
            jobs.drain()
        (run,) = jobs.all(broken)
        assert (run.status, run.error_type, run.last_error) == ("dead", "Broken", "as asked")
        jobrunner.enqueue(connection, "snooze")
        with pytest.raises(AssertionError, match="after 20 attempts run 2 of snooze is still due"):
            jobs.drain(limit=20)
        connection.rollback()


def test_payload_that_does_not_fit_its_handler_is_told_and_a_made_context_calls_a_handler(database: Database) -> None:
    queue(database, "typed", {"wrong": 1})

    @jobrunner.job("typed")
    def typed(ctx: Context, n: int) -> int:
        ctx.progress(n, 10, "so far")
        return n + ctx.attempt if not ctx.cancelled else 0

    with opened("driver", database) as connection:
        with pytest.raises(PayloadMismatch, match="run 1, typed: unexpected argument 'wrong'"):
            Jobs(connection).drain()
        connection.rollback()
    noted: list[Any] = []
    assert typed(context(attempt=3, progress=noted), n=1) == 4
    assert typed(context(cancelled=True), n=1) == 0
    assert noted == [{"done": 1, "total": 10, "message": "so far"}]
    left = context(time_left="1m").time_left
    assert left is not None
    assert left <= timedelta(minutes=1)


def test_async_handlers_run_in_the_event_loop_and_transaction_of_an_async_session(database: Database) -> None:
    database.execute("CREATE TABLE written (n INTEGER)")
    url = database.url.replace("sqlite:", "sqlite+aiosqlite:").replace("postgresql:", "postgresql+psycopg:")

    async def work() -> None:
        engine = create_async_engine(url)
        async with AsyncSession(engine) as session:

            @jobrunner.job("write", max_attempts=1)
            async def writes(ctx: Context, n: int) -> int:
                await session.execute(text(f"INSERT INTO written VALUES ({n})"))
                if n == 2:
                    raise Broken
                return n

            for n in (1, 2):
                await session.run_sync(lambda each, n=n: writes.enqueue(each, n=n))
            drained = await Jobs(session).drain_async(raising=False)
            assert [(each.status, each.result) for each in drained] == [("succeeded", 1), ("dead", None)]
            assert (await session.scalars(text("SELECT n FROM written"))).all() == [1]
            await session.run_sync(lambda each: Jobs(each).refute_enqueued(writes))
            await session.rollback()
        await engine.dispose()

    asyncio.run(work())
    assert database.query("SELECT id FROM job_runs") == []


def test_arguments_are_compared_as_the_handler_gets_them(database: Database) -> None:
    @jobrunner.job("remind")
    def remind(ctx: Context, day: date, seconds: Decimal = Decimal(1)) -> str:
        return f"{day.year} {seconds + 1}"

    with opened("driver", database) as connection:
        jobs = Jobs(connection)
        remind.enqueue(connection, day=date(2026, 1, 2), seconds=Decimal("0.5"))
        jobs.assert_enqueued(remind, day=date(2026, 1, 2), seconds=Decimal("0.50"))
        jobs.assert_enqueued("remind", day="2026-01-02")
        jobs.refute_enqueued(remind, day=date(2026, 1, 3))
        assert [each.result for each in jobs.drain()] == ["2026 1.5"]
        connection.rollback()


def test_jobs_without_a_connection_say_how_to_give_one() -> None:
    with pytest.raises(UsageError, match=r"define the fixture jobrunner_connection in conftest\.py"):
        Jobs().all()


@pytest.mark.parametrize("kind", KINDS)
def test_tick_in_a_test_is_a_real_process_that_sees_committed_runs(
    kind: str, database: Database, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in app.environment().items():
        monkeypatch.setenv(name, value)
    with opened(kind, database) as connection:
        jobs = Jobs(connection)
        run = jobrunner.enqueue(connection, "echo", {"a": "b"})
        with pytest.raises(UsageError, match="a transaction is open on the connection"):
            jobs.tick()
        connection.commit()
        jobs.tick()
        (found,) = jobs.all("echo", a="b")
        assert (found.id, found.status, found.result) == (run.id, "succeeded", {"a": "b"})
        jobs.clear()
        connection.commit()
    assert database.query("SELECT id FROM job_runs") == []


@pytest.mark.parametrize("kind", KINDS)
def test_tables_are_made_in_the_callers_transaction(kind: str, database: Database, tmp_path: Any) -> None:
    if isinstance(database, SQLiteDatabase):
        empty: Database = SQLiteDatabase(tmp_path / "empty.db")
    else:
        assert isinstance(database, PostgresDatabase)
        with database.connect() as admin:
            admin.execute("DROP SCHEMA public CASCADE")
            admin.execute("CREATE SCHEMA public")
        empty = database
    with opened(kind, empty) as connection:
        for ends in (connection.rollback, connection.commit):
            assert jobrunner.migrate(connection)
            assert not jobrunner.migrate(connection)
            assert jobrunner.enqueue(connection, "x").id == 1
            ends()
    assert len(empty.query("SELECT * FROM job_runs")) == 1


@postgresql_only
@pytest.mark.parametrize("kind", ["driver", "session"])
def test_kit_works_in_the_schema_that_is_set(kind: str, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOBRUNNER_SCHEMA", "queue")
    # The settings of enqueueing are read again each second.
    enqueueing._settings_in.cache_clear()

    @jobrunner.job("greet")
    def greet(ctx: Context) -> str:
        return "hello"

    with opened(kind, database) as connection:
        assert jobrunner.migrate(connection)
        assert not jobrunner.migrate(connection)
        jobs = Jobs(connection)
        with jobs.enqueued() as made:
            greet.using(run_at=timedelta(hours=1)).enqueue(connection)
        assert len(made) == 1
        jobs.move_clock("2h")
        assert jobs.drain().counts == {"succeeded": 1}
        connection.rollback()
    enqueueing._settings_in.cache_clear()
    assert database.query("SELECT id FROM job_runs") == []


def test_plugin_adds_nothing_to_tests_that_do_not_use_it() -> None:
    program = "import sys, pytest; before = set(sys.modules); import jobrunner.contrib.pytest_plugin; "
    program += "print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["jobrunner", "jobrunner.contrib", "jobrunner.contrib.pytest_plugin"]


def timed(call: Callable[[], object]) -> float:
    """The seconds of this process, since others take the processor in between. The server's part is a tenth of it."""
    began = time.process_time()
    call()
    return time.process_time() - began


@pytest.mark.parametrize("kind", KINDS)
def test_test_with_the_kit_takes_less_than_thirty_milliseconds_after_the_first(kind: str, database: Database) -> None:
    @jobrunner.job("greet")
    def greet(ctx: Context, name: str) -> str:
        return name

    with opened(kind, database) as connection:

        def one_test() -> None:
            jobs = Jobs(connection)
            with jobs.enqueued() as made:
                greet.enqueue(connection, name="Ada")
            assert len(made) == 1
            jobs.assert_enqueued(greet, name="Ada")
            assert jobs.drain().counts == {"succeeded": 1}
            assert made.of(greet, name="Ada")
            connection.rollback()

        one_test()
        assert min(timed(one_test) for _ in range(15)) < 0.03
