"""``ctx.transaction``: a handler's writes and the end of its run commit together, or neither does."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import psycopg
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session

import jobrunner as package
from harness import Database, PostgresDatabase, SQLiteDatabase, pages, postgresql_only, sqlite_only
from harness.django_connection import django_connection
from harness.effects import LostRun, answers_lost, close_all, effects_of, place_order, state
from harness.invariants import outcomes
from harness.waiting import stretched
from jobrunner import HandlerStopped, TransactionTooLong
from jobrunner.effects.run import RunEffects
from jobrunner.errors import BadPayload, UsageError

INSERT = "INSERT INTO things VALUES (1)"


@pytest.fixture
def run(database: Database) -> Iterator[LostRun]:
    database.execute("CREATE TABLE things (id INTEGER)")
    yield LostRun(database)
    close_all()


@pytest.fixture
def effects(database: Database, run: LostRun) -> RunEffects:
    return effects_of(database.url, run.claim())


@contextmanager
def opened(database: Database, kind: str) -> Iterator[Any]:
    """Something of an application that a handler may give to ``ctx.transaction``."""
    is_file = isinstance(database, SQLiteDatabase)
    if kind in ("driver", "autocommit"):
        options: dict[str, Any] = {}
        if kind == "autocommit":
            options = {"isolation_level": None} if is_file else {"autocommit": True}
        if isinstance(database, SQLiteDatabase):
            with closing(sqlite3.connect(database.path, **options)) as file:
                yield file
        else:
            with closing(psycopg.connect(database.url, **options)) as server:
                yield server
        return
    engine = create_engine(("sqlite:" if is_file else "postgresql+psycopg:") + database.url.partition(":")[2])
    with ExitStack() as stack:
        stack.callback(engine.dispose)
        if kind == "engine":
            yield engine
        else:
            yield stack.enter_context(engine.connect() if kind == "connection" else Session(engine))


def write(handle: Any) -> None:
    handle.execute(INSERT if isinstance(handle, sqlite3.Connection | psycopg.Connection) else text(INSERT))


@pytest.mark.promise("P5")
@pytest.mark.parametrize("kind", ["engine", "connection", "session", "driver", "autocommit"])
def test_work_and_end_of_the_run_commit_together_on_each_kind_of_connection(
    database: Database, run: LostRun, kind: str
) -> None:
    """First a block that raises, then one whose lease is lost, then one that succeeds and enqueues."""
    with opened(database, kind) as given:
        with pytest.raises(ZeroDivisionError):
            work_in(effects_of(database.url, run.claim()), given, write, divide_by_zero)
        stale = effects_of(database.url, run.claim())
        run.claim()
        with pytest.raises(HandlerStopped, match="lost its lease"):
            work_in(stale, given, write)
        assert state(database, run) == ("running", 0)
        lease = run.claim()
        with effects_of(database.url, lease).transaction(given, lambda: {"kept": 1}) as handle:
            write(handle)
            made = package.enqueue(handle, "append", {})
            assert database.value("SELECT count(*) FROM things") == 0
        assert state(database, run) == ("succeeded", 1)
        assert database.value("SELECT status FROM job_runs WHERE id = ?", [made.id]) == "queued"
        # And the connection is the application's again.
        if kind != "engine":
            write(given)
            given.rollback()
    assert database.value("SELECT result FROM job_runs WHERE id = ?", [run.run_id]) == {"kept": 1}
    assert database.query("SELECT outcome, lease_token FROM job_attempts") == [
        {"outcome": "succeeded", "lease_token": lease.token}
    ]


def none() -> None:
    return None


def work_in(effects: RunEffects, given: object, *work: Callable[[Any], object]) -> None:
    """A handler that does this work in its own transaction."""
    with effects.transaction(given, none) as handle:
        for each in work:
            each(handle)


def divide_by_zero(_: Any) -> float:
    return 1 / 0


def write_by_cursor(connection: Any) -> None:
    connection.cursor().execute(INSERT)


@pytest.mark.promise("P5")
def test_example_of_the_page_commits_the_order_the_mail_and_the_run(database: Database, run: LostRun) -> None:
    name = "tests/promises/test_own_transaction.py::test_example_of_the_page_commits_the_order_the_mail_and_the_run"
    (block,) = pages.checked_by(name)
    place_order(database, run, block.text)


@pytest.mark.promise("P5")
def test_connection_of_django_commits_the_run_with_its_atomic_block(database: Database, run: LostRun) -> None:
    with django_connection(database) as connection:
        with pytest.raises(ZeroDivisionError):
            work_in(effects_of(database.url, run.claim()), connection, write_by_cursor, divide_by_zero)
        assert state(database, run) == ("running", 0)
        work_in(effects_of(database.url, run.claim()), connection, write_by_cursor)
        assert state(database, run) == ("succeeded", 1)


@pytest.mark.promise("P5")
def test_second_transaction_an_effect_inside_and_a_block_left_open_are_errors(
    database: Database, run: LostRun, effects: RunEffects
) -> None:
    lost = effects_of(database.url, run.claim())
    block = lost.transaction(None, none)
    write(block.__enter__())
    with pytest.raises(UsageError, match="returned inside its own transaction"):
        lost.close()
    assert state(database, run) == ("running", 0)
    with pytest.raises(UsageError, match="no effect inside"):
        work_in(lost, None, lambda _: lost.once("k", str, "raise"))
    effects = effects_of(database.url, run.claim())
    with pytest.raises(UsageError, match="transaction only once"):
        work_in(effects, None, lambda _: work_in(effects, None))
    work_in(effects, None, write)
    with pytest.raises(UsageError, match="transaction only once"):
        work_in(effects, None)
    with pytest.raises(UsageError, match="has ended with its own transaction"):
        effects.once("k", str, "raise")
    assert state(database, run) == ("succeeded", 1)


@pytest.mark.promise("P5")
@postgresql_only
def test_commit_that_was_applied_and_whose_answer_was_lost_is_no_error_to_the_handler(
    database: PostgresDatabase, run: LostRun
) -> None:
    """Else a handler that undoes its work elsewhere after an error would undo what is done. SQLite has no such loss."""
    with answers_lost(database.url) as (url, lost):
        with effects_of(url, run.claim(), lease_seconds=8).transaction(None, lambda: None) as connection:
            connection.exec_driver_sql(INSERT)
            lost.append(1)
        assert not lost
        close_all()
    assert state(database, run) == ("succeeded", 1)


@pytest.mark.promise("P5")
@pytest.mark.parametrize("result", [object(), "\0", "x" * 20_000])
def test_result_that_no_database_can_hold_rolls_the_work_back(
    database: Database, run: LostRun, effects: RunEffects, result: object
) -> None:
    with pytest.raises(BadPayload), effects.transaction(None, lambda: result) as handle:
        write(handle)
    assert state(database, run) == ("running", 0)


def test_what_is_no_connection_or_one_of_another_database_is_refused(
    database: Database, run: LostRun, effects: RunEffects, tmp_path: Any
) -> None:
    for wrong in (7, "engine", object()):
        with pytest.raises(UsageError, match="transaction cannot use"):
            work_in(effects, wrong)
    if isinstance(database, PostgresDatabase):
        return
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(database.path)) as source, closing(sqlite3.connect(other)) as copy:
        source.backup(copy)
        copy.execute("DELETE FROM job_runs")
        copy.commit()
        with pytest.raises(UsageError, match="not to the database"):
            work_in(effects, copy, write)
    assert state(database, run) == ("running", 0)


@pytest.mark.promise("P2", "P6")
@sqlite_only
def test_block_that_holds_the_lock_of_a_file_for_a_quarter_of_the_lease_is_interrupted(
    database: SQLiteDatabase, run: LostRun
) -> None:
    """In the middle of a wait, and of a statement that never ends. Nothing is left of the limit afterwards."""
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    ways: list[Callable[[Any], object]] = [lambda _: time.sleep(30), lambda handle: handle.execute(text(endless))]
    for way in ways:
        began = time.monotonic()
        with pytest.raises(TransactionTooLong, match="longer than 500ms, a quarter of the lease"):
            work_in(effects_of(database.url, run.claim(), lease_seconds=2), None, write, way)
        assert time.monotonic() - began < stretched(5)
        assert state(database, run) == ("running", 0)
    work_in(effects_of(database.url, run.claim(), lease_seconds=2), None, write)
    time.sleep(0.6)
    assert state(database, run) == ("succeeded", 1)


@pytest.mark.promise("P2", "P5")
@postgresql_only
def test_end_waits_for_a_heartbeat_that_has_locked_the_row(
    database: PostgresDatabase, run: LostRun, effects: RunEffects
) -> None:
    """Skipped like a lease that is lost, it would undo work that was done."""
    with closing(database.connect()) as beat:
        beat.execute("BEGIN")
        beat.execute("SELECT 1 FROM job_runs WHERE id = %s FOR NO KEY UPDATE", [run.run_id])
        ending = threading.Timer(0.3, lambda: beat.execute("COMMIT"))
        ending.start()
        work_in(effects, None, write)
        ending.join()
    assert state(database, run) == ("succeeded", 1)
    assert outcomes(database, run.run_id) == ["succeeded"]
