"""What the hooks notify of: runs that are dead or late, the outbox of the notices, and what ends a trouble."""

from __future__ import annotations

from typing import Any

import sqlalchemy
from sqlalchemy import (
    ColumnElement,
    Float,
    Integer,
    Select,
    Update,
    bindparam,
    case,
    func,
    literal_column,
    null,
    or_,
    select,
    update,
)

from jobrunner.store.schema import (
    IS_UNTOLD,
    job_attempts,
    job_definitions,
    job_notices,
    job_runs,
    job_state,
)
from jobrunner.store.sql.dialect.rows import rows
from jobrunner.store.sql.dialect.statements import inserting
from jobrunner.store.sql.dialect.values import BigKey, later, now

VARIANTS: dict[str, list[tuple[Any, ...]]] = {
    "note_dead": [(True,), (False,)],
}

_OPEN = job_notices.c.is_open == literal_column("1")
_UNSETTLED = job_notices.c.settled_at.is_(None)


def note_dead(of_all: bool) -> Update:
    """Note for the hooks that runs are dead: of all types, or of some types and schedules. Skips locked rows."""
    columns = job_runs.c
    found = select(columns.id).where(IS_UNTOLD, columns.finished_at > _since())
    if not of_all:
        types, schedules = rows("types", {"name": job_runs.c.job_type.type}), _named("schedules")
        ids = select(job_definitions.c.id).where(job_definitions.c.name.in_(select(schedules.c.name)))
        found = found.where(or_(columns.job_type.in_(select(types.c.name)), columns.definition_id.in_(ids)))
    picked = (
        found.order_by(columns.finished_at)
        .limit(bindparam("limit", type_=Integer))
        .with_for_update(skip_locked=True, key_share=True)
        .cte("picked")
    )
    noted = update(job_runs).where(columns.id.in_(select(picked.c.id))).values(told_at=now())
    names = ("id", "definition_id", "job_type", "attempts", "error_type", "last_error", "finished_at")
    return noted.returning(*(columns[name] for name in names))


def _named(name: str) -> Any:
    return rows(name, {"name": job_definitions.c.name.type})


def _since() -> ColumnElement[Any]:
    return later(bindparam("since", type_=Float))


def schedules_of() -> Select[Any]:
    """The names of the definitions of a list."""
    given, columns = rows("given", {"id": BigKey}), job_definitions.c
    return select(columns.id, columns.name).join_from(given, job_definitions, columns.id == given.c.id)


def definitions_named() -> Select[Any]:
    """The definitions of some names."""
    given, columns = _named("given"), job_definitions.c
    return select(columns.id, columns.name).where(columns.name.in_(select(given.c.name)))


def definitions_of() -> Select[Any]:
    """The definitions of some runs."""
    given, columns = rows("given", {"id": BigKey}), job_runs.c
    return select(columns.id, columns.definition_id).join_from(given, job_runs, columns.id == given.c.id)


def outputs() -> Select[Any]:
    """The output of the last attempt of each run of a list."""
    given, columns = rows("given", {"id": BigKey}), job_attempts.c
    last = (
        select(columns.output)
        .where(columns.run_id == given.c.id)
        .order_by(columns.sequence.desc())
        .limit(literal_column("1"))
        .correlate(given)
        .scalar_subquery()
    )
    return select(given.c.id, last.label("output"))


_GIVEN = {name: job_notices.c[name].type for name in ("event", "job_type", "schedule", "receiver", "runs", "detail")}
_GIVEN["is_open"] = job_notices.c.is_open.type


def add() -> Any:
    """Insert notices, but for those of runs whose lateness was notified already."""
    given = rows("given", _GIVEN)
    values = {name: given.c[name] for name in _GIVEN} | {
        "at": now(),
        "seen_to": select(job_state.c.counted_to).scalar_subquery(),
    }
    # SQLite cannot tell ON CONFLICT from a join without a WHERE.
    found = select(*values.values()).select_from(given).where(literal_column("1 = 1"))
    return inserting(job_notices).from_select(list(values), found).on_conflict_do_nothing()


def supersede() -> Update:
    """Close the notices of dead runs of types and schedules of a list: newer ones follow."""
    columns = job_notices.c
    given = rows("given", {name: _GIVEN[name] for name in ("job_type", "schedule")})
    is_of = (columns.job_type == given.c.job_type, columns.schedule == given.c.schedule)
    return update(job_notices).where(_OPEN, columns.event == literal_column("'dead'"), *is_of).values(is_open=0)


