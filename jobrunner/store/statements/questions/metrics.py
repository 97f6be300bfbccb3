"""What ``jobrunner metrics`` reads besides the tallies and the findings, and whose turn it is to write."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Float, Select, Update, bindparam, func, or_, select, update

from jobrunner.store.schema import job_runs, job_state
from jobrunner.store.sql.dialect.values import later, now
from jobrunner.store.statements.queue.holding import RUNNING


def running() -> Select[Any]:
    """How many runs of each type are running."""
    columns = job_runs.c
    found = select(columns.job_type, func.count().label("runs")).where(columns.status == RUNNING)
    return found.group_by(columns.job_type).order_by(columns.job_type)


def take_turn() -> Update:
    """Take or keep the turn to write the values of the whole database. Returns no row if another host has it."""
    columns = job_state.c
    host = bindparam("own_host", type_=columns.metrics_host.type)
    # A time in the future was written before the clock stepped back.
    is_over = or_(
        columns.metrics_at < later(bindparam("before", type_=Float)),
        columns.metrics_at > later(bindparam("after", type_=Float)),
    )
    is_free = or_(columns.metrics_host.is_(None), columns.metrics_host == host, is_over)
    return update(job_state).where(is_free).values(metrics_host=host, metrics_at=now()).returning(columns.id)
