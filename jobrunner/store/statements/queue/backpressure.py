"""What is stored about a job type: its limit of waiting runs, and the scope of its keys."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    ColumnElement,
    Executable,
    Integer,
    Select,
    Update,
    bindparam,
    exists,
    func,
    literal,
    literal_column,
    or_,
    select,
    update,
)

from jobrunner.store.schema import job_runs, job_types
from jobrunner.store.sql.dialect.statements import inserting
from jobrunner.store.sql.dialect.values import now

# Literals. With bound parameters the planner could not know that it can use the partial index.
WAITING: ColumnElement[bool] = job_runs.c.status.in_((literal_column("'queued'"), literal_column("'failed'")))

# Not the name of the column, which SQLAlchemy reserves in an UPDATE.
_OF_TYPE: ColumnElement[str] = bindparam("of_type", type_=job_types.c.job_type.type)
_RULES = (
    job_types.c.max_waiting,
    job_types.c.when_full,
    job_types.c.key_scope,
    job_types.c.key_window,
    job_types.c.fair_by,
)


def is_limited(job_type: ColumnElement[str]) -> ColumnElement[bool]:
    """A condition: whether a type has a limit. It costs one look-up in its statement."""
    columns = job_types.c
    return exists().where(columns.job_type == job_type, columns.max_waiting.is_not(None))


def rules() -> Select[Any]:
    """The rules of all types that have any."""
    columns = job_types.c
    is_any = or_(columns.max_waiting.is_not(None), columns.key_scope != "forever", columns.fair_by.is_not(None))
    return select(columns.job_type, *_RULES).where(is_any)


def rules_of_type() -> Select[Any]:
    """The rules of a type."""
    return select(*_RULES).where(job_types.c.job_type == _OF_TYPE)


def lock() -> Update:
    """Lock the limit of a type.

    An UPDATE that changes nothing, instead of SELECT FOR UPDATE. At REPEATABLE READ a caller that waited for a mere
    lock goes on with its old snapshot, and does not count the run that was just inserted. After an UPDATE it fails.
    """
    columns = job_types.c
    return (
        update(job_types)
        .where(columns.job_type == _OF_TYPE, columns.max_waiting.is_not(None))
        .values(job_type=columns.job_type)
        .returning(*_RULES)
    )


def count() -> Select[Any]:
    """How many runs of a type wait, up to a limit."""
    some = select(literal(1)).where(job_runs.c.job_type == _OF_TYPE, WAITING)
    return select(func.count()).select_from(some.limit(bindparam("limit", type_=Integer)).subquery())


def declare() -> Executable:
    """Store the rules of a type."""
    columns = job_types.c
    values: dict[str, Any] = {
        "max_waiting": bindparam("new_max_waiting", type_=columns.max_waiting.type),
        "when_full": bindparam("new_when_full", type_=columns.when_full.type),
        "key_scope": bindparam("new_key_scope", type_=columns.key_scope.type),
        "key_window": bindparam("new_key_window", type_=columns.key_window.type),
        "fair_by": bindparam("new_fair_by", type_=columns.fair_by.type),
        "updated_at": now(),
    }
    insert = inserting(job_types).values(job_type=_OF_TYPE, **values)
    statement: Executable = insert.on_conflict_do_update(index_elements=[columns.job_type], set_=values)
    return statement


def count_dropped() -> Update:
    """Add to the count of dropped runs."""
    columns = job_types.c
    more = bindparam("count", type_=Integer)
    return (
        update(job_types).where(columns.job_type == _OF_TYPE).values(dropped=columns.dropped + more, dropped_at=now())
    )
