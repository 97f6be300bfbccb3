"""The runs that block the next slot of their definition, and their replacement."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Select, Update, and_, bindparam, literal_column, or_, select, update

from jobrunner.lifecycle import Event, Status, target
from jobrunner.store.schema import IS_UNFINISHED, job_definitions, job_runs
from jobrunner.store.sql.dialect.rows import rows
from jobrunner.store.sql.dialect.values import BigKey, now


def waits_for_jitter(watermark: ColumnElement[Any]) -> ColumnElement[bool]:
    """Whether a run only waits for its jitter: it is a run of the last slot, and was not due when that was expanded.

    Such a run alone does not block the next slot. With a jitter that is longer than the rest of the minute, it becomes
    due between two ticks, and the next tick, which could begin it, expands the next slot first.
    """
    columns = job_runs.c
    was_not_due = and_(columns.run_at > columns.created_at, columns.run_at > watermark)
    return and_(columns.status == Status.QUEUED.value, columns.started_at.is_(None), was_not_due)


def may_go_on() -> ColumnElement[bool]:
    """Whether an unfinished run is running or may still begin, so that it blocks the next slot.

    A waiting run whose start deadline has passed may not. Another tick may be about to end it, or a session holds it.
    """
    columns = job_runs.c
    is_in_time = or_(columns.start_deadline_at.is_(None), columns.start_deadline_at > now())
    return or_(columns.lease_token.is_not(None), is_in_time)


def older() -> Select[Any]:
    """Lock the older unfinished runs of definitions that have a new run."""
    columns = job_runs.c
    given = rows("given", {"definition_id": BigKey, "id": BigKey})
    watermark = job_definitions.c.last_slot_at
    older = select(
        columns.id,
        columns.definition_id,
        columns.job_type,
        columns.status,
        columns.cancel_requested_at,
        waits_for_jitter(watermark).label("only_waits"),
    ).where(
        columns.definition_id == given.c.definition_id,
        job_definitions.c.id == given.c.definition_id,
        columns.id != given.c.id,
        # Not the runs that an operator asked for. Otherwise the next slot would cancel a backfill.
        or_(columns.origin.is_(None), columns.origin == literal_column("'slot'")),
        IS_UNFINISHED,
    )
    # Locked from here on, so that no running one ends meanwhile, and no waiting one is claimed.
    return older.order_by(columns.id).with_for_update(of=job_runs, key_share=True)


def cancel() -> Update:
    """Cancel waiting runs."""
    at = bindparam("at", type_=job_runs.c.finished_at.type)
    values = {"status": target(Event.CANCEL, Status.QUEUED).value, "finished_at": at, "cancel_requested_at": at}
    return _change(values)


def request_cancel() -> Update:
    """Request the cancellation of running runs."""
    return _change({"cancel_requested_at": bindparam("at", type_=job_runs.c.cancel_requested_at.type)})


def _change(values: dict[str, Any]) -> Update:
    given = rows("given", {"id": BigKey})
    at = bindparam("at", type_=job_runs.c.updated_at.type)
    return update(job_runs).where(job_runs.c.id == given.c.id).values(**values, updated_at=at)
