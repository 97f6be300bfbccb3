"""The runs that only one host may claim."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    ColumnElement,
    Integer,
    Select,
    Update,
    bindparam,
    case,
    literal_column,
    null,
    select,
    update,
)

from jobrunner.lifecycle import QUARANTINE_AFTER_EXPIRIES
from jobrunner.store.schema import job_runs
from jobrunner.store.schema.views import job_claimable_by_host
from jobrunner.store.sql.dialect.rows import rows
from jobrunner.store.statements.queue.holding import RUNNING

HOST: ColumnElement[str] = bindparam("host", type_=job_runs.c.only_host.type)


def due_for(host: ColumnElement[str]) -> Select[Any]:
    """The due runs that only this host may claim."""
    return select(job_claimable_by_host.c.id).where(job_claimable_by_host.c.only_host == host)


def open() -> Update:  # noqa: A001 - the name of the statement
    """Make the due runs of some types that are for one host runs of any host, but for locked ones."""
    columns, due = job_runs.c, job_claimable_by_host.c
    given = rows("given", {"job_type": columns.job_type.type})
    mine = due_for(HOST).where(due.job_type.in_(select(given.c.job_type)))
    mine = mine.order_by(due.turn_at, due.run_at, due.id).limit(bindparam("limit", type_=Integer))
    free = mine.with_for_update(skip_locked=True, key_share=True).cte("free")
    # The second condition fits no partial index, as in the claim.
    change = update(job_runs).where(columns.id.in_(select(free.c.id)), columns.status != RUNNING)
    return change.values(only_host=null()).returning(columns.id)


def gates() -> Select[Any]:
    """The gates that those runs of a list wait behind that were not claimed."""
    columns, given = job_runs.c, rows("given", {"id": job_runs.c.id.type})
    is_behind = (columns.status != RUNNING, columns.gate != literal_column("''"))
    found = select(columns.job_type, columns.gate).join_from(given, job_runs, columns.id == given.c.id)
    return found.where(*is_behind).distinct().order_by(columns.job_type, columns.gate)


def close() -> Update:
    """Make runs of a list runs of one host again. Those that wait do so behind no gate, where this host finds them."""
    columns, given = job_runs.c, rows("given", {"id": job_runs.c.id.type})
    gate = case((columns.status == RUNNING, columns.gate), else_=literal_column("''"))
    return update(job_runs).where(columns.id == given.c.id).values(only_host=HOST, gate=gate)


def is_any_quarantined() -> ColumnElement[bool]:
    """Whether a quarantined run is due that only the host of the parameter ``host`` may claim."""
    most: ColumnElement[int] = literal_column(str(QUARANTINE_AFTER_EXPIRIES))
    return due_for(HOST).where(job_claimable_by_host.c.lease_expiries >= most).exists()
