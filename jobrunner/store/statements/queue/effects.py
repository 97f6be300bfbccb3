"""The row of a guarded effect: its intent, its outcome, and whether its call is still in progress."""

from __future__ import annotations

from typing import Any, cast

import sqlalchemy
from sqlalchemy import (
    Boolean,
    ColumnElement,
    Delete,
    Executable,
    Integer,
    Select,
    Text,
    Update,
    and_,
    bindparam,
    case,
    func,
    literal_column,
    select,
)
from sqlalchemy.sql.dml import ReturningDelete

from jobrunner.store.schema import job_effects, job_events, job_runs, job_state
from jobrunner.store.sql.dialect.rows import rows
from jobrunner.store.sql.dialect.statements import inserting
from jobrunner.store.sql.dialect.values import BigKey, now, promoted

_COLUMNS = job_effects.c
_APPLIED: ColumnElement[str] = literal_column("'applied'")
_INTENDED: ColumnElement[str] = literal_column("'intended'")
# As the partial index has it.
IS_OPEN: ColumnElement[bool] = _COLUMNS.state != _APPLIED


def is_in_progress() -> ColumnElement[bool]:
    """Whether the run that recorded the intent still holds its lease, so that its call may be under way."""
    runs = job_runs.c
    its_run = and_(runs.id == _COLUMNS.run_id, runs.lease_token == _COLUMNS.lease_token)
    return and_(_COLUMNS.state == _INTENDED, select(runs.id).where(its_run).correlate(job_effects).exists())


def intend() -> Executable:
    """Record the intent of a run that holds its lease.

    Returns no row if it does not, if the key has a row, or if no effect may begin because a standby was promoted.
    """
    runs = job_runs.c
    values: dict[str, Any] = {
        "key": _given("key", "effect"),
        "state": _INTENDED,
        "run_id": runs.id,
        "job_type": runs.job_type,
        "attempt": runs.attempts,
        "lease_token": runs.lease_token,
        "token": _given("token", "call"),
        "intended_at": now(),
    }
    is_allowed = and_(_holds_lease(), promoted().is_(None))
    inserted = inserting(job_effects).from_select(list(values), select(*values.values()).where(is_allowed))
    return cast(Executable, inserted.on_conflict_do_nothing().returning(*_noted()))


def find() -> Select[Any]:
    """The row of a key."""
    return select(*_COLUMNS, is_in_progress().label("in_progress")).where(_is_of_key())


def take_over() -> Update:
    """Record the intent of a run that holds its lease, for a key whose last call is uncertain. Returns no row if not.

    ``known_call`` is that last call: of two runs that take over the same one, one gets it.
    """
    is_held = select(job_runs.c.id).where(_holds_lease()).exists()
    return (
        sqlalchemy.update(job_effects)
        .where(_is_of_key(), _COLUMNS.token == _given("token", "known_call"), IS_OPEN, is_held)
        .values(
            state=_INTENDED,
            run_id=_given("run_id", "run"),
            job_type=_given("job_type", "of_type"),
            attempt=_given("attempt", "of_attempt"),
            lease_token=_given("lease_token", "token"),
            token=_given("token", "call"),
            intended_at=now(),
        )
        .returning(*_noted())
    )


def is_paused() -> Select[Any]:
    """Whether no effect may begin, because a standby was promoted."""
    return select(promoted().is_not(None).label("is_paused"))


def settle() -> Update:
    """Write what became of a call: ``new_state`` and ``new_outcome``. Returns no row if another call took it over."""
    state = _given("state", "new_state")
    return (
        sqlalchemy.update(job_effects)
        .where(_is_of_call())
        .values(state=state, outcome=_given("outcome", "new_outcome"), settled_at=case((state == _APPLIED, now())))
        .returning(_COLUMNS.token)
    )


def clear() -> ReturningDelete[Any]:
    """Remove the row of a call that changed nothing, so that the key can be used again."""
    return sqlalchemy.delete(job_effects).where(_is_of_call()).returning(_COLUMNS.token)


# After a promotion.


def known() -> Select[Any]:
    """The rows of some keys."""
    asked = rows("given", {"effect": _COLUMNS.key.type})
    return select(_COLUMNS.key, _COLUMNS.token, _COLUMNS.state).where(_COLUMNS.key == asked.c.effect)


