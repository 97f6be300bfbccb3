"""The expansion of definitions."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    ColumnElement,
    Select,
    TableValuedAlias,
    Update,
    and_,
    bindparam,
    case,
    literal_column,
    not_,
    null,
    or_,
    select,
    update,
)

from jobrunner.model import OVERLAPS, Definition, SlotPolicy
from jobrunner.store.schema import IS_UNFINISHED, job_definitions, job_runs, job_types
from jobrunner.store.schema.views import job_expandable, job_expandable_by_host
from jobrunner.store.sql.dialect.rows import rows
from jobrunner.store.sql.dialect.values import BigKey, now
from jobrunner.store.statements.queue.holding import RUNNING
from jobrunner.store.statements.timetable import overlap

_READ = [name for name in (*Definition._fields, *SlotPolicy._fields) if name != "policy"]


def lock_one() -> Select[Any]:
    """Lock one definition, if it may have a slot to expand and nobody else has locked it.

    The lock on the view makes PostgreSQL check its condition again for a row that another tick has just expanded.
    """
    columns = job_expandable_by_host.c
    is_meant = columns.id == bindparam("definition_id", type_=columns.id.type)
    return select(columns.id).where(is_meant).with_for_update(skip_locked=True)


def lock() -> Select[Any]:
    """Lock the definitions that are longest due, but for those of a list."""
    # The lock on the view makes PostgreSQL check its condition again for a row that another tick has just expanded. The
    # list names the rows to leave out, not those to read: the planner would plan a join with a list for a few rows.
    given = _given("id")
    columns = job_expandable.c
    longest_due = select(columns.id).where(columns.id.not_in(select(given.c.id)))
    limit = bindparam("limit", type_=BigKey)
    return longest_due.order_by(columns.next_run_at, columns.id).limit(limit).with_for_update(skip_locked=True)


def lock_of_host() -> Select[Any]:
    """The same for the definitions of one host, which other hosts do not expand."""
    given = _given("id")
    columns = job_expandable_by_host.c
    is_own = columns.host == bindparam("host", type_=columns.host.type)
    longest_due = select(columns.id).where(is_own, columns.id.not_in(select(given.c.id)))
    limit = bindparam("limit", type_=BigKey)
    return longest_due.order_by(columns.next_run_at, columns.id).limit(limit).with_for_update(skip_locked=True)


def read() -> Select[Any]:
    """Read definitions, and which of their runs block the next slot."""
    given = _given("id")
    columns = [job_definitions.c[name] for name in _READ]
    # One row with LIMIT, not EXISTS. For EXISTS the planner would build a list of all unfinished runs.
    is_blocking = and_(job_runs.c.definition_id == job_definitions.c.id, IS_UNFINISHED, overlap.may_go_on())
    one = select(job_runs.c.id).where(is_blocking).limit(1)
    unfinished = one.where(not_(overlap.waits_for_jitter(job_definitions.c.last_slot_at)))
    waiting = one.where(job_runs.c.status != RUNNING)
    # Each query only for the policies that use it, because most definitions use one of them.
    any_run, waiting_run = (_waits_for(each) for each in ("unfinished", "waiting"))
    queries = (
        case((or_(any_run, waiting_run), unfinished.scalar_subquery())).label("unfinished"),
        case((waiting_run, waiting.scalar_subquery())).label("waiting"),
    )
    return select(*columns, *queries, now().label("now")).where(job_definitions.c.id == given.c.id)


def _waits_for(run: str) -> ColumnElement[bool]:
    """Whether an earlier run of this kind keeps a slot of the definition from getting its run."""
    names = [name for name, policy in OVERLAPS.items() if policy.waits_for == run]
    return or_(*(job_definitions.c.overlap == literal_column(f"'{name}'") for name in names))


def limited_types() -> Select[Any]:
    """The types of a list that have a limit."""
    given = rows("given", {"job_type": job_types.c.job_type.type})
    return select(job_types.c.job_type).where(
        job_types.c.max_waiting.is_not(None), job_types.c.job_type.in_(select(given.c.job_type))
    )


def move() -> Update:
    """Move the watermarks."""
    given = _given("id", "last_slot_at", "next_run_at", "runs_made")
    moved: dict[str, Any] = {"last_slot_at": given.c.last_slot_at, "next_run_at": given.c.next_run_at}
    moved["runs_made"] = job_definitions.c.runs_made + given.c.runs_made
    values = {**moved, "last_error": null(), "updated_at": now()}
    return update(job_definitions).where(job_definitions.c.id == given.c.id).values(values)


def _given(*names: str) -> TableValuedAlias:
    return rows("given", {name: job_definitions.c[name].type for name in names})
