"""Inserts and reads runs directly, since a command takes a third of a second."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from harness import App, Database, wait_for
from harness.database import Row


def queue(database: Database, job_type: str, payload: Mapping[str, Any] | None = None, **values: Any) -> int:
    """A run that has been due for a second; its id."""
    now = database.now()
    row = {"job_type": job_type, "payload": payload or {}, "status": "queued", "priority": 0}
    row |= {"run_at": now - timedelta(seconds=1), "created_at": now, "updated_at": now} | values
    marks = ", ".join("?" * len(row))
    statement = f"INSERT INTO job_runs ({', '.join(row)}) VALUES ({marks}) RETURNING id"
    return int(database.value(statement, row.values()))


def run_of(database: Database, run_id: int) -> Row:
    """The columns of one run."""
    (row,) = database.query("SELECT * FROM job_runs WHERE id = ?", [run_id])
    return row


def status_of(database: Database, run_id: int) -> str:
    """Where one run stands."""
    return str(run_of(database, run_id)["status"])


def attempts_of(database: Database, run_id: int) -> list[Row]:
    """What the trail holds of one run's attempts, in order."""
    return database.query("SELECT * FROM job_attempts WHERE run_id = ? ORDER BY sequence", [run_id])


def attempt_of(database: Database, run_id: int) -> Row:
    """The one attempt of a run that has had just one."""
    (attempt,) = attempts_of(database, run_id)
    return attempt


def make_due(database: Database, run_id: int) -> None:
    """Let a run that waits for its next attempt be due now."""
    database.execute("UPDATE job_runs SET run_at = ? WHERE id = ?", [database.now(), run_id])


def wait_until_running(database: Database, run_id: int) -> None:
    """Until a tick has handed the run to a child."""
    database.wait_until("SELECT status = 'running' AS at_work FROM job_runs WHERE id = ?", [run_id])


def wait_for_attempts(app: App, count: int, seconds: float = 30) -> None:
    """Until so many attempts have left their trace."""
    wait_for(lambda: len(app.trace()) >= count, seconds, f"{count} attempts begun")
