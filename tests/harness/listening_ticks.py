"""Starts ticks that linger, and waits for what they do."""

import contextlib
import json
import signal
import subprocess
from typing import Any

from harness import Commands, Database

Process = subprocess.Popen[str]
LISTENING = "SELECT count(*) FROM job_ticks WHERE listening_at IS NOT NULL AND finished_at IS NULL AND host = ?"


def linger(jobrunner: Commands, *args: object, host: str = "here", **env: str) -> Process:
    """A tick that lingers, once it listens. One that it supersedes may have ended by then."""
    log = str(jobrunner.app.path("log"))
    tick = jobrunner.start("tick", "--linger", *args, env={"JOBRUNNER_HOST": host, "JOBRUNNER_LOG": log, **env})
    has_begun = "SELECT count(*) FROM job_ticks WHERE listening_at IS NOT NULL AND worker LIKE ?"
    jobrunner.database.wait_until(has_begun, [f"{host}:{tick.pid}:%"], describe="a tick that listens")
    return tick


def log_lines(jobrunner: Commands, event: str) -> list[dict[str, Any]]:
    """What the ticks logged of one kind."""
    lines = [json.loads(line) for line in jobrunner.app.path("log").read_text().splitlines()]
    return [line for line in lines if line["event"] == event]


def wait_for_success(database: Database, *run_ids: int, seconds: float = 30) -> None:
    """Until these runs have succeeded."""
    listed = ", ".join(map(str, run_ids))
    database.wait_until(
        f"SELECT count(*) = {len(run_ids)} AS done FROM job_runs WHERE id IN ({listed}) AND status = 'succeeded'",
        deadline_seconds=seconds,
    )


def check_left_quietly(tick: Process, seconds: float = 30) -> None:
    """The tick ends by itself, without a word to cron's mail."""
    out, err = tick.communicate(timeout=seconds)
    assert (tick.returncode, out, err) == (0, "", "")


def stop(*ticks: Process) -> None:
    """End ticks that wait, at once."""
    for tick in ticks:
        with contextlib.suppress(ProcessLookupError):
            tick.send_signal(signal.SIGTERM)
    for tick in ticks:
        check_left_quietly(tick)