def answers() -> Select[Any]:
    """What somebody has said since then of the effects of a run."""
    columns = job_events.c
    is_later = columns.at >= bindparam("since", type_=columns.at.type)
    return select(columns.detail).where(
        columns.run_id == bindparam("run", type_=BigKey), columns.action == bindparam("answered", type_=Text), is_later
    )


def put_back() -> Executable:
    """Insert a row that was forgotten, unless its key has one. Returns its state.

    It is applied if it ``was_applied`` and its run is the same one, else only intended: another run may have its id.
    """
    runs = job_runs.c
    its_run = select(runs.id).where(
        runs.id == _given("run_id", "run"),
        runs.created_at == bindparam("run_created_at", type_=runs.created_at.type),
        runs.job_type == _given("job_type", "of_type"),
    )
    was_applied = sqlalchemy.cast(bindparam("was_applied", type_=Boolean), Boolean)
    is_applied = and_(was_applied, its_run.exists())
    values: dict[str, Any] = {
        "key": _given("key", "effect"),
        "state": case((is_applied, _APPLIED), else_=_INTENDED),
        "run_id": _given("run_id", "run"),
        "job_type": _given("job_type", "of_type"),
        "attempt": _given("attempt", "of_attempt"),
        "lease_token": _given("lease_token", "its_lease"),
        "token": _given("token", "call"),
        "outcome": case((is_applied, _given("outcome", "its_outcome"))),
        "intended_at": _given("intended_at", "since"),
        "settled_at": case((is_applied, now())),
    }
    inserted = inserting(job_effects).from_select(list(values), select(*values.values()))
    return cast(Executable, inserted.on_conflict_do_nothing().returning(_COLUMNS.state))


# What an operator does about uncertain effects.


def uncertain() -> Select[Any]:
    """The effects of which it is not known whether they were applied, the oldest first."""
    columns = (_COLUMNS.key, _COLUMNS.run_id, _COLUMNS.job_type, _COLUMNS.attempt, _COLUMNS.intended_at)
    found = select(*columns).where(IS_OPEN, ~is_in_progress()).order_by(_COLUMNS.intended_at, _COLUMNS.key)
    return found.limit(bindparam("most", type_=Integer))


def count_uncertain() -> Select[Any]:
    """How many there are."""
    return select(func.count().label("effects")).where(IS_OPEN, ~is_in_progress())


def lock() -> Select[Any]:
    """The row of a key, locked, and the database's time."""
    found = select(_COLUMNS.state, _COLUMNS.run_id, is_in_progress().label("in_progress"), now().label("now"))
    return found.where(_is_of_key()).with_for_update(of=job_effects)


def mark_applied() -> Update:
    """Somebody says that it was applied."""
    values = {"state": _APPLIED, "settled_at": _given("settled_at", "at"), "outcome": _given("outcome", "new_outcome")}
    return sqlalchemy.update(job_effects).where(_is_of_key()).values(**values)


def forget() -> Delete:
    """Somebody says that it was not applied, so that its key can be used again."""
    return sqlalchemy.delete(job_effects).where(_is_of_key())


def _is_of_key() -> ColumnElement[bool]:
    return _COLUMNS.key == _given("key", "effect")


def _is_of_call() -> ColumnElement[bool]:
    return and_(_is_of_key(), _COLUMNS.token == _given("token", "call"), IS_OPEN)


def _holds_lease() -> ColumnElement[bool]:
    runs = job_runs.c
    return and_(runs.id == _given("run_id", "run"), runs.lease_token == _given("lease_token", "token"))


def _noted() -> tuple[Any, ...]:
    """What a host notes of a call, in case that the database forgets it."""
    runs = job_runs.c
    created_at = select(runs.created_at).where(runs.id == _given("run_id", "run")).scalar_subquery()
    server = select(job_state.c.server).scalar_subquery()
    return server.label("server"), created_at.label("run_created_at"), _COLUMNS.intended_at


def _given(column: str, name: str) -> ColumnElement[Any]:
    # Not the names of the columns, which SQLAlchemy reserves in an UPDATE.
    return bindparam(name, type_=_COLUMNS[column].type)
