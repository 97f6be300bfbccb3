"""What of a definition stands in the way of its next slot; and, for overlap `replace`, is taken out of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    Update,
    and_,
    bindparam,
    literal_column,
    or_,
    select,
    update,
)

from jobrunner.lifecycle import Event, Status, target
from jobrunner.store import audit, dialect
from jobrunner.store.dialect import BigKey, rows
from jobrunner.store.schema import IS_UNFINISHED, job_definitions, job_runs


def waits_for_jitter(watermark: ColumnElement[Any]) -> ColumnElement[bool]:
    """Whether a run is that of the last slot, which no tick could begin yet when that slot was looked at.

    Where a definition has no other unfinished run, it is in nobody's way: with a jitter that reaches into the next
    minute it becomes due between two ticks, and the tick that could begin it meets the next slot first.
    """
    columns = job_runs.c
    was_not_due = and_(columns.run_at > columns.created_at, columns.run_at > watermark)
    return and_(columns.status == Status.QUEUED.value, columns.started_at.is_(None), was_not_due)


def replace_older(
    connection: Connection, replacements: Sequence[tuple[int, int]], at: datetime
) -> dict[int, tuple[int, ...]]:
    """Cancel what waits, and ask the owner of what is at work to stop it; the ids of both, by definition.

    ``replacements`` names definitions, whose rows are held, each with its new run, which stays.
    """
    if not replacements:
        return {}
    by = dict(replacements)
    given = [{"definition_id": definition_id, "id": run_id} for definition_id, run_id in replacements]
    # A tick has other work than to wait until a person at the database ends a transaction.
    dialect.wait_briefly_for_locks(connection)
    found = connection.execute(_older(), {"given": given}).all()
    in_the_way = {run.definition_id for run in found if not run.only_waits}
    older = [run for run in found if run.definition_id in in_the_way]
    replaced: dict[int, tuple[int, ...]] = defaultdict(tuple)
    for run in older:
        replaced[run.definition_id] += (run.id,)
    waiting = [{"id": run.id} for run in older if run.status != Status.RUNNING]
    at_work = [{"id": run.id} for run in older if run.status == Status.RUNNING and run.cancel_requested_at is None]
    if waiting:
        connection.execute(_cancelling(), {"given": waiting, "at": at})
    if at_work:
        connection.execute(_asking(), {"given": at_work, "at": at})
    audit.write(connection, [_told(run, by[run.definition_id], at) for run in older])
    return replaced


def _told(run: Row[Any], by: int, at: datetime) -> dict[str, Any]:
    return audit.event("tick", "replace", run.definition_id, {"from": run.status, "by": by}, at, run_id=run.id)


@cache
def _older() -> Select[Any]:
    columns = job_runs.c
    given = rows("given", {"definition_id": BigKey, "id": BigKey})
    watermark = job_definitions.c.last_slot_at
    older = select(
        columns.id,
        columns.definition_id,
        columns.status,
        columns.cancel_requested_at,
        waits_for_jitter(watermark).label("only_waits"),
    ).where(
        columns.definition_id == given.c.definition_id,
        job_definitions.c.id == given.c.definition_id,
        columns.id != given.c.id,
        # Not what a person has asked for: the next slot would end each backfill.
        or_(columns.origin.is_(None), columns.origin == literal_column("'slot'")),
        IS_UNFINISHED,
    )
    # Held from here on: what is at work does not end meanwhile, and what waits is not claimed.
    return older.order_by(columns.id).with_for_update(of=job_runs, key_share=True)


@cache
def _cancelling() -> Update:
    at = bindparam("at", type_=job_runs.c.finished_at.type)
    values = {"status": target(Event.CANCEL, Status.QUEUED).value, "finished_at": at, "cancel_requested_at": at}
    return _changing(values)


@cache
def _asking() -> Update:
    return _changing({"cancel_requested_at": bindparam("at", type_=job_runs.c.cancel_requested_at.type)})


def _changing(values: dict[str, Any]) -> Update:
    given = rows("given", {"id": BigKey})
    at = bindparam("at", type_=job_runs.c.updated_at.type)
    return update(job_runs).where(job_runs.c.id == given.c.id).values(**values, updated_at=at)
