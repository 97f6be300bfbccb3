"""The tables of the testing kit, wherever they lie, and the cost of a test with it."""

import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import jobrunner
from harness import Database, PostgresDatabase, SQLiteDatabase, postgresql_only
from harness.kit import KINDS, opened
from jobrunner import Context
from jobrunner.application import enqueueing
from jobrunner.testing import Jobs


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
    added = ["jobrunner", "jobrunner.contrib", "jobrunner.contrib.pytest_plugin", "jobrunner.untyped"]
    assert done.stdout.split() == added


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
