"""An unexpected error: a command reports it in one line; a tick ends its row, and no run is charged."""

import json
import re

import pytest

from harness import App, Commands, Database
from harness.calls import WITH_A_SCHEMA
from harness.fault_scene import FaultScene
from harness.invariants import assert_consistent, outcomes, statuses

# Before the drain; a claim that nobody has taken yet; one at work beside others; one that has just ended.
POINTS = ("expand.committed", "claim.committed", "attempt.handed_over", "attempt.ended")


@pytest.mark.promise("P1", "P7", "P8", "P12")
def test_unexpected_error_at_any_point_returns_the_runs_and_ends_the_tick_row(
    jobrunner: Commands, app: App, database: Database
) -> None:
    scene = FaultScene(jobrunner, app, database)
    for number, point in enumerate(POINTS, start=1):
        code, stderr = scene.tick_with_fault(point, "raise")
        assert (code, scene.reached()) == (70, list(POINTS[:number])), stderr
        assert re.fullmatch(rf"jobrunner: an internal error [^\n]* RuntimeError: the fault {point} [^\n]*\n", stderr)
        assert "running" not in statuses(database), point
        (tick,) = database.query("SELECT finished_at, error FROM job_ticks ORDER BY id DESC LIMIT 1")
        assert tick["finished_at"] is not None
        assert f"the fault {point}" in tick["error"]
        assert jobrunner.leftover_processes() == []
    scene.settle()
    assert_consistent(database)
    assert statuses(database)["succeeded"] == len(scene.due) + 2
    for run_id in scene.due:
        *before, last = outcomes(database, run_id)
        assert (last, set(before) <= {"released"}) == ("succeeded", True)


def said(point: str) -> str:
    told = f"an internal error ended this command: RuntimeError: the fault {point}"
    return rf"jobrunner: {re.escape(told)} \(\w+\.py:\d+\)\n"


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_an_unexpected_error_of_any_command_is_one_line_and_no_traceback(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """As soon as it has its settings, so before any database is asked, whichever it is."""
    log = app.path("log")
    env = {"JOBRUNNER_FAULT": "command.settings_loaded=raise", "JOBRUNNER_LOG": str(log)}
    commands = [*WITH_A_SCHEMA, ["migrate"], ["types"], ["crontab", "line"]]
    started = [(words, jobrunner.start(*words, env=env)) for words in commands]
    for words, process in started:
        stdout, stderr = process.communicate(timeout=60)
        assert (process.returncode, stdout) == (70, ""), (words, stderr)
        assert re.fullmatch(said("command.settings_loaded"), stderr), (words, stderr)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert len(lines) == len(commands)
    for line in lines:
        assert (line["level"], line["error"]) == ("error", "RuntimeError: the fault command.settings_loaded")
        assert 'in _act\n    raise RuntimeError(f"the fault {point}")' in line["stack"]


def test_unexpected_error_within_a_change_rolls_it_back(jobrunner: Commands, database: Database) -> None:
    env = {"JOBRUNNER_FAULT": "change.before_commit=raise"}
    done = jobrunner("schedule", "add", "n", "--type", "echo", "--cron", "@daily", env=env, check=False)
    assert done.returncode == 70
    assert re.fullmatch(said("change.before_commit"), done.stderr)
    assert database.value("SELECT count(*) FROM job_definitions") == 0


def test_the_stack_of_an_unexpected_error_before_a_tick_has_begun_is_shown_where_it_is_asked_for(
    jobrunner: Commands, database: Database
) -> None:
    done = jobrunner.tick("-v", env={"JOBRUNNER_FAULT": "command.settings_loaded=raise"}, check=False)
    assert done.returncode == 70
    told, *stack, last = done.stderr.splitlines()
    assert re.fullmatch(said("command.settings_loaded"), f"{last}\n")
    assert "result=internal error" in told
    assert any("environment.py" in line for line in stack)
    assert database.value("SELECT count(*) FROM job_ticks") == 0
