"""The testing kit on every kind of connection that an application may have."""

import asyncio
import importlib
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

import jobrunner
from harness import App, Database, SQLiteDatabase, pages, sqlite_only
from harness.handlers_rows import queue
from harness.kit import KINDS, opened, write, written
from jobrunner import Context, Discard, Retry, Snooze
from jobrunner.errors import PayloadMismatch, UsageError
from jobrunner.testing import Jobs, context


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


@pytest.mark.parametrize("kind", KINDS)
def test_checkpoints_and_steps_are_kept_over_the_attempts_of_a_test(kind: str, database: Database) -> None:
    calls: list[str] = []
    with opened(kind, database) as connection:

        @jobrunner.job("goes_on", max_attempts=3)
        def goes_on(ctx: Context) -> Any:
            page = (ctx.last_checkpoint or 0) + 1
            loaded = ctx.step("load", lambda: calls.append("load") or (1, 2))
            ctx.checkpoint(page)
            if page < 3:
                raise Broken(f"page {page}")
            return [page, loaded]

        jobs = Jobs(connection)
        goes_on.enqueue(connection)
        for page in (1, 2):
            assert jobs.drain(raising=False).counts == {"failed": 1}
            (run,) = jobs.all(goes_on)
            assert (run.last_checkpoint, run.steps) == (page, {"load": [1, 2]})
            jobs.move_clock("1h")
        assert [each.result for each in jobs.drain()] == [[3, [1, 2]]]
        assert calls == ["load"]
        (other,) = jobs.all(goes_on)
        assert other.checkpoint == {"value": 3, "steps": {"load": [1, 2]}}
        connection.rollback()
    made = context(checkpoint=1, steps={"load": [5]})
    with pytest.raises(Broken, match="page 2"):
        goes_on(made)
    assert (made.last_checkpoint, calls) == (2, ["load"])


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


@pytest.mark.parametrize("options", [{"concurrency_key": "n"}, {"fair_by": "n"}, {"max_running": 1}], ids=str)
def test_drain_takes_all_runs_of_limited_and_fair_types(options: dict[str, Any], database: Database) -> None:
    """They wait behind gates from the first claim on, and all but one of them stayed there."""
    with opened("driver", database) as connection:

        @jobrunner.job("each", **options)
        def each(ctx: Context, n: int) -> None: ...

        for n in (1, 1, 2):
            each.enqueue(connection, n=n)
        assert Jobs(connection).drain().counts == {"succeeded": 3}


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


@sqlite_only
def test_session_that_joins_with_savepoints_leaves_no_run_behind_on_sqlite(
    database: SQLiteDatabase, engine: Engine
) -> None:
    """With the recipe of the quick start, to which docs/howto/testing.md sends whoever has an SQLite file."""
    (recipe,) = pages.checked_by(
        "tests/project/test_quickstarts.py::test_sqlalchemys_recipe_for_sqlite_begins_writing_transactions"
    )
    exec(recipe.text, {"engine": engine})
    with engine.connect() as connection, connection.begin() as transaction:
        with Session(connection, join_transaction_mode="create_savepoint") as session:
            jobrunner.enqueue(session, "mail", {})
            session.commit()
            Jobs(session).assert_enqueued("mail")
        transaction.rollback()
    assert database.query("SELECT id FROM job_runs") == []
