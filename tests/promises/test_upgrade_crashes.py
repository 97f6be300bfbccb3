"""A migration that is killed at any of its statements: nothing is half done, and the next one does it."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness import Commands, Database
from harness.handlers_rows import queue
from harness.long import leaves_nothing_out
from harness.releases import Release
from jobrunner.store.sql.versions import SCHEMA_REVISION

SCRIPT = Path(__file__).parents[1] / "harness" / "killed_at_statement.py"
COUNT = 5
_FEWER = 1
"""After a downgrade the next one may send a statement less."""


def state_of(database: Database) -> tuple[int, bool]:
    """The version of the schema, and whether the column of the newest one is there."""
    version = int(database.value("SELECT version_num FROM job_schema_version"))
    table = database.query("SELECT * FROM job_runs WHERE id = 1")
    return version, "checkpoint" in table[0]


@pytest.mark.timeout(400)
@pytest.mark.promise("P1", "P7")
def test_migration_that_is_killed_at_any_statement_is_done_or_not_and_the_next_one_goes_on(
    jobrunner: Commands, database: Database, first_release: Release
) -> None:
    for _ in range(COUNT):
        queue(database, "echo")
    down, up = ("downgrade", "1", "--delete-data"), ("migrate",)
    for number in numbers(jobrunner, up, undo=down):
        killed(jobrunner, number, up)
        assert state_of(database) in ((1, False), (SCHEMA_REVISION, True)), number
        jobrunner(*up)
        assert state_of(database) == (SCHEMA_REVISION, True)
        assert jobrunner(*up).stdout.endswith(": up to date\n")
        jobrunner(*down)
    jobrunner(*up)
    for number in numbers(jobrunner, down, undo=up):
        killed(jobrunner, number, down)
        assert state_of(database) in ((1, False), (SCHEMA_REVISION, True)), number
        jobrunner(*down)
        assert state_of(database) == (1, False)
        jobrunner(*up)
    jobrunner(*down)
    assert first_release("migrate").stdout.endswith(": up to date\n")
    first_release("tick")
    assert database.query("SELECT status, attempts FROM job_runs") == [{"status": "succeeded", "attempts": 1}] * COUNT


def numbers(jobrunner: Commands, words: tuple[str, ...], undo: tuple[str, ...]) -> list[int]:
    """The statements at which it is killed: some, and the last one."""
    most = int(run(jobrunner, 0, words).stderr.splitlines()[-1])
    jobrunner(*undo)
    assert most > 20
    step = most // 10 if leaves_nothing_out() else most // 2
    return [*range(1 + step // 2, most - _FEWER, step), most - _FEWER]


def killed(jobrunner: Commands, number: int, words: tuple[str, ...]) -> None:
    assert run(jobrunner, number, words).returncode == -signal.SIGKILL


def run(jobrunner: Commands, number: int, words: tuple[str, ...]) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(SCRIPT), str(number), *words]
    return subprocess.run(
        command, env=jobrunner.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
