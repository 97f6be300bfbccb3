"""Hosts, ticks and clocks as an operator finds them, made by inserts."""

from datetime import timedelta
from typing import Any

from harness.database import Database
from harness.invariants import insert_runs

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def insert_ticks(
    database: Database, host: str, ago: timedelta = timedelta(0), count: int = 3, **columns: object
) -> None:
    """Ticks of a host, a minute apart, the last of them so long ago."""
    for number in reversed(range(count)):
        at = database.now() - ago - number * MINUTE
        row: dict[str, object] = {"host": host, "worker": f"{host}:{number}:a", "version": "1", "started_at": at}
        row |= {"finished_at": at, "counts": {}} | columns
        marks = ", ".join("?" * len(row))
        database.execute(f"INSERT INTO job_ticks ({', '.join(row)}) VALUES ({marks})", row.values())


def old_runs(database: Database, count: int, ago: timedelta, job_type: str = "report", **columns: Any) -> None:
    insert_runs(database, count, job_type, run_at=database.now() - ago, **columns)


def dead_runs(database: Database, count: int, ago: timedelta, job_type: str = "report") -> None:
    insert_runs(database, count, job_type, status="dead", finished_at=database.now() - ago)


def schedule(database: Database, name: str, **columns: object) -> None:
    now = database.now()
    row: dict[str, object] = {"name": name, "job_type": "report", "payload": {}, "schedule": "@daily"}
    row |= {"timezone": "UTC", "source": "cli", "last_slot_at": now, "created_at": now, "updated_at": now} | columns
    marks = ", ".join("?" * len(row))
    database.execute(f"INSERT INTO job_definitions ({', '.join(row)}) VALUES ({marks})", row.values())
