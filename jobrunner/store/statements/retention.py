"""Rows that are older than their retention, and their deletion.

The ids are read first. With a subquery on its table the delete would be planned as a join with the whole table.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy
from sqlalchemy import Delete, Float, Integer, Select, bindparam, select

from jobrunner.store.dialect.rows import rows
from jobrunner.store.dialect.values import BigKey, later
from jobrunner.store.schema import job_attempts, job_events, job_notices, job_runs, job_ticks

_TABLES = {"runs": job_runs, "ticks": job_ticks, "events": job_events, "notices": job_notices}
VARIANTS = {"old": [("ticks",), ("events",), ("notices",)], "delete": [(name,) for name in _TABLES]}


def old_runs() -> Select[Any]:
    """Lock the oldest finished runs of a status, but for those of a list."""
    columns, given = job_runs.c, rows("given", {"id": BigKey})
    return (
        select(columns.id)
        .where(
            columns.status == bindparam("its_status", type_=columns.status.type),
            columns.finished_at.is_not(None),
            columns.finished_at < _before(),
            columns.id.not_in(select(given.c.id)),
        )
        .order_by(columns.finished_at)
        .limit(bindparam("limit", type_=Integer))
        .with_for_update(skip_locked=True)
    )


def old(name: str) -> Select[Any]:
    """Lock the oldest rows of a table."""
    columns = _TABLES[name].c
    at = columns.started_at if name == "ticks" else columns.at
    found = select(columns.id).where(at < _before()).order_by(at).limit(bindparam("limit", type_=Integer))
    return found.with_for_update(skip_locked=True)


def delete(name: str) -> Delete:
    """Delete the rows of these ids."""
    given = rows("given", {"id": BigKey})
    return sqlalchemy.delete(_TABLES[name]).where(_TABLES[name].c.id.in_(select(given.c.id)))


def delete_attempts() -> Delete:
    """Delete the attempts of these runs."""
    given = rows("given", {"id": BigKey})
    return sqlalchemy.delete(job_attempts).where(job_attempts.c.run_id.in_(select(given.c.id)))


def _before() -> Any:
    return later(bindparam("before", type_=Float))
