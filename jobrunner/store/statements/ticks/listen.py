"""What a listening tick asks."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Float, Select, bindparam, exists, func, literal_column, select, update
from sqlalchemy.sql.dml import ReturningUpdate

from jobrunner.lifecycle import CLAIMABLE
from jobrunner.store.schema import ANY_RELEASES, job_definitions, job_runs, job_ticks
from jobrunner.store.schema.views import job_recoverable
from jobrunner.store.sql.dialect.values import later, now
from jobrunner.store.statements.queue.dependants import is_any_ended
from jobrunner.store.statements.queue.own_runs import HOST, due_for
from jobrunner.store.statements.queue.pauses import is_host_paused
from jobrunner.store.statements.ticks.ticks import (
    earliest_overdue,
    is_any_expandable,
    is_any_gate_ready,
    is_own_row,
    is_ungated_due,
)

_TICK_ID = bindparam("tick_id", type_=job_ticks.c.id.type)


def _is(*names: str) -> list[ColumnElement[bool]]:
    """Whether a tick listens that has these in common with the one that asks."""
    ticks = job_ticks.c
    common = [ticks[name] == bindparam(name, type_=ticks[name].type) for name in names]
    return [*common, ticks.listening_at.is_not(None), ticks.finished_at.is_(None)]


def other_hosts() -> Select[Any]:
    """How many other hosts listen for the same types, with ticks that began at most so many seconds before now."""
    ticks = job_ticks.c
    since = later(bindparam("before", type_=Float))
    is_other = ticks.host != bindparam("host", type_=ticks.host.type)
    others = select(func.count(ticks.host.distinct()).label("hosts"))
    return others.where(*_is("types", "application"), is_other, ticks.started_at > since)


def report() -> ReturningUpdate[Any]:
    """Record that a tick listens, if the row is its own."""
    return update(job_ticks).where(is_own_row()).values(listening_at=now()).returning(job_ticks.c.id)


def is_superseded() -> Select[Any]:
    """Whether a newer tick of the same kind listens."""
    return select(_superseded().label("is_superseded"))


def _superseded() -> ColumnElement[bool]:
    ticks = job_ticks.c
    # This uses the primary key: there are at most a few rows after the row of this tick.
    return exists(select(ticks.id).where(ticks.id > _TICK_ID, *_is("host", "types", "application")))


def look_ahead() -> Select[Any]:
    """Whether a newer tick of the same kind listens, what is due, and when there will be more."""
    runs, definitions = job_runs.c, job_definitions.c
    # Literals. With a bound parameter the planner could not know that it can use the partial index.
    # The first one in the order of the index. As a minimum, all could be read that waits.
    next_run = select(runs.run_at).where(
        runs.status.in_([literal_column(f"'{status}'") for status in CLAIMABLE]),
        runs.run_at > now(),
        # Runs behind gates are due already, or wait for others. One that is not due after the clock has stepped back is
        # found by the question of each second.
        runs.gate == literal_column("''"),
        ANY_RELEASES,
    )
    next_run = next_run.order_by(runs.run_at).limit(literal_column("1"))
    next_slot = select(func.min(definitions.next_run_at)).where(
        definitions.schedule.is_not(None),
        definitions.removed_at.is_(None),
        definitions.paused_at.is_(None),
        definitions.next_run_at > now(),
    )
    return select(
        _superseded().label("is_superseded"),
        is_any_expandable().label("is_expandable"),
        exists(select(job_recoverable.c.id)).label("is_recoverable"),
        earliest_overdue().label("overdue_since"),
        is_ungated_due().label("is_ungated_due"),
        is_any_gate_ready().label("is_gate_ready"),
        exists(due_for(HOST)).label("is_own_due"),
        is_host_paused().label("is_host_paused"),
        is_any_ended().label("is_parent_ended"),
        next_run.scalar_subquery().label("next_run_at"),
        next_slot.scalar_subquery().label("next_slot_at"),
        now().label("now"),
    )
