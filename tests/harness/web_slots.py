"""Schedules, the runs of their slots and the notes about skipped slots, as rows, at noon of a Friday."""

from datetime import UTC, datetime, timedelta
from typing import Any

from harness.database import Database
from harness.invariants import insert_runs
from harness.web_day import insert

NOW = datetime(2027, 3, 26, 12, tzinfo=UTC)
"""Two days before the clocks go forward in Berlin."""


def add_schedule(database: Database, name: str, schedule: str | None, **columns: Any) -> int:
    """The id of a definition that is ninety days old."""
    made = {"created_at": NOW - timedelta(days=90), "updated_at": NOW - timedelta(days=90), "last_slot_at": NOW}
    fixed = {"job_type": "append", "payload": {}, "source": "cli", "timezone": "UTC", **made}
    return insert(database, "job_definitions", [{"name": name, "schedule": schedule, **fixed, **columns}])[0]


def run_of(database: Database, definition_id: int, slot: datetime, status: str, late: int = 5, **columns: Any) -> int:
    """The id of the run of a slot, which began so many seconds late."""
    started = slot + timedelta(seconds=late)
    times = {"run_at": slot, "started_at": started, "finished_at": started + timedelta(seconds=1)}
    given = {"definition_id": definition_id, "scheduled_for": slot, "attempts": 1, **times, **columns}
    return insert_runs(database, 1, "append", status=status, **given)[0]


def note_skipped(
    database: Database, definition_id: int, first: datetime, last: datetime, count: int, reason: Any
) -> None:
    """What a tick writes about slots that get no run."""
    detail = {"from": first.isoformat(), "to": last.isoformat(), "count": count, "reason": reason}
    event = {"at": NOW, "actor": "tick", "action": "skip slots", "definition_id": definition_id, "detail": detail}
    insert(database, "job_events", [event])
