"""Ends runs whose start deadline has passed: they become dead, and no attempt of them may start."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import Connection, RowMapping, Select, Text, Update, bindparam, select, update

from jobrunner import failpoints
from jobrunner.lifecycle import Event, Status, target
from jobrunner.store import audit
from jobrunner.store.dialect.connections import sever
from jobrunner.store.dialect.rows import rows
from jobrunner.store.dialect.values import BigKey, now
from jobrunner.store.schema import job_runs
from jobrunner.store.ticks import earliest_overdue
from jobrunner.store.views import job_overdue
from jobrunner.text import iso_instant


@dataclass(frozen=True, slots=True)
class Overdue:
    """A run that was ended, with the reason as its ``error``. ``attempts`` is the number of its failed attempts."""

    run_id: int
    job_type: str
    attempts: int
    error: str


def is_any_overdue(connection: Connection) -> bool:
    """Whether there is such a run. Expects any transaction."""
    return connection.execute(select(earliest_overdue())).scalar_one() is not None


def end_overdue(connection: Connection, limit: int) -> list[Overdue]:
    """End up to ``limit`` runs, the longest overdue first. Skips locked ones. Expects a write transaction."""
    found = connection.execute(_overdue_statement(), {"limit": limit}).mappings().all()
    if not found:
        return []
    ended = [Overdue(row["id"], row["job_type"], row["attempts"], _error(row)) for row in found]
    connection.execute(_end_statement(), {"given": [{"id": each.run_id, "last_error": each.error} for each in ended]})
    audit.write(connection, [_event(row) for row in found])
    failpoints.hit("deadline.before_commit", cut=lambda: sever(connection))
    return ended


def _error(row: RowMapping) -> str:
    tried = f"; tried {row['attempts']} times before" if row["attempts"] else ""
    return f"not started by its start deadline, {iso_instant(row['start_deadline_at'])}{tried}"


def _event(row: RowMapping) -> dict[str, Any]:
    detail = {"from": row["status"], "deadline": row["start_deadline_at"]}
    return audit.event("tick", Event.EXPIRE.value, row["definition_id"], detail, row["now"], row["id"])


@cache
def _overdue_statement() -> Select[Any]:
    columns = job_overdue.c
    # The lock on the view makes PostgreSQL check its condition again for a row that was just claimed or retried.
    locked = select(job_overdue, now().label("now")).order_by(columns.start_deadline_at)
    return locked.limit(bindparam("limit", type_=BigKey)).with_for_update(skip_locked=True, key_share=True)


@cache
def _end_statement() -> Update:
    given = rows("given", {"id": BigKey, "last_error": Text()})
    values = {
        "status": target(Event.EXPIRE, Status.QUEUED).value,
        "finished_at": now(),
        "error_type": "start_deadline",
        "last_error": given.c.last_error,
        "updated_at": now(),
    }
    return update(job_runs).where(job_runs.c.id == given.c.id).values(values)
