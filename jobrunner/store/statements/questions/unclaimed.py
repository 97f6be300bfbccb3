"""The runs behind gates that are due and that a claim could have taken, or would never see: for ``health``."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    CompoundSelect,
    Float,
    FromClause,
    Integer,
    Select,
    bindparam,
    func,
    literal_column,
    or_,
    select,
    union,
)

from jobrunner.store.schema import job_gates, job_runs
from jobrunner.store.schema.views import job_gated, job_limits_in_force, job_stray_dependants, job_stray_gates
from jobrunner.store.sql.conditions import CLAIM
from jobrunner.store.sql.dialect.ddl import condition
from jobrunner.store.sql.dialect.values import is_one_of, later, now
from jobrunner.store.statements.queue.limits import count_at_work, is_at_work, is_of_limits

_MOST = bindparam("most", type_=Integer)
_MOST_GATES = literal_column("300", Integer())
_MORE_THAN_COUNTED = literal_column("1048576", Integer())


def stray() -> Select[Any]:
    """Of each gate that no claim looks behind: the due run whose turn is next, and how many are due, up to a limit."""
    columns = job_stray_gates.c
    return _first_of_each(select(columns.job_type, columns.gate).distinct().limit(_MOST_GATES).subquery("listed"))


def stray_dependants() -> Select[Any]:
    """Of each type, the due runs that wait for others and have none to wait for."""
    due, strays = job_runs.c, select(job_stray_dependants.c.id).scalar_subquery()
    first: list[Any] = [func.min(due.id).label("id"), func.min(due.run_at).label("run_at"), func.count().label("runs")]
    # That they wait, their view says. Said once more, it would offer the index of all waiting runs.
    is_due = (condition(text) for name, text in CLAIM.items() if name != "waiting")
    return select(due.job_type, *first).where(is_one_of(due.id, strays), *is_due).group_by(due.job_type)


def behind_open_gates() -> Select[Any]:
    """The same of the gates whose turn came long ago, and which no limit closes now."""
    job_limits = job_limits_in_force.alias("job_limits")
    gates, limits, runs = job_gates.c, job_limits.c, job_runs.c
    of_gate = select(func.count()).where(runs.job_type == gates.job_type, runs.gate == gates.gate, is_at_work())
    is_open = (
        or_(limits.rate.is_(None), limits.opens_at.is_(None), limits.opens_at <= now()),
        or_(limits.max_running.is_(None), limits.max_running > count_at_work(job_limits)),
        or_(limits.rate_per_key.is_(None), gates.opens_at.is_(None), gates.opens_at <= now()),
        or_(
            limits.max_running_per_key.is_(None),
            limits.max_running_per_key > of_gate.correlate(job_gates).scalar_subquery(),
        ),
    )
    waited = (
        select(gates.job_type, gates.gate)
        .join_from(job_gates, job_limits, gates.job_type == limits.job_type)
        .where(gates.turn_at.is_not(None), gates.turn_at < later(bindparam("since", type_=Float)), *is_open)
        .where(is_of_limits())
    )
    return _first_of_each(waited.limit(_MOST_GATES).subquery("listed"))


def ended_lately() -> CompoundSelect[Any]:
    """The types of the attempts that ended since an instant, of the newest ones up to a limit."""
    columns, since = job_runs.c, later(bindparam("since", type_=Float))
    ends = {"succeeded": columns.finished_at, "dead": columns.finished_at, "failed": columns.failed_at}
    newest = [
        select(columns.job_type)
        .where(columns.status == literal_column(f"'{status}'"), at.is_not(None), at > since)
        .order_by(at.desc())
        .limit(_MOST)
        .subquery(status)
        for status, at in ends.items()
    ]
    return union(*(select(each.c.job_type) for each in newest))


def _first_of_each(listed: FromClause) -> Select[Any]:
    due, names = job_gated.c, listed.c
    behind = select(due.id, due.turn_at, due.run_at).where(due.job_type == names.job_type, due.gate == names.gate)
    walk = behind.correlate(listed).order_by(due.turn_at, due.run_at, due.id).limit(_MOST).subquery("walk").c
    # One number, as for the types with due runs.
    first = select(walk.id * _MORE_THAN_COUNTED + func.count().over())
    both = first.order_by(walk.turn_at, walk.run_at, walk.id).limit(1).scalar_subquery().label("both")
    found = select(names.job_type, names.gate, both).limit(_MOST_GATES).subquery("found").c
    first_id, runs = found.both // _MORE_THAN_COUNTED, found.both % _MORE_THAN_COUNTED
    each = select(found.job_type, first_id.label("id"), runs.label("runs"))
    first_of = each.subquery("first_of").c
    run_at = select(job_runs.c.run_at).where(job_runs.c.id == first_of.id).scalar_subquery().label("run_at")
    return select(first_of.job_type, first_of.id, run_at, first_of.runs).where(first_of.id.is_not(None))
