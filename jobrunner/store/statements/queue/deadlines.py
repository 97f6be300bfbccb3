"""Runs whose start deadline has passed."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Select, Text, Update, bindparam, select, update

from jobrunner.lifecycle import Event, Status, target
from jobrunner.store.schema import job_runs
from jobrunner.store.schema.views import job_overdue
from jobrunner.store.sql.dialect.rows import rows
from jobrunner.store.sql.dialect.values import BigKey, now


def overdue() -> Select[Any]:
    """Lock the runs whose start deadline has passed, the longest overdue first."""
    columns = job_overdue.c
    # The lock on the view makes PostgreSQL check its condition again for a row that was just claimed or retried.
    locked = select(job_overdue, now().label("now")).order_by(columns.start_deadline_at)
    return locked.limit(bindparam("limit", type_=BigKey)).with_for_update(skip_locked=True, key_share=True)


def end() -> Update:
    """End runs whose start deadline has passed."""
    given = rows("given", {"id": BigKey, "last_error": Text()})
    values = {
        "status": target(Event.EXPIRE, Status.QUEUED).value,
        "finished_at": now(),
        "error_type": "start_deadline",
        "last_error": given.c.last_error,
        "updated_at": now(),
    }
    return update(job_runs).where(job_runs.c.id == given.c.id).values(values)
