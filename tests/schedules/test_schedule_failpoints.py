"""A schedule command that dies before its commit has changed nothing, and works when it is repeated."""

import signal
from typing import Any

import pytest

from harness import App, Commands, Database
from harness.fault_points import COMMAND_POINTS
from harness.slots import go_to, utc

SPAN = ["--since", "2026-05-01T09:00:00Z", "--until", "2026-05-01T12:00:00Z"]
COMMANDS = {
    "add": ["add", "new", "--type", "echo", "--cron", "@daily", "--paused"],
    "edit": ["edit", "n", "--cron", "*/5 * * * *"],
    "remove": ["remove", "n"],
    "pause": ["pause", "n"],
    "pause all": ["pause", "--all"],
    "resume": ["resume", "asleep"],
    "resume all": ["resume", "--all", "--from", "now"],
    "trigger": ["trigger", "n"],
    "backfill": ["backfill", "n", *SPAN],
}


def everything(database: Database) -> dict[str, list[dict[str, Any]]]:
    return {
        table: database.query(f"SELECT * FROM {table} ORDER BY id")
        for table in ("job_definitions", "job_runs", "job_events")
    }


@pytest.mark.long(sample=9)
@pytest.mark.promise("P3", "P12")
@pytest.mark.parametrize("action", ["kill", "cut"])
@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS.keys())
def test_killed_schedule_command_leaves_nothing_half_written(
    jobrunner: Commands, app: App, database: Database, words: list[str], action: str
) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    for name in ("n", "asleep"):
        jobrunner("schedule", "add", name, "--type", "echo", "--cron", "@hourly")
    jobrunner("schedule", "pause", "asleep")
    go_to(database, utc(2026, 5, 1, 14, 0, 1))
    before, trace = everything(database), app.path("faults")
    *_, point = COMMAND_POINTS
    faults = {"JOBRUNNER_FAULT": f"{point}={action}", "JOBRUNNER_FAULT_TRACE": str(trace)}
    done = jobrunner("schedule", *words, env=faults, check=False)
    assert trace.read_text().split()[:2] == [point, action]
    assert (done.returncode, done.stdout) == (-signal.SIGKILL if action == "kill" else 69, "")
    assert len(done.stderr.splitlines()) == (action == "cut")
    assert everything(database) == before
    assert jobrunner("schedule", *words).stderr == ""
    after = everything(database)
    assert after["job_events"][len(before["job_events"]) :]
    assert after != before
