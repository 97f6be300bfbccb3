"""Which runs and schedules are late: what should have begun and has not."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Float, Integer, Select, bindparam, func, literal_column, select

from jobrunner.store.schema import IS_UNFINISHED, job_definitions, job_gates, job_runs
from jobrunner.store.schema.views import job_stray_gates, job_waiting_types
from jobrunner.store.sql.conditions import EXPAND, UNPAUSED
from jobrunner.store.sql.dialect.ddl import condition
from jobrunner.store.sql.dialect.values import later, now

_WAITS = job_runs.c.status.in_([literal_column("'queued'"), literal_column("'failed'")])
_FIRST = (job_runs.c.turn_at, job_runs.c.run_at, job_runs.c.id)


def of_types() -> Select[Any]:
    """Of each type, the run that waits without a limit whose turn is next, if it is late."""
    columns, types = job_runs.c, job_waiting_types
    of_type = select(columns.id).where(
        _WAITS, columns.job_type == types.c.job_type, columns.gate == literal_column("''")
    )
    return _late(types, of_type.order_by(*_FIRST))


def behind_gates() -> Select[Any]:
    """Of each gate whose turn has come long ago, the run whose turn is next, if it is late."""
    columns, gates = job_runs.c, job_gates.c
    waited = (
        select(gates.job_type, gates.gate)
        .where(gates.turn_at < _since())
        .order_by(gates.turn_at)
        .limit(bindparam("limit", type_=Integer))
        .subquery("waited")
    )
    of_gate = select(columns.id).where(_WAITS, columns.job_type == waited.c.job_type, columns.gate == waited.c.gate)
    return _late(waited, of_gate.order_by(*_FIRST))


def stray() -> Select[Any]:
    """Of each gate that no claim looks behind, the run whose turn is next, if it is late."""
    columns = job_runs.c
    waited = select(job_stray_gates).limit(bindparam("limit", type_=Integer)).subquery("waited")
    of_gate = select(columns.id).where(_WAITS, columns.job_type == waited.c.job_type, columns.gate == waited.c.gate)
    return _late(waited, of_gate.order_by(*_FIRST))


def of_schedules() -> Select[Any]:
    """Of each schedule, its first run that has not ended, if it is late and has not begun."""
    columns, definitions = job_runs.c, job_definitions.alias("schedules")
    first_of_it = select(columns.id).where(
        IS_UNFINISHED, columns.definition_id.is_not(None), columns.definition_id == definitions.c.id
    )
    return _late(definitions, first_of_it.order_by(columns.id)).where(columns.lease_token.is_(None))


def _late(listed: Any, of_each: Select[Any]) -> Select[Any]:
    columns = job_runs.c
    first = of_each.limit(literal_column("1")).correlate(listed).scalar_subquery()
    found = select(first.label("id")).select_from(listed).cte("found")
    names = (columns.id, columns.job_type, columns.definition_id, columns.run_at.label("due_at"))
    return (
        select(*names, now().label("now"))
        .join_from(found, job_runs, columns.id == found.c.id)
        # Who pauses something knows that it waits.
        .where(columns.run_at < _since(), *map(condition, UNPAUSED.values()))
    )


def count() -> Select[Any]:
    """How many runs of a type are late, counted up to a limit."""
    columns = job_runs.c
    late = (
        select(columns.id)
        .where(_WAITS, columns.job_type == bindparam("job_type"), columns.run_at < _since())
        .limit(bindparam("limit", type_=Integer))
    )
    return select(func.count()).select_from(late.subquery())


def slots() -> Select[Any]:
    """The schedules that should have a run by now, and have none yet."""
    columns = job_definitions.c
    return (
        select(columns.job_type, columns.name, columns.next_run_at.label("due_at"), now().label("now"))
        .where(columns.next_run_at < _since(), *map(condition, EXPAND.values()))
        .limit(bindparam("limit", type_=Integer))
    )


def _since() -> ColumnElement[Any]:
    return later(bindparam("since", type_=Float))
