"""A migration that is killed at any of its statements: nothing is half done, and the next one does it."""

import signal
from pathlib import Path

import pytest

from harness import Commands, Database
from harness.handlers_rows import queue
from harness.releases import Release
from jobrunner.store.sql.versions import SCHEMA_REVISION

SCRIPT = Path(__file__).parents[1] / "harness" / "killed_at_statement.py"
COUNT = 5
PARTS = 25
"""Each statement is in one of these parts. A part has some ten statements, each of which takes a second or two."""
_FEWER = 1
"""After a downgrade the next one may send a statement less."""
DOWN, UP = ("downgrade", "1", "--delete-data"), ("migrate",)


def state_of(database: Database) -> tuple[int, bool]:
    """The version of the schema, and whether the column of the newest one is there."""
    version = int(database.value("SELECT version_num FROM job_schema_version"))
    table = database.query("SELECT * FROM job_runs WHERE id = 1")
    return version, "checkpoint" in table[0]


@pytest.mark.long(sample=2)
@pytest.mark.promise("P1", "P7")
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("is_up", [True, False], ids=["up", "down"])
def test_migration_that_is_killed_at_any_statement_is_done_or_not_and_the_next_one_goes_on(
    jobrunner: Commands, database: Database, first_release: Release, is_up: bool, part: int
) -> None:
    for _ in range(COUNT):
        queue(database, "echo")
    words, undo = (UP, DOWN) if is_up else (DOWN, UP)
    done = (SCHEMA_REVISION, True) if is_up else (1, False)
    jobrunner(*DOWN)
    jobrunner(*UP)
    if is_up:
        jobrunner(*DOWN)
    for number in numbers(jobrunner, part, words, undo):
        killed(jobrunner, number, words)
        assert state_of(database) in ((1, False), (SCHEMA_REVISION, True)), number
        jobrunner(*words)
        assert state_of(database) == done
        jobrunner(*undo)
    jobrunner(*UP)
    assert jobrunner(*UP).stdout.endswith(": up to date\n")
    jobrunner(*DOWN)
    assert first_release("migrate").stdout.endswith(": up to date\n")
    first_release("tick")
    assert database.query("SELECT status, attempts FROM job_runs") == [{"status": "succeeded", "attempts": 1}] * COUNT


def numbers(jobrunner: Commands, part: int, words: tuple[str, ...], undo: tuple[str, ...]) -> range:
    """The statements of this part, at which it is killed."""
    most = int(run(jobrunner, 0, words)[1].splitlines()[-1])
    jobrunner(*undo)
    assert most > PARTS
    return range(1 + part, most - _FEWER + 1, PARTS)


def killed(jobrunner: Commands, number: int, words: tuple[str, ...]) -> None:
    assert run(jobrunner, number, words)[0] == -signal.SIGKILL


def run(jobrunner: Commands, number: int, words: tuple[str, ...]) -> tuple[int, str]:
    """How it ended, and what it said last."""
    process = jobrunner.start_python(SCRIPT.read_text("utf-8"), number, *words)
    _, told = process.communicate(timeout=60)
    return process.returncode, told
