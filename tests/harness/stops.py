"""Ticks that are stopped while their handlers are running, and checks that nothing is left behind."""

import json
import subprocess
from typing import Any

from harness import App, Commands, wait_for

Process = subprocess.Popen[str]


def start_tick(jobrunner: Commands, *args: object, **env: str) -> Process:
    """A tick that logs into the file `log` of the application."""
    return jobrunner.start("tick", *args, env={"JOBRUNNER_LOG": str(jobrunner.app.path("log")), **env})


def log_lines(app: App, event: str) -> list[dict[str, Any]]:
    """What the ticks logged of one kind."""
    lines = [json.loads(line) for line in app.path("log").read_text().splitlines()]
    return [line for line in lines if line["event"] == event]


def wait_until_at_work(app: App, *run_ids: int) -> None:
    """Until the handlers of all these runs have left their trace."""
    wait_for(lambda: {line.run_id for line in app.trace()} >= set(run_ids), 20, f"the handlers of {run_ids}")


def check_clean_exit(jobrunner: Commands, tick: Process, seconds: float = 30) -> None:
    """The tick ends without a word, and leaves no process and nothing open in the tables."""
    out, err = tick.communicate(timeout=seconds)
    assert (tick.returncode, out, err) == (0, "", "")
    assert jobrunner.leftover_processes() == []
    assert jobrunner.database.value("SELECT count(*) FROM job_ticks WHERE finished_at IS NULL") == 0
    assert jobrunner.database.value("SELECT count(*) FROM job_runs WHERE status = 'running'") == 0


def wait_until_gone(jobrunner: Commands) -> None:
    """Until no process is left that descends from a command of the test."""
    wait_for(lambda: jobrunner.leftover_processes() == [], 10, jobrunner.describe_leftovers)
