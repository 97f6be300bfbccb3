"""`jobrunner loop` beside what operators do meanwhile: pauses, a restored or another database file, and a migration."""

import os
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from harness import App, Commands, Database, SQLiteDatabase, sqlite_only, wait_for
from harness.backups import back_up
from harness.handlers_rows import queue, status_of
from harness.loops import check_stopped, ready_file, ready_loop, stop_loop
from harness.releases import Release
from harness.stops import wait_until_at_work

ENDED = "SELECT count(*) FROM job_ticks WHERE finished_at IS NOT NULL"
SUCCEEDED = "SELECT status = 'succeeded' AS done FROM job_runs WHERE id = ?"


def wait_for_ticks(database: Database, count: int = 3) -> None:
    before = database.value(ENDED)
    wait_for(lambda: database.value(ENDED) >= before + count, 30, "some more ticks have ended")


@pytest.mark.parametrize("what", ["--type append", "--all"])
def test_loop_goes_on_beside_a_pause_claims_nothing_and_needs_no_restart_after_it(
    jobrunner: Commands, database: Database, what: str
) -> None:
    loop = ready_loop(jobrunner, "--linger")
    jobrunner("pause", *what.split())
    run_id = queue(database, "append")
    wait_for_ticks(database)
    assert (status_of(database, run_id), loop.poll(), ready_file(jobrunner).exists()) == ("queued", None, True)
    jobrunner("resume", *what.split())
    database.wait_until(SUCCEEDED, [run_id])
    assert "ticks fail" not in stop_loop(jobrunner, loop)


@pytest.mark.promise("P9")
def test_loop_that_is_stopped_beside_a_pause_lets_the_run_at_work_finish(
    jobrunner: Commands, app: App, database: Database
) -> None:
    run_id = queue(database, "wait_for", {"path": str(app.path("go"))})
    loop = ready_loop(jobrunner, "--grace=60s")
    wait_until_at_work(app, run_id)
    jobrunner("pause", "--all")
    waiting = queue(database, "append")
    wait_for_ticks(database)
    loop.send_signal(signal.SIGTERM)
    wait_for(lambda: not ready_file(jobrunner).exists(), 20, "it is not ready any more")
    app.release("go")
    check_stopped(jobrunner, loop)
    assert (status_of(database, run_id), status_of(database, waiting)) == ("succeeded", "queued")


def restored(jobrunner: Commands, backup: Path, file: Path) -> None:
    jobrunner("restore", backup)


def replaced(jobrunner: Commands, backup: Path, file: Path) -> None:
    """By hand, as it should be done: no log of the old file stays."""
    for each in ("-wal", "-shm"):
        Path(f"{file}{each}").unlink(missing_ok=True)
    os.replace(backup, file)


@sqlite_only
@pytest.mark.parametrize("change", [restored, replaced])
def test_loop_works_on_in_a_file_that_was_restored_or_replaced(
    jobrunner: Commands, database: Database, tmp_path: Path, change: Callable[[Commands, Path, Path], None]
) -> None:
    assert isinstance(database, SQLiteDatabase)
    run_id = queue(database, "append")
    backup = back_up(database.path, tmp_path / "backup.db")
    database.execute("DELETE FROM job_runs")
    loop = ready_loop(jobrunner, "--linger")
    wait_for_ticks(database)
    change(jobrunner, backup, database.path)

    def is_done() -> bool:
        with closing(sqlite3.connect(database.path)) as connection:
            return connection.execute(SUCCEEDED, [run_id]).fetchall() == [(1,)]

    wait_for(is_done, 60, "a tick of the loop has done the run of the backup")
    assert loop.poll() is None
    stop_loop(jobrunner, loop)


def test_loop_of_the_first_release_works_on_beside_a_migration_and_beside_the_next_loop(
    jobrunner: Commands, database: Database, first_release: Release
) -> None:
    ready = jobrunner.home / "old-ready"
    old = first_release.start("loop", "--every", "1s", "--ready-file", ready, env={"JOBRUNNER_HOST": "old"})
    wait_for(ready.exists, 60, "the loop of the first release is ready")
    # The new one says what is to be done before.
    assert "run: jobrunner migrate" in jobrunner.refused(78, "loop")
    jobrunner("migrate")
    run_id = queue(database, "append")
    database.wait_until(SUCCEEDED, [run_id])
    assert (old.poll(), ready.exists()) == (None, True)
    new = ready_loop(jobrunner, JOBRUNNER_HOST="new")
    by_new = "SELECT count(*) >= 2 AS enough FROM job_ticks WHERE host = 'new' AND finished_at IS NOT NULL"
    database.wait_until(by_new)
    old.send_signal(signal.SIGTERM)
    stdout, stderr = old.communicate(timeout=60)
    assert (old.returncode, stdout, "ticks fail" in stderr) == (0, "", False)
    run_id = queue(database, "append")
    database.wait_until(SUCCEEDED, [run_id])
    stop_loop(jobrunner, new)
