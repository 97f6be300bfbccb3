"""Rows that are older than their retention, and their deletion.

The ids are read first. With a subquery on its table the delete would be planned as a join with the whole table.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy
from sqlalchemy import ColumnElement, Delete, Float, Integer, Select, Text, bindparam, func, or_, select

from jobrunner.store.schema import job_attempts, job_events, job_notices, job_runs, job_ticks
from jobrunner.store.sql.dialect.rows import rows
from jobrunner.store.sql.dialect.values import BigKey, later

_TABLES = {"runs": job_runs, "ticks": job_ticks, "events": job_events, "notices": job_notices}
_OF = ("every", "type", "others")
VARIANTS = {
    "old": [("ticks",), ("events",), ("notices",)],
    "delete": [(name,) for name in _TABLES],
    "old_runs": [(of,) for of in _OF],
    "count_old": [("ticks",), ("events",)],
    "count_old_runs": [(of,) for of in _OF],
}


def old_runs(of: str) -> Select[Any]:
    """Lock the oldest finished runs of a status that ended after an instant, but for those of a list.

    ``of``: every type, one type, or all others than those of a list.
    """
    columns, given = job_runs.c, rows("given", {"id": BigKey})
    return (
        select(columns.id, columns.job_type, columns.finished_at)
        .where(
            columns.status == bindparam("its_status", type_=columns.status.type),
            columns.finished_at.is_not(None),
            columns.finished_at < _before(),
            is_slot_before(_before()),
            columns.finished_at >= bindparam("after", type_=columns.finished_at.type),
            columns.id.not_in(select(given.c.id)),
            *_of(of),
        )
        .order_by(columns.finished_at)
        .limit(bindparam("limit", type_=Integer))
        .with_for_update(skip_locked=True)
    )


def is_slot_before(instant: ColumnElement[Any]) -> ColumnElement[bool]:
    """Whether the slot of a run, if it has one, is before an instant: no run may be deleted whose slot is to come.

    After a clock was ahead, such a slot is expanded again. As long as its run is there, the unique index lets it have
    no second one.
    """
    slot = job_runs.c.scheduled_for
    return or_(slot.is_(None), slot < instant)


def _of(of: str) -> list[ColumnElement[bool]]:
    columns = job_runs.c
    if of == "type":
        return [columns.job_type == bindparam("of_type", type_=columns.job_type.type)]
    types = rows("types", {"job_type": Text()})
    return [columns.job_type.not_in(select(types.c.job_type))] if of == "others" else []


def count_old_runs(of: str) -> Select[Any]:
    """How many finished runs of a status are old, by type."""
    columns = job_runs.c
    return (
        select(columns.job_type, func.count().label("rows"))
        .where(
            columns.status == bindparam("its_status", type_=columns.status.type),
            columns.finished_at.is_not(None),
            columns.finished_at < _before(),
            is_slot_before(_before()),
            *_of(of),
        )
        .group_by(columns.job_type)
    )


def count_old(name: str) -> Select[Any]:
    """How many rows of a table are old."""
    columns = _TABLES[name].c
    at = columns.started_at if name == "ticks" else columns.at
    return select(func.count()).select_from(_TABLES[name]).where(at < _before())


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
