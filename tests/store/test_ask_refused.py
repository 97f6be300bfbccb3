"""Questions from Python where there is no good answer: other tables, no rights, a silent server, a call cut short."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Any

import asyncpg  # type: ignore[import-untyped]
import psycopg
import pytest
from sqlalchemy import Connection as EngineConnection
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import Session

from harness import Commands, Database, PostgresDatabase, SQLiteDatabase, postgresql_only, sqlite_only
from harness.app import App
from harness.asked import KINDS
from harness.async_connections import KINDS as ASYNC_KINDS
from harness.async_connections import asyncpg_connection, psycopg_connection
from harness.connections import opened, sqlalchemy_url
from harness.silence import silent_after
from harness.standby import Pair
from harness.waiting import stretched
from jobrunner import ask
from jobrunner.errors import (
    ConnectionLost,
    DatabaseHeld,
    DatabaseMoved,
    DatabaseUnavailable,
    SchemaMismatch,
    UsageError,
)
from jobrunner.store.callers import asking_async
from jobrunner.store.callers.borrowed import ASK
from jobrunner.store.callers.borrowed_async import async_connection_below
from jobrunner.store.callers.callers_transaction import CallersTransaction
from jobrunner.store.drivers.waits import Waits

UNFIT: dict[str, tuple[list[str], type[Exception], str]] = {
    "older": (["UPDATE job_schema_version SET version_num = '0000'"], SchemaMismatch, "run: jobrunner migrate"),
    "newer": (["UPDATE job_state SET oldest_code = 1000000"], SchemaMismatch, "upgrade jobrunner"),
    "unreleased": (["ALTER TABLE job_state DROP COLUMN released", "DROP TABLE job_hosts"], SchemaMismatch, "never rel"),
    "none": (
        ["ALTER TABLE job_schema_version RENAME TO other_version"],
        SchemaMismatch,
        "has no jobrunner tables; run",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("state", UNFIT)
def test_tables_of_another_version_are_named_as_the_commands_name_them_and_the_transaction_goes_on(
    database: Database, state: str, kind: str
) -> None:
    database.execute("CREATE TABLE of_application (n INTEGER)")
    changes, error, said = UNFIT[state]
    for change in changes:
        database.execute(change)
    with KINDS[kind](database) as connection:
        driver = _driver(connection)
        if not kind.endswith("autocommit") and kind != "django":
            driver.execute("INSERT INTO of_application VALUES (1)")
        for call in (ask.status, ask.counts, lambda each: ask.run(each, 1)):
            with pytest.raises(error, match=said):
                call(connection)
        driver.execute("INSERT INTO of_application VALUES (2)")
        driver.commit()
    expected = [2] if kind.endswith("autocommit") or kind == "django" else [1, 2]
    assert [row["n"] for row in database.query("SELECT n FROM of_application ORDER BY n")] == expected


def _driver(connection: Any) -> Any:
    if hasattr(connection, "ensure_connection"):
        connection.ensure_connection()
        return connection.connection
    found = connection.connection() if isinstance(connection, Session) else connection
    return found.connection.driver_connection if isinstance(found, EngineConnection) else found


def test_tables_of_another_version_are_named_to_a_question_with_await(database: Database) -> None:
    database.execute("ALTER TABLE job_schema_version RENAME TO other_version")

    async def tell() -> None:
        for kind in ASYNC_KINDS[database.name]:
            async with kind(database) as given:
                with pytest.raises(SchemaMismatch, match="has no jobrunner tables; run: jobrunner migrate"):
                    await ask.health_async(given.connection)

    asyncio.run(tell())


def test_database_that_was_moved_names_the_new_one(
    jobrunner: Commands, app: App, database: Database, elsewhere: Database, tmp_path: Any
) -> None:
    target = tmp_path / "target"
    target.write_text(elsewhere.url)
    jobrunner("move", f"@{target}")
    with closing(opened(database)) as connection, pytest.raises(DatabaseMoved, match="was moved to"):
        ask.health(connection)


def limit(monkeypatch: pytest.MonkeyPatch, waits: Waits) -> None:
    """Give a question other limits."""
    made = CallersTransaction.__init__

    def begin(self: CallersTransaction, executor: Any) -> None:
        made(self, executor)
        self.waits = waits

    monkeypatch.setattr(CallersTransaction, "__init__", begin)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is silent for a second is given up."""
    limit(monkeypatch, Waits(1, 1, stretched(1)))


