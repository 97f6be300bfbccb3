"""Hosts, ticks and clocks as an operator finds them, made by inserts."""

import json
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from harness.database import Database
from harness.invariants import insert_runs
from jobrunner.store.sql.histogram import BOUNDS_BYTES, BOUNDS_SECONDS

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def insert_row(database: Database, table: str, row: Mapping[str, object]) -> None:
    marks = ", ".join("?" * len(row))
    database.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", row.values())


def insert_ticks(
    database: Database, host: str, ago: timedelta = timedelta(0), count: int = 3, **columns: object
) -> None:
    """Ticks of a host, a minute apart, the last of them so long ago."""
    for number in reversed(range(count)):
        at = database.now() - ago - number * MINUTE
        row: dict[str, object] = {"host": host, "worker": f"{host}:{number}:a", "version": "1", "started_at": at}
        insert_row(database, "job_ticks", row | {"finished_at": at, "counts": {}} | columns)


def old_runs(database: Database, count: int, ago: timedelta, job_type: str = "report", **columns: Any) -> None:
    insert_runs(database, count, job_type, run_at=database.now() - ago, **columns)


def dead_runs(database: Database, count: int, ago: timedelta, job_type: str = "report") -> None:
    insert_runs(database, count, job_type, status="dead", finished_at=database.now() - ago)


def schedule(database: Database, name: str, **columns: object) -> None:
    now = database.now()
    row: dict[str, object] = {"name": name, "job_type": "report", "payload": {}, "schedule": "@daily"}
    row |= {"timezone": "UTC", "source": "cli", "last_slot_at": now, "created_at": now, "updated_at": now} | columns
    insert_row(database, "job_definitions", row)


def judged(database: Database, status: str, ago: timedelta, last_error: str | None = None) -> None:
    """A run of a schedule that calls ``jobrunner verify``, which ended so long ago."""
    if not database.value("SELECT count(*) FROM job_definitions WHERE name = 'nightly'"):
        schedule(database, "nightly", job_type="verify")
    found = {"error_type": "exit_status", "last_error": last_error or "exit status 1: 9 runs: 1 breach of one_owner"}
    definition_id = database.value("SELECT id FROM job_definitions WHERE name = 'nightly'")
    at = database.now() - ago
    columns: dict[str, Any] = {"definition_id": definition_id, "status": status, "run_at": at, "finished_at": at}
    insert_runs(database, 1, "verify", **columns | (found if status == "dead" else {}))


def pause(database: Database, kind: str, name: str, ago: timedelta, reason: str | None = None) -> None:
    at = database.now() - ago
    row = {"kind": kind, "name": name, "actor": "ada@web1", "reason": reason, "paused_at": at}
    insert_row(database, "job_pauses", row)


def set_limit(database: Database, job_type: str, ago: timedelta, **values: Any) -> None:
    at = database.now() - ago
    row = {"max_running": 2, "actor": "ada@web1", "set_at": at, **values}
    insert_row(database, "job_set_limits", {"job_type": job_type, **row})


def _in_bin(bounds: Sequence[float], value: float, count: int) -> str:
    return json.dumps([0] * bisect_left(bounds, value) + [count])


def counted(
    database: Database, job_type: str, ago: timedelta, ends: int, seconds: float, mebibytes: float = 0, **columns: Any
) -> None:
    """The tally of an hour or, if it is long ago, of a day: so many attempts, each of which took so much."""
    hour = database.now().replace(minute=0, second=0, microsecond=0)
    row: dict[str, object] = {
        "at": hour - ago,
        "span": "hour" if ago < 8 * DAY else "day",
        "job_type": job_type,
        "outcome": "succeeded",
    }
    row |= {"status": "succeeded", "ends": ends, "waited": 0.0, "longest_wait": 0.0, "waits": "[]", "is_in_totals": 1}
    row |= {"ran": seconds * ends, "longest_run": seconds}
    size = mebibytes * 2**20
    row |= {"runs": _in_bin(BOUNDS_SECONDS, seconds, ends), "most_memory": int(size)}
    row["memories"] = _in_bin(BOUNDS_BYTES, size, ends) if size else "[]"
    insert_row(database, "job_tallies", row | columns)


def uncertain_effect(database: Database, key: str) -> None:
    row = {"key": key, "state": "intended", "run_id": 99, "job_type": "pay", "attempt": 1, "lease_token": "x"}
    insert_row(database, "job_effects", row | {"token": "t", "intended_at": database.now() - HOUR})
