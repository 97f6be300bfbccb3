"""Runs that wait for the end of others."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    ColumnElement,
    Delete,
    Executable,
    Insert,
    Integer,
    Select,
    Text,
    Update,
    bindparam,
    delete,
    exists,
    insert,
    literal_column,
    select,
    update,
)

from jobrunner.lifecycle import Event, Status, target
from jobrunner.store.schema import IS_ENDED, job_parents, job_runs
from jobrunner.store.sql.dialect.rows import as_json, rows
from jobrunner.store.sql.dialect.values import BigKey, is_one_of, now, of_application
from jobrunner.store.sql.traits import databases

ONLY_ON = {"hold_in_sql": databases(has_functions=True)}
_ID = {"id": BigKey}
_AFTER: ColumnElement[str] = literal_column("'after'")
IS_BEHIND_PARENTS: ColumnElement[bool] = job_runs.c.gate == _AFTER
"""The gate of a run that waits for the end of others. It is no gate of ``limits``."""


def is_any_ended() -> ColumnElement[bool]:
    """Whether a parent has ended whose dependants do not know it."""
    return exists(select(job_parents.c.run_id).where(IS_ENDED))


# At the enqueue.


def lock_parents() -> Select[Any]:
    """Lock the runs of a list, so that none of them ends meanwhile."""
    columns, given = job_runs.c, rows("given", _ID)
    found = select(columns.id, columns.status, columns.finished_at).join_from(given, job_runs, columns.id == given.c.id)
    return found.order_by(columns.id).with_for_update(of=job_runs, key_share=True)


def mark_parents() -> Update:
    """Note that the runs of a list have dependants."""
    given = rows("given", _ID)
    return update(job_runs).where(job_runs.c.id == given.c.id).values(has_dependants=literal_column("1"))


def attach() -> Insert:
    """Insert the parents of a run."""
    names = ("parent_id", "run_id", "if_parent_fails", "parent_status")
    given = rows("given", {name: job_parents.c[name].type for name in names})
    return insert(job_parents).from_select(names, select(*(given.c[name] for name in names)))


def hold_in_sql() -> Select[Any]:
    """Do these three on PostgreSQL, where an application's role may not do them itself."""
    given = as_json("given", {name: job_parents.c[name].type for name in ("parent_id", "if_parent_fails")})
    called = of_application("hold", Text(), bindparam("run_id", type_=BigKey), given)
    return select(called.label("held"))


def hold() -> Update:
    """Let a run wait for its parents."""
    of_run = job_runs.c.id == bindparam("run_id", type_=BigKey)
    return update(job_runs).where(of_run).values(gate=_AFTER)


# At the end of a parent.


def told() -> Select[Any]:
    """Runs that have a parent whose end they do not know."""
    found = select(job_parents.c.run_id.label("id")).where(IS_ENDED).distinct()
    return found.limit(bindparam("limit", type_=Integer))


def lock() -> Select[Any]:
    """Lock the runs of a list that are free."""
    columns, given = job_runs.c, rows("given", _ID)
    found = select(columns.id, columns.job_type, columns.status, columns.gate, now().label("now"))
    found = found.join_from(given, job_runs, columns.id == given.c.id)
    return found.with_for_update(of=job_runs, skip_locked=True, key_share=True)


def known() -> Select[Any]:
    """The runs of a list that exist."""
    given = rows("given", _ID)
    return select(job_runs.c.id).join_from(given, job_runs, job_runs.c.id == given.c.id)


def take_ends() -> Executable:
    """Delete the parents that have ended of the runs of a list, and return how they ended."""
    columns, given = job_parents.c, rows("given", _ID)
    ended = delete(job_parents).where(is_one_of(columns.run_id, select(given.c.id).scalar_subquery()), IS_ENDED)
    return ended.returning(columns.run_id, columns.parent_id, columns.parent_status, columns.if_parent_fails)


def forget() -> Delete:
    """Delete the parents of the runs of a list."""
    given = rows("given", _ID)
    return delete(job_parents).where(is_one_of(job_parents.c.run_id, select(given.c.id).scalar_subquery()))


def cancel() -> Update:
    """Cancel the runs of a list."""
    given = rows("given", {**_ID, "last_error": Text()})
    values = {
        "status": literal_column(f"'{target(Event.CANCEL, Status.QUEUED)}'"),
        "gate": literal_column("''"),
        "finished_at": now(),
        "error_type": literal_column("'parent_failed'"),
        "last_error": given.c.last_error,
        "updated_at": now(),
    }
    return update(job_runs).where(job_runs.c.id == given.c.id, IS_BEHIND_PARENTS).values(values)


def release() -> Update:
    """Let the runs of a list be claimed that wait for no other parent."""
    columns, given = job_runs.c, rows("given", _ID)
    others = exists(select(job_parents.c.run_id).where(job_parents.c.run_id == columns.id))
    released = update(job_runs).where(columns.id == given.c.id, IS_BEHIND_PARENTS, ~others)
    return released.values(gate=literal_column("''"), updated_at=now()).returning(columns.id)
