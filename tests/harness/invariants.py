"""The invariants of the tables at any quiet moment, and inserted runs for the tests of them."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness import Database
from harness.judge import breaches_at

ASKED = "cancelled only where it was asked for"
UNCHARGED = {"released", "snoozed"}


def insert_runs(
    database: Database,
    count: int,
    job_type: str = "append",
    payload: Mapping[str, Any] | None = None,
    **columns: object,
) -> list[int]:
    """Runs that are due, by one statement: a process for each would take longer than what is tested."""
    now = database.now()
    row: dict[str, Any] = {"job_type": job_type, "payload": json.dumps(payload or {}), "status": "queued"}
    row |= {"priority": 0, "run_at": now, "created_at": now, "updated_at": now} | columns
    marks = ", ".join(["(" + ", ".join("?" * len(row)) + ")"] * count)
    statement = f"INSERT INTO job_runs ({', '.join(row)}) VALUES {marks} RETURNING id"
    return [found["id"] for found in database.query(statement, [*row.values()] * count)]


def statuses(database: Database) -> dict[str, int]:
    """How many runs there are of each status."""
    return {row["status"]: row["n"] for row in database.query("SELECT status, count(*) n FROM job_runs GROUP BY 1")}


def outcomes(database: Database, run_id: int) -> list[str]:
    """How the attempts of a run ended, the first one first."""
    rows = database.query("SELECT outcome FROM job_attempts WHERE run_id = ? ORDER BY sequence", [run_id])
    return [row["outcome"] for row in rows]


def snapshot(database: Database, run_id: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """All that the tables say of a run."""
    attempts = database.query("SELECT * FROM job_attempts WHERE run_id = ? ORDER BY sequence", [run_id])
    return database.query("SELECT * FROM job_runs WHERE id = ?", [run_id]), attempts


def assert_consistent(database: Database) -> None:
    """Status, lock, cancel request, attempts and their rows agree, for every run, and `verify` finds no breach."""
    attempts: dict[int, list[dict[str, Any]]] = {}
    for row in database.query("SELECT * FROM job_attempts ORDER BY run_id, sequence"):
        attempts.setdefault(row["run_id"], []).append(row)
    for run in database.query("SELECT * FROM job_runs"):
        rows = attempts.get(run["id"], [])
        assert problems_of(run, rows) == [], f"{run}\n{rows}\n{database.describe()}"
    assert breaches_at(database.url) == [], database.describe()


def problems_of(run: dict[str, Any], rows: list[dict[str, Any]]) -> list[str]:
    """The rules that a run breaks, by its row and those of its attempts."""
    ended = Counter(row["outcome"] for row in rows)
    charged = sum(count for outcome, count in ended.items() if outcome not in UNCHARGED)
    at_work = run["status"] == "running"
    started = at_work and run["started_at"] is not None
    lock = [run[name] for name in ("locked_by", "locked_until", "lease_token", "host")]
    tokens = [row["lease_token"] for row in rows]
    rules = {
        "a lock exactly while running": all(value is not None for value in lock) if at_work else not any(lock),
        "no cancel request on what waits": run["status"] not in ("queued", "failed")
        or run["cancel_requested_at"] is None,
        ASKED: run["status"] != "cancelled" or run["cancel_requested_at"] is not None,
        "one row per lease": len(set(tokens)) == len(tokens),
        "a sequence without gaps": [row["sequence"] for row in rows] == list(range(1, len(rows) + 1)),
        "attempts are what was charged": run["attempts"] == charged + started,
        "done once": ended["succeeded"] == (run["status"] == "succeeded"),
        "nothing after success": "succeeded" not in [row["outcome"] for row in rows[:-1]],
        "an end exactly when finished": (run["finished_at"] is not None)
        == (run["status"] in ("succeeded", "dead", "cancelled")),
    }
    return [rule for rule, holds in rules.items() if not holds]


def read_log(path: Path) -> list[dict[str, Any]]:
    """The lines of a tick's log file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def wait_for_exit(process: Any, code: int, deadline_seconds: float = 30) -> str:
    """The end of a command that was started: with this exit code, nothing on stdout; returns its stderr."""
    stdout, stderr = process.communicate(timeout=deadline_seconds)
    assert (process.returncode, stdout) == (code, ""), f"exit {process.returncode}: {stdout}{stderr}"
    assert "Traceback" not in stderr
    return str(stderr)