@postgresql_only
@pytest.mark.parametrize("kind", KINDS)
def test_lock_in_the_way_and_a_statement_that_takes_too_long_end_the_question_only(
    database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    limit(monkeypatch, Waits(0.2, stretched(10), stretched(20)))
    with closing(database.connect()) as holder, KINDS[kind](database) as connection:
        holder.execute("BEGIN; LOCK TABLE job_runs")
        with pytest.raises(DatabaseHeld, match="another session holds a lock"):
            ask.counts(connection)
        holder.execute("ROLLBACK")
        assert ask.counts(connection)["queued"] == 0


@postgresql_only
def test_limit_of_the_caller_that_is_stricter_stays(database: PostgresDatabase) -> None:
    with closing(database.connect()) as holder, psycopg.connect(database.url) as connection:
        holder.execute("BEGIN; LOCK TABLE job_runs")
        connection.execute("SET LOCAL statement_timeout = '50ms'")
        with pytest.raises(DatabaseUnavailable, match="has ended a statement that took too long"):
            ask.counts(connection)
        assert connection.execute("SELECT 1").fetchone() == (1,)


@postgresql_only
@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("kind", ["driver", "engine", "django"])
def test_silent_server_does_not_hang_the_caller(database: PostgresDatabase, kind: str) -> None:
    with silent_after(database.url, 40) as url:
        line = PostgresDatabase(database.access, database.database)
        line.url = url
        with KINDS[kind](line) as connection, pytest.raises(DatabaseUnavailable, match="no answer for"):
            _ask_for_ever(connection)


def _ask_for_ever(connection: Any) -> None:
    while True:
        ask.health(connection)


@postgresql_only
@pytest.mark.usefixtures("short")
def test_silent_server_does_not_hang_a_caller_with_await(database: PostgresDatabase) -> None:
    async def on_psycopg(url: str) -> None:
        connection = await psycopg.AsyncConnection.connect(url, autocommit=True)
        try:
            while True:
                await ask.health_async(connection)
        finally:
            await connection.close()

    async def on_asyncpg(url: str) -> None:
        connection = await asyncpg.connect(url.partition("?")[0], ssl=False)
        try:
            while True:
                await ask.health_async(connection)
        finally:
            connection.terminate()

    async def on_sqlalchemy(url: str, scheme: str) -> None:
        engine = create_async_engine(f"{scheme}:{url.partition(':')[2]}")
        connection = await engine.connect()
        try:
            while True:
                await ask.health_async(connection)
        finally:
            await connection.invalidate()
            await connection.close()
            await engine.dispose()

    stories: list[Callable[[str], Any]] = [
        on_psycopg,
        on_asyncpg,
        lambda url: on_sqlalchemy(f"{url.partition('?')[0]}?ssl=disable", "postgresql+asyncpg"),
        lambda url: on_sqlalchemy(url, "postgresql+psycopg"),
    ]
    for story in stories:
        with silent_after(database.url, 40) as url, pytest.raises(DatabaseUnavailable, match="no answer for"):
            asyncio.run(story(url))


@postgresql_only
def test_connection_that_is_lost_is_named_as_that(database: PostgresDatabase) -> None:
    with closing(psycopg.connect(database.url)) as connection:
        ask.counts(connection)
        database.cut_connections()
        with pytest.raises(ConnectionLost, match="lost the connection to the database of this connection"):
            ask.counts(connection)


@postgresql_only
def test_transaction_that_was_aborted_before_raises_the_librarys_own_error(database: PostgresDatabase) -> None:
    with psycopg.connect(database.url) as connection:
        with pytest.raises(psycopg.errors.DivisionByZero):
            connection.execute("SELECT 1 / 0")
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            ask.counts(connection)
        connection.rollback()
        assert ask.counts(connection)["dead"] == 0


@postgresql_only
@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_transaction_that_has_seen_one_instant_for_long_gets_no_false_alarm(
    database: PostgresDatabase, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It sees no tick that came since, and would take them for stopped."""
    monkeypatch.setattr("jobrunner.store.callers.asking._OLD_SECONDS", 0.3)
    with psycopg.connect(database.url) as connection:
        connection.execute(f"SET TRANSACTION ISOLATION LEVEL {level}")
        connection.execute("SELECT 1")
        ask.health(connection)
        connection.execute("SELECT pg_sleep(0.4)")
        with pytest.raises(UsageError, match="sees the database as it was when it began"):
            ask.health(connection)
        assert connection.execute("SELECT 1").fetchone() == (1,)
    with psycopg.connect(database.url) as connection:
        connection.execute("SELECT pg_sleep(0.4)")
        ask.health(connection)


def test_question_that_is_cancelled_leaves_the_connection_usable(database: Database) -> None:
    async def story(connection: Any) -> None:
        for turn in range(6):
            task = asyncio.ensure_future(ask.status_async(connection))
            for _ in range(turn * 3):
                await asyncio.sleep(0)
            await asyncio.wait([task], timeout=0.002 * turn)
            was_over = not task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            assert was_over or task.cancelled()
            assert (await ask.counts_async(connection))["queued"] == 0
        assert threading.active_count() < 8

    async def tell() -> None:
        for kind in ASYNC_KINDS[database.name]:
            async with kind(database) as given:
                # SQLAlchemy closes a connection on which a call was cancelled.
                if not hasattr(given.connection, "run_sync"):
                    await story(given.connection)

    asyncio.run(tell())


@postgresql_only
def test_cancellation_ends_the_statement_that_is_under_way(
    database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A caller with a time limit would wait for it as long as the server does."""
    limit(monkeypatch, Waits(stretched(60), stretched(60), stretched(60)))
    waits = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

    async def story(connection: Any) -> None:
        with closing(database.connect()) as holder:
            holder.execute("BEGIN; LOCK TABLE job_runs")
            task = asyncio.ensure_future(ask.counts_async(connection))
            await asyncio.to_thread(database.wait_until, waits)
            task.cancel()
            done, _ = await asyncio.wait([task], timeout=stretched(20))
            assert done, "it waits for the lock"
            assert task.cancelled()
        assert (await ask.counts_async(connection))["queued"] == 0

    async def tell() -> None:
        for kind in (psycopg_connection, asyncpg_connection):
            async with kind(database) as given:
                await story(given.connection)

    asyncio.run(tell())


def test_question_that_is_cancelled_between_two_statements_sends_no_further_one(database: Database) -> None:
    async def tell() -> None:
        async with ASYNC_KINDS[database.name][0](database) as given:
            below = async_connection_below(given.connection, None, ASK)
            bridge = asking_async._Bridge(below, asyncio.get_running_loop())
            bridge.interrupt()

            def ask_further() -> bool:
                with suppress(asyncio.CancelledError):
                    bridge.execute("SELECT 1")
                    return True
                return False

            assert not await asyncio.to_thread(ask_further)

    asyncio.run(tell())


def test_standby_answers(jobrunner_on_pair: Commands, pair: Pair) -> None:
    run_id = jobrunner_on_pair.enqueue("echo")
    jobrunner_on_pair.tick()
    pair.wait_for_standby()
    with psycopg.connect(pair.standby.url) as connection:
        assert ask.health(connection).healthy
        connection.execute("SELECT 1")
        assert ask.run(connection, run_id).status == "succeeded"
        assert ask.runs(connection).runs[0].id == run_id
    with psycopg.connect(pair.standby.url, autocommit=True) as connection:
        assert ask.counts(connection)["succeeded"] == 1


@postgresql_only
def test_connection_of_an_application_that_only_reads_may_ask(database: PostgresDatabase) -> None:
    with psycopg.connect(database.url) as connection:
        connection.read_only = True
        assert ask.status(connection).runs["queued"] == 0
    engine = create_engine(sqlalchemy_url(database), execution_options={"postgresql_readonly": True})
    with engine.connect() as reading:
        assert ask.status(reading).runs["queued"] == 0
    engine.dispose()


@sqlite_only
def test_file_that_is_opened_for_reading_only_may_be_asked(database: SQLiteDatabase) -> None:
    with closing(sqlite3.connect(f"file:{database.path}?mode=ro", uri=True)) as connection:
        assert ask.status(connection).runs["queued"] == 0
        answer = ask.health(connection)
        assert answer.database == database.url
        assert [each.name for each in answer.findings] == ["ticks_stopped"]


@postgresql_only
def test_database_has_the_name_of_the_command_whatever_the_driver_is(database: PostgresDatabase) -> None:
    async def named(scheme: str) -> str:
        engine = create_async_engine(f"{scheme}:{database.url.partition(':')[2]}")
        async with engine.connect() as connection:
            answer = await ask.health_async(connection)
        await engine.dispose()
        return answer.database

    with psycopg.connect(database.url) as connection:
        expected = ask.health(connection).database
    assert (
        expected
        == f"postgresql://{database.url.partition('//')[2].partition(':')[0]}@" + database.url.partition("@")[2]
    )
    assert {asyncio.run(named(each)) for each in ("postgresql+asyncpg", "postgresql+psycopg")} == {expected}