def open_troubles() -> Select[Any]:
    """What was notified, and has not succeeded since."""
    columns = job_notices.c
    return select(columns.id, columns.event, columns.job_type, columns.schedule, columns.at, columns.seen_to).where(
        _OPEN
    )


def successes() -> Select[Any]:
    """The attempts after an id, in their order, with what they were attempts of."""
    attempts, after = job_attempts.c, bindparam("after", type_=BigKey)
    some = (
        select(attempts.id, attempts.run_id, attempts.status, attempts.finished_at)
        .where(attempts.id > after)
        .order_by(attempts.id)
        .limit(bindparam("limit", type_=Integer))
        .subquery("some")
    )
    return (
        select(some.c.id, some.c.status, some.c.finished_at, job_runs.c.job_type, job_runs.c.definition_id)
        .join_from(some, job_runs, job_runs.c.id == some.c.run_id)
        .order_by(some.c.id)
    )


def close() -> Update:
    """Close troubles, and tell which of them no other tick has closed."""
    columns, given = job_notices.c, rows("given", {"id": BigKey})
    closed = update(job_notices).where(columns.id == given.c.id, _OPEN).values(is_open=0)
    return closed.returning(columns.event, columns.job_type, columns.schedule, columns.at)


def set_seen() -> Update:
    """Write up to which attempt the open troubles have looked for a success."""
    seen = func.coalesce(
        select(
            case(
                (job_state.c.counted_to < bindparam("upto", type_=BigKey), job_state.c.counted_to),
                else_=bindparam("upto", type_=BigKey),
            )
        ).scalar_subquery(),
        literal_column("0"),
    )
    return update(job_notices).where(_OPEN, job_notices.c.seen_to < seen).values(seen_to=seen)


def claim() -> Update:
    """Take notices for these receivers to send them. Nobody else sends what was taken."""
    columns, given = job_notices.c, _names("given")
    picked = (
        select(columns.id)
        .where(_UNSETTLED, columns.claimed_at.is_(None), columns.receiver.in_(select(given.c.name)))
        .order_by(columns.id)
        .limit(bindparam("limit", type_=Integer))
        .with_for_update(skip_locked=True)
        .cte("picked")
    )
    taken = (
        update(job_notices)
        .where(columns.id.in_(select(picked.c.id)))
        .values(claimed_at=now(), claimed_by=bindparam("owner"), tries=columns.tries + literal_column("1"))
    )
    names = ("id", "at", "event", "job_type", "schedule", "receiver", "runs", "detail", "tries")
    return taken.returning(*(columns[name] for name in names))


def _names(name: str) -> Any:
    return rows(name, {"name": job_notices.c.receiver.type})


_SETTLED = {"id": BigKey, "outcome": job_notices.c.outcome.type, "error": job_notices.c.error.type}


def settle() -> Update:
    """Write what has become of notices that this tick has sent."""
    columns, given = job_notices.c, rows("given", _SETTLED)
    mine = (columns.id == given.c.id, _UNSETTLED, columns.claimed_by == bindparam("owner"))
    return update(job_notices).where(*mine).values(settled_at=now(), outcome=given.c.outcome, error=given.c.error)


def release() -> Update:
    """Let a later tick send notices that have certainly not left this one."""
    columns, given = job_notices.c, rows("given", _SETTLED)
    mine = (columns.id == given.c.id, _UNSETTLED, columns.claimed_by == bindparam("owner"))
    return update(job_notices).where(*mine).values(claimed_at=null(), claimed_by=null(), error=given.c.error)


def give_up_lost() -> Update:
    """Settle what was taken so long ago that the tick that took it must have been killed."""
    columns = job_notices.c
    lost = (_UNSETTLED, columns.claimed_at < _since())
    return (
        sqlalchemy.update(job_notices)
        .where(*lost)
        .values(
            settled_at=now(),
            outcome=literal_column("'lost'"),
            error=literal_column("'the tick that sent it was killed; nobody knows whether it was told'"),
        )
    )


def unsent() -> Select[Any]:
    """The notices of the last time that were not told, the newest first."""
    columns = job_notices.c
    names = ("id", "at", "event", "job_type", "schedule", "receiver", "runs", "outcome", "error")
    return (
        select(*(columns[name] for name in names))
        .where(columns.outcome != literal_column("'sent'"), columns.settled_at > _since())
        .order_by(columns.settled_at.desc())
        .limit(bindparam("limit", type_=Integer))
    )
