"""Which runs of a definition block its next slot, and how the overlap policy "replace" cancels them."""

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
from jobrunner.store import audit
from jobrunner.store.dialect.rows import rows
from jobrunner.store.dialect.statements import wait_briefly_for_locks
from jobrunner.store.dialect.values import BigKey
from jobrunner.store.schema import IS_UNFINISHED, job_definitions, job_runs


def waits_for_jitter(watermark: ColumnElement[Any]) -> ColumnElement[bool]:
    """Whether a run only waits for its jitter: it is a run of the last slot, and was not due when that was expanded.

    Such a run alone does not block the next slot. With a jitter that is longer than the rest of the minute, it becomes
    due between two ticks, and the next tick, which could begin it, expands the next slot first.
    """
    columns = job_runs.c
    was_not_due = and_(columns.run_at > columns.created_at, columns.run_at > watermark)
    return and_(columns.status == Status.QUEUED.value, columns.started_at.is_(None), was_not_due)


def replace_older(
    connection: Connection, replacements: Sequence[tuple[int, int]], at: datetime
) -> dict[int, tuple[int, ...]]:
    """Cancel older waiting runs, and request the cancellation of older running ones. Returns their ids by definition.

    ``replacements`` are definitions, whose rows are locked, each with its new run, which stays.
    """
    if not replacements:
        return {}
    new_runs = dict(replacements)
    given = [{"definition_id": definition_id, "id": run_id} for definition_id, run_id in replacements]
    # A tick does not wait until a person at the database ends a transaction.
    wait_briefly_for_locks(connection)
    found = connection.execute(_older_statement(), {"given": given}).all()
    blocked = {run.definition_id for run in found if not run.only_waits}
    older = [run for run in found if run.definition_id in blocked]
    replaced: dict[int, tuple[int, ...]] = defaultdict(tuple)
    for run in older:
        replaced[run.definition_id] += (run.id,)
    waiting = [{"id": run.id} for run in older if run.status != Status.RUNNING]
    at_work = [{"id": run.id} for run in older if run.status == Status.RUNNING and run.cancel_requested_at is None]
    if waiting:
        connection.execute(_cancel_statement(), {"given": waiting, "at": at})
    if at_work:
        connection.execute(_request_statement(), {"given": at_work, "at": at})
    audit.write(connection, [_event(run, new_runs[run.definition_id], at) for run in older])
    return replaced


def _event(run: Row[Any], new_run: int, at: datetime) -> dict[str, Any]:
    detail = {"from": run.status, "by": new_run}
    return audit.event("tick", "replace", run.definition_id, detail, at, run_id=run.id)


@cache
def _older_statement() -> Select[Any]:
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
        # Not the runs that a person asked for. Otherwise the next slot would cancel a backfill.
        or_(columns.origin.is_(None), columns.origin == literal_column("'slot'")),
        IS_UNFINISHED,
    )
    # Locked from here on, so that no running one ends meanwhile, and no waiting one is claimed.
    return older.order_by(columns.id).with_for_update(of=job_runs, key_share=True)


@cache
def _cancel_statement() -> Update:
    at = bindparam("at", type_=job_runs.c.finished_at.type)
    values = {"status": target(Event.CANCEL, Status.QUEUED).value, "finished_at": at, "cancel_requested_at": at}
    return _change_statement(values)


@cache
def _request_statement() -> Update:
    return _change_statement({"cancel_requested_at": bindparam("at", type_=job_runs.c.cancel_requested_at.type)})


def _change_statement(values: dict[str, Any]) -> Update:
    given = rows("given", {"id": BigKey})
    at = bindparam("at", type_=job_runs.c.updated_at.type)
    return update(job_runs).where(job_runs.c.id == given.c.id).values(**values, updated_at=at)
