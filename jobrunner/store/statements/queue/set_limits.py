"""What operators have set instead of the limits of the code."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    ColumnElement,
    Delete,
    Executable,
    Select,
    Update,
    bindparam,
    case,
    delete,
    literal_column,
    null,
    or_,
    select,
    update,
)

from jobrunner.store.schema import job_limits, job_locks, job_set_limits
from jobrunner.store.sql.dialect.statements import inserting
from jobrunner.store.sql.dialect.values import now

_COLUMNS = job_set_limits.c
_OF_TYPE: ColumnElement[str] = bindparam("of_type", type_=_COLUMNS.job_type.type)
LIMITS = ("max_running", "rate", "burst")
_SHOWN = ("job_type", *LIMITS, "reason", "actor", "set_at", "ends_at")


def stands() -> ColumnElement[bool]:
    """Whether what was set has not ended."""
    return or_(_COLUMNS.ends_at.is_(None), _COLUMNS.ends_at > now())


def of_type_in_force(name: str) -> ColumnElement[Any]:
    """The value that is set for the type of a row of ``job_limits`` now, as a column ``set_…``."""
    # In RETURNING a column has no table before its name, and both tables have it.
    of_type: ColumnElement[str] = literal_column("job_limits.job_type")
    found = select(_COLUMNS[name]).where(_COLUMNS.job_type == of_type, stands())
    return found.scalar_subquery().label(f"set_{name}")


def listed() -> Select[Any]:
    """What is set and has not ended."""
    return select(*(_COLUMNS[name] for name in _SHOWN)).where(stands()).order_by(_COLUMNS.set_at, _COLUMNS.job_type)


def has_ended() -> ColumnElement[Any]:
    """Whether what is set for the type of the parameter has ended: 1, or 0. NULL: nothing is set."""
    found = select(case((stands(), 0), else_=1)).where(_COLUMNS.job_type == _OF_TYPE)
    return found.scalar_subquery().label("has_ended")


def claimers() -> Select[Any]:
    """What each claim locks first: a row for each host."""
    columns = job_locks.c
    return select(columns.name).where(columns.name.like(literal_column("'places of %'"))).order_by(columns.name)


def hold_claimers() -> Select[Any]:
    """Lock those of them that no claim has locked. No claim of these hosts begins before this transaction ends."""
    return claimers().with_for_update(skip_locked=True)


def lock_type() -> Executable:
    """Lock the limits of a type, whose row is inserted if there is none, and let every claim ask again."""
    insert = inserting(job_limits).values(job_type=_OF_TYPE)
    statement: Executable = insert.on_conflict_do_update(
        index_elements=[job_limits.c.job_type], set_={"opens_at": null(), "asked_at": null()}
    )
    return statement


def add() -> Executable:
    """Set limits of a type instead of those that are set. Returns the instants."""
    given = {name: bindparam(name, type_=_COLUMNS[name].type) for name in (*LIMITS, "actor", "reason", "ends_at")}
    values = {**given, "set_at": now()}
    insert = inserting(job_set_limits).values(job_type=_OF_TYPE, **values)
    statement = insert.on_conflict_do_update(index_elements=[_COLUMNS.job_type], set_=values)
    added: Executable = statement.returning(_COLUMNS.set_at, _COLUMNS.ends_at)
    return added


def end() -> Update:
    """End what is set now. Returns the instant, and no row if nothing is."""
    ended = update(job_set_limits).where(_COLUMNS.job_type == _OF_TYPE, stands()).values(ends_at=now())
    return ended.returning(_COLUMNS.ends_at)


def forget() -> Delete:
    """Delete what has ended."""
    return delete(job_set_limits).where(_COLUMNS.job_type == _OF_TYPE, ~stands())
