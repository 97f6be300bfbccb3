"""Running runs: in the hands of a tick that was started, or of an owner that exists only in their rows."""

import subprocess
from datetime import timedelta
from typing import Any

from harness import App, Commands, Database, wait_for
from harness.invariants import insert_runs
from jobrunner.lifecycle import AttemptResult
from jobrunner.model import Lease, Owner
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.queue.finalize import Ended, Refusal, finalize_all

OWNER = Owner("here", "here:1:a")
LEASE = timedelta(minutes=1)
BEATS = {"JOBRUNNER_LEASE": "2m", "JOBRUNNER_HEARTBEAT": "0.3s"}
"""For a tick that looks often at its runs: a short lease would do so, too, but is over when the machine is busy."""


def running(database: Database, count: int, **columns: object) -> list[Lease]:
    """Runs at work, with the traces of an earlier life in every column that not every end may touch."""
    at = database.now()
    earlier = {
        "error_type": "Old",
        "last_error": "an old error",
        "failed_at": at - timedelta(hours=1),
        "result": '"old"',
    }
    lease = {"locked_by": OWNER.name, "host": OWNER.host, "lease_token": "t" * 32, "locked_until": at + LEASE}
    row: dict[str, Any] = {
        "status": "running",
        "claimed_at": at,
        "started_at": at,
        "attempts": 1,
        "max_attempts": 3,
        **lease,
        **earlier,
    }
    return [Lease(run_id, "t" * 32) for run_id in insert_runs(database, count, **{**row, **columns})]


def end_attempt(connection: Connection, owner: Owner, lease: Lease, ending: AttemptResult) -> Ended | Refusal:
    """End one attempt by itself."""
    return finalize_all(connection, owner, [(lease, ending)])[0]


def tick_at_work(jobrunner: Commands, app: App, **env: str) -> "subprocess.Popen[str]":
    """A tick, once another handler has begun."""
    before = len(app.trace())
    process = jobrunner.start("tick", env=env)
    wait_for(lambda: len(app.trace()) > before, 20, "the handler's line")
    return process
