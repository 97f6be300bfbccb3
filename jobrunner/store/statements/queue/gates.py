"""The gates that runs of limited types wait behind: since when, and the state of their rates."""

from __future__ import annotations

from typing import Any

import sqlalchemy
from sqlalchemy import (
    ColumnElement,
    Delete,
    Executable,
    Integer,
    ScalarSelect,
    Select,
    Update,
    and_,
    bindparam,
    case,
    func,
    null,
    or_,
    select,
    true,
    tuple_,
    update,
)

from jobrunner.store.schema import job_gates, job_runs
from jobrunner.store.sql.dialect.rows import rows
from jobrunner.store.sql.dialect.statements import inserting
from jobrunner.store.sql.dialect.values import UtcTime, now
from jobrunner.store.statements.queue.backpressure import WAITING

_OF_TYPE: ColumnElement[str] = bindparam("of_type", type_=job_gates.c.job_type.type)
GATES = {name: job_gates.c[name].type for name in ("job_type", "gate")}
SPENT = {"spent_until": UtcTime(), "opens_at": UtcTime()}


def forget() -> Delete:
    """Delete the gates of a type that no run waits behind."""
    columns = job_runs.c
    behind = select(columns.id).where(
        columns.job_type == job_gates.c.job_type, columns.gate == job_gates.c.gate, WAITING
    )
    return sqlalchemy.delete(job_gates).where(job_gates.c.job_type == _OF_TYPE, ~behind.correlate(job_gates).exists())


def reopen() -> Update:
    """Let a claim ask for every gate of a type again, because its rate has changed."""
    return update(job_gates).where(job_gates.c.job_type == _OF_TYPE).values(opens_at=null())


def old() -> Select[Any]:
    """Lock gates that nothing waits behind, and whose rates have nothing to remember."""
    columns = job_gates.c
    is_spent = and_(columns.spent_until.is_not(None), columns.spent_until > now())
    found = select(columns.job_type, columns.gate).where(columns.turn_at.is_(None), ~is_spent)
    return found.limit(bindparam("limit", type_=Integer)).with_for_update(skip_locked=True)


def delete() -> Delete:
    """Delete the gates of a list."""
    given = rows("given", GATES)
    key = tuple_(job_gates.c.job_type, job_gates.c.gate)
    return sqlalchemy.delete(job_gates).where(key.in_(select(given.c.job_type, given.c.gate)))


def enter() -> Executable:
    """Note at the gates of a list, which are inserted if they do not exist, that runs wait from this turn on."""
    columns, given = job_gates.c, rows("given", {**GATES, "turn_at": UtcTime()})
    # WHERE true, because without a WHERE SQLite reads the ON of ON CONFLICT as part of a join.
    source = select(given.c.job_type, given.c.gate, given.c.turn_at).where(true()).order_by(given.c.gate)
    insert = inserting(job_gates).from_select(["job_type", "gate", "turn_at"], source)
    new = insert.excluded.turn_at
    first = case((or_(columns.turn_at.is_(None), new < columns.turn_at), new), else_=columns.turn_at)
    statement: Executable = insert.on_conflict_do_update(
        index_elements=[columns.job_type, columns.gate], set_={"turn_at": first}
    )
    return statement


def settle() -> Update:
    """After a claim: what waits behind these gates now, and the state of their rates."""
    given = rows("given", GATES | SPENT)
    values = {"turn_at": first_turn(), **spent(job_gates, given)}
    return update(job_gates).where(*_is_in(given)).values(values)


def first_turn() -> ScalarSelect[Any]:
    """The turn of the first run that waits behind a gate."""
    columns = job_runs.c
    behind = select(columns.turn_at).where(
        columns.job_type == job_gates.c.job_type, columns.gate == job_gates.c.gate, WAITING
    )
    behind = behind.order_by(columns.turn_at, columns.run_at, columns.id).limit(1)
    return behind.correlate(job_gates).scalar_subquery()


def first_turns() -> Select[Any]:
    """The turn of the first run that waits behind any gate of each of these types."""
    columns, given = job_gates.c, rows("given", {"job_type": job_gates.c.job_type.type})
    found = select(columns.job_type, func.min(columns.turn_at)).join_from(
        given, job_gates, columns.job_type == given.c.job_type
    )
    return found.where(columns.turn_at.is_not(None)).group_by(columns.job_type)


def next_opening() -> Executable:
    """When the rate of the next gate of a type allows a run that waits behind it."""
    columns = job_gates.c
    return select(func.min(columns.opens_at).label("opens_at"), now().label("now")).where(
        columns.job_type == _OF_TYPE, columns.turn_at.is_not(None), columns.opens_at > now()
    )


def is_waited_for() -> Select[Any]:
    """Whether a run waits behind any gate of a type."""
    columns = job_gates.c
    return select(columns.gate).where(columns.job_type == _OF_TYPE, columns.turn_at.is_not(None)).limit(1)


def spent(table: Any, given: Any) -> dict[str, Any]:
    return {name: func.coalesce(given.c[name], table.c[name]) for name in SPENT}


def _is_in(given: Any) -> list[ColumnElement[bool]]:
    return [job_gates.c[name] == given.c[name] for name in GATES]
