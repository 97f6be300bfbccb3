"""Questions from Python: the records of the commands, on any connection of the caller, which stays as it was."""

import asyncio
import inspect
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, async_scoped_session

import jobrunner as library
from harness import Commands, Database, PostgresDatabase, postgresql_only
from harness.asked import KINDS, questions, timeless
from harness.async_connections import KINDS as ASYNC_KINDS
from harness.async_connections import Opened, asyncpg_connection, asyncpg_with_codecs
from harness.invariants import insert_runs
from harness.plans import fill_a_little
from jobrunner import ask
from jobrunner.application import own_connections
from jobrunner.errors import ConfigurationError, NotFoundError, UsageError
from jobrunner.store.callers import asking
from jobrunner.store.schema import metadata


@pytest.fixture
def configured(database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This process has the settings of the test."""
    monkeypatch.setenv("JOBRUNNER_DATABASE_URL", database.url)
    yield
    own_connections.own_connections().close()
    own_connections._opened.clear()


@pytest.fixture
def run(jobrunner: Commands, database: Database) -> int:
    """A run, beside something of everything."""
    fill_a_little(database)
    jobrunner.tick()
    database.execute("UPDATE job_runs SET progress = ?, last_error = 'no_such', error_type = 'E'", ['{"done": 1}'])
    return int(database.value("SELECT max(run_id) FROM job_attempts"))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_asked_from_python_is_what_the_command_prints(
    jobrunner: Commands, database: Database, run: int, kind: str
) -> None:
    with KINDS[kind](database) as connection:
        for asked in questions(run, "little"):
            answer = ask.to_dict(asked.of(connection))
            if asked.name != "counts" and hasattr(connection, "rollback"):
                connection.rollback()
            assert timeless(answer) == timeless(asked.printed(jobrunner)), asked.words


def test_what_is_asked_with_await_is_what_the_command_prints(jobrunner: Commands, database: Database, run: int) -> None:
    listed = questions(run, "little")
    printed = [asked.printed(jobrunner) for asked in listed]

    async def story(opened: Opened) -> None:
        for asked, expected in zip(listed, printed, strict=True):
            answer = ask.to_dict(await asked.of_async(opened.connection))
            assert timeless(answer) == timeless(expected), asked.words

    async def tell() -> None:
        for kind in ASYNC_KINDS[database.name]:
            async with kind(database) as opened:
                try:
                    await story(opened)
                except BaseException as error:
                    error.add_note(f"on {kind.__name__}")
                    raise

    asyncio.run(tell())


def status_of(connection: Any) -> Any:
    """What the connection and its library say of a transaction."""
    driver = getattr(getattr(connection, "connection", None), "driver_connection", None)
    driver = driver or getattr(connection, "connection", None) or connection
    if hasattr(driver, "info"):
        return driver.info.transaction_status
    return driver.in_transaction


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "session"])
def test_connection_without_a_transaction_has_none_after_a_question(
    jobrunner: Commands, database: Database, kind: str
) -> None:
    """An application that only looks would otherwise keep a transaction open, and with it old rows."""
    jobrunner.tick()
    with KINDS[kind](database) as connection:
        if hasattr(connection, "ensure_connection"):
            connection.ensure_connection()
        before = status_of(connection)
        assert not before
        for _ in range(2):
            assert ask.health(connection).healthy
            assert status_of(connection) == before
            with pytest.raises(NotFoundError, match="there is no run 999"):
                ask.run(connection, 999)
            assert status_of(connection) == before
        if hasattr(connection, "in_transaction") and kind.startswith("engine"):
            assert not connection.in_transaction()


@pytest.mark.parametrize("kind", ["driver", "engine", "session", "django"])
def test_question_in_an_open_transaction_sees_it_and_leaves_it_open(database: Database, kind: str) -> None:
    with KINDS[kind](database) as connection:
        begun = connection.get_autocommit() if kind == "django" else False
        if begun:
            connection.set_autocommit(False)
        mine = library.enqueue(connection, "echo", {"n": 1}).id
        assert ask.counts(connection)["queued"] == 1
        with pytest.raises(NotFoundError):
            ask.runs(connection, schedule="nothing")
        assert mine is not None
        assert ask.run(connection, mine).payload == {"n": 1}
        # Its settings and its right to write are as they were.
        library.enqueue(connection, "echo", {"n": 2})
        assert database.value("SELECT count(*) FROM job_runs") == 0
        connection.rollback()
        assert database.value("SELECT count(*) FROM job_runs") == 0
        library.enqueue(connection, "echo", {"n": 3})
        ask.status(connection)
        connection.commit()
        assert [row["payload"] for row in database.query("SELECT payload FROM job_runs")] == [{"n": 3}]


@postgresql_only
def test_settings_and_limits_of_the_callers_transaction_are_as_they_were(database: PostgresDatabase) -> None:
    names = ["statement_timeout", "lock_timeout", "enable_seqscan", "enable_sort", "transaction_read_only", "datestyle"]
    shown = ", ".join(f"current_setting('{name}')" for name in names)
    with psycopg.connect(database.url) as connection:
        connection.execute("SET LOCAL statement_timeout = '3s'; SET LOCAL datestyle = 'German'")
        before = connection.execute(f"SELECT {shown}").fetchone()
        assert ask.runs(connection, status="dead").runs == []
        with pytest.raises(NotFoundError):
            ask.explain(connection, "nothing")
        assert connection.execute(f"SELECT {shown}").fetchone() == before
        assert connection.execute("SELECT count(pg_current_xact_id_if_assigned())").fetchone() == (0,)


@pytest.mark.parametrize("kind", ["driver", "engine", "django"])
def test_error_of_a_question_leaves_the_callers_transaction_usable(database: Database, kind: str) -> None:
    """PostgreSQL aborts a transaction at its first error, and all that the caller has written would be lost."""
    database.execute("ALTER TABLE job_definitions RENAME COLUMN misfire TO missed")
    with KINDS[kind](database) as connection:
        if kind == "django":
            connection.set_autocommit(False)
        library.enqueue(connection, "echo", {})
        with pytest.raises(Exception, match="misfire"):
            ask.status(connection)
        assert ask.counts(connection)["queued"] == 1
        connection.commit()
    assert database.value("SELECT count(*) FROM job_runs") == 1


@pytest.mark.parametrize("kind", KINDS)
def test_no_question_writes_anything(jobrunner: Commands, database: Database, run: int, kind: str) -> None:
    def everything() -> dict[str, list[str]]:
        return {name: sorted(map(repr, database.query(f"SELECT * FROM {name}"))) for name in metadata.tables}

    before = everything()
    with KINDS[kind](database) as connection:
        for asked in questions(run, "little"):
            asked.of(connection)
        if kind == "session":
            connection.commit()
    assert everything() == before


@postgresql_only
@pytest.mark.parametrize("kind", KINDS)
def test_server_refuses_what_a_question_would_write(database: PostgresDatabase, kind: str) -> None:
    pause = "INSERT INTO job_pauses (kind, name, actor, paused_at) VALUES ('all', '', 'x', now())"
    with KINDS[kind](database) as connection:
        with pytest.raises(Exception, match="read-only transaction"):
            asking.ask(connection, None, lambda question: question.execute(pause))
        assert ask.status(connection).pauses == []


@postgresql_only
def test_value_that_python_cannot_represent_is_told_as_its_text_on_asyncpg_too(database: PostgresDatabase) -> None:
    """It would spoil the whole row, which crosses as one document."""
    (run_id,) = insert_runs(database, 1)
    database.execute("""UPDATE job_runs SET payload = '{"n": 1e5000}', result = '"\\u00e9"'""")
    with psycopg.connect(database.url) as connection:
        expected = ask.run(connection, run_id)
    assert isinstance(expected.payload, str)

    async def tell() -> None:
        for kind in (asyncpg_connection, asyncpg_with_codecs):
            async with kind(database) as opened:
                found = await ask.run_async(opened.connection, run_id)
                assert (found.payload, found.result, found.run_at) == (expected.payload, "é", expected.run_at)

    asyncio.run(tell())


def test_wrong_question_is_refused_before_anything_is_sent() -> None:
    closed = sqlite3.connect(":memory:")
    closed.close()
    wrong: list[tuple[Callable[[], Any], str]] = [
        (lambda: ask.run(closed, 0), "run_id must be the id of a run"),
        (lambda: ask.run(closed, True), "run_id must be the id of a run"),
        (lambda: ask.explain(closed, -1), "subject must be the id of a run"),
        (lambda: ask.explain(closed, "a\ud800"), "cannot be searched for"),
        (lambda: ask.runs(closed, status="done"), "status cannot be 'done'; there are: queued"),
        (lambda: ask.runs(closed, waiting_for=["luck"]), "waiting_for cannot be 'luck'; there are: time"),
        (lambda: ask.runs(closed, since=datetime(2026, 1, 1)), "since needs a time zone"),
        (lambda: ask.runs(closed, until="2h"), "until must be a datetime"),  # type: ignore[arg-type]
        (lambda: ask.runs(closed, limit=0), "limit must be a whole number from 1 to 10000"),
        (lambda: ask.runs(closed, before=-5), "before must be the id of a run"),
        (lambda: ask.runs(closed, key=""), "cannot be searched for"),
        (lambda: ask.counts("app.db"), "cannot ask through builtins.str"),  # type: ignore[arg-type]
    ]
    for call, said in wrong:
        with pytest.raises(UsageError, match=said):
            call()
    with pytest.raises(TypeError):
        ask.to_dict(object())


def test_connection_of_the_other_kind_is_refused_with_the_function_to_use(database: Database) -> None:
    async def tell() -> None:
        for kind in ASYNC_KINDS[database.name]:
            async with kind(database) as opened:
                with pytest.raises(UsageError, match=r"run_async"):
                    ask.counts(opened.connection)
        with pytest.raises(
            UsageError, match=r"cannot ask through .* with await; .* ask without await takes the others"
        ):
            await ask.counts_async(object())  # type: ignore[arg-type]

    asyncio.run(tell())


def test_question_with_await_leaves_a_transaction_as_it_was(database: Database) -> None:
    async def story(opened: Opened) -> None:
        await opened.begin()
        await library.enqueue_async(opened.connection, "echo", {})
        assert (await ask.counts_async(opened.connection))["queued"] == 1
        with pytest.raises(NotFoundError):
            await ask.run_async(opened.connection, 999)
        await library.enqueue_async(opened.connection, "echo", {})
        await opened.rollback()
        # Without one.
        assert (await ask.counts_async(opened.connection))["queued"] == 0
        connection = opened.connection
        if isinstance(connection, AsyncConnection):
            assert not connection.in_transaction()
        elif hasattr(connection, "is_in_transaction"):
            assert not connection.is_in_transaction()
        elif not isinstance(connection, AsyncSession | async_scoped_session):
            assert not status_of(connection)
        await opened.begin()
        await library.enqueue_async(connection, "echo", {})
        await opened.commit()

    async def tell() -> None:
        for number, kind in enumerate(ASYNC_KINDS[database.name], 1):
            async with kind(database) as opened:
                try:
                    await story(opened)
                except BaseException as error:
                    error.add_note(f"on {kind.__name__}")
                    raise
            assert database.value("SELECT count(*) FROM job_runs") == number
            database.execute("UPDATE job_runs SET status = 'cancelled', finished_at = run_at")

    asyncio.run(tell())


@pytest.mark.usefixtures("configured")
def test_question_without_a_connection_is_asked_of_the_configured_database(
    jobrunner: Commands, database: Database, run: int
) -> None:
    for asked in questions(run, "little"):
        expected = timeless(asked.printed(jobrunner))
        assert timeless(ask.to_dict(asked.of(None))) == expected, asked.words
        assert timeless(ask.to_dict(asyncio.run(asked.of_async(None)))) == expected, asked.words


def test_what_only_a_host_with_ticks_can_tell_is_not_said(
    jobrunner: Commands, database: Database, connection: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A process that serves pages has no state folder, and none of the handlers: nothing is wrong with that."""
    jobrunner.tick()
    library.enqueue(connection, "of_nobody", {})
    connection.commit()
    nobody_can = tmp_path / "file"
    nobody_can.write_text("")
    monkeypatch.setenv("JOBRUNNER_STATE_DIR", str(nobody_can))
    assert "state_folder" in jobrunner("health", check=False, env={"JOBRUNNER_STATE_DIR": str(nobody_can)}).stdout
    assert ask.health(connection).healthy
    answer = ask.status(connection)
    assert (answer.unknown_types, answer.handlers_problem, answer.state_problem) == ([], None, None)
    assert nobody_can.read_text() == ""


def test_thresholds_are_those_of_the_process_that_asks_and_no_other_setting_stops_it(
    jobrunner: Commands, database: Database, connection: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (run_id,) = insert_runs(database, 1, "unknown", run_at=database.now() - timedelta(days=1))
    jobrunner.tick()
    assert {each.name for each in ask.health(connection).findings} == {"unknown_types"}
    file = tmp_path / "jobrunner.toml"
    file.write_text('[health]\ntick_age = "1000d"\noverdue = "2000d"\n[settings]\nno_setting = 1\n')
    monkeypatch.setenv("JOBRUNNER_CONFIG", str(file))
    monkeypatch.setenv("JOBRUNNER_NO_SETTING", "1")
    assert ask.health(connection).healthy
    assert ask.run(connection, run_id).explanation["reason"] == "unknown_type"
    monkeypatch.setenv("JOBRUNNER_HEALTH_OVERDUE", "soon")
    with pytest.raises(ConfigurationError, match="JOBRUNNER_HEALTH_OVERDUE"):
        ask.health(connection)


def test_page_of_a_customer_says_how_many_runs_are_in_front(jobrunner: Commands, connection: Any) -> None:
    jobrunner.enqueue("echo")
    jobrunner.tick()
    ids = [library.enqueue(connection, "echo", {}).id for _ in range(4)]
    assert ids[-1] is not None
    forecast = ask.explain(connection, ids[-1]).forecast
    assert forecast is not None
    assert forecast.in_front == 3


def test_import_of_the_module_is_that_of_one_small_file() -> None:
    code = (
        "import sys, typing, jobrunner; before = set(sys.modules); "
        "from jobrunner import ask; print(*set(sys.modules) - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["jobrunner.ask"]
    assert set(ask.__all__) <= set(dir(ask))
    assert sorted(ask.__all__) == ask.__all__
    for name in ("counts", "status", "run", "runs", "explain", "health"):
        assert inspect.iscoroutinefunction(getattr(ask, f"{name}_async"))
        plain, awaited = (inspect.signature(getattr(ask, each)).parameters for each in (name, f"{name}_async"))
        assert [*plain.items()][1:] == [*awaited.items()][1:]
