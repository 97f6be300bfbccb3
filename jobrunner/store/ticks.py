"""The rows of ticks, the question whether anything is due, and the pruning of old rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import (
    Connection,
    Float,
    ScalarSelect,
    bindparam,
    delete,
    exc,
    exists,
    func,
    insert,
    literal_column,
    or_,
    select,
    union_all,
    update,
)

from jobrunner import failpoints
from jobrunner.lifecycle import QUARANTINE_AFTER_EXPIRIES, Status
from jobrunner.model import Owner, Policy
from jobrunner.store.dialect.connections import sever
from jobrunner.store.dialect.values import later, now
from jobrunner.store.schema import ANY_RELEASES, job_attempts, job_events, job_runs, job_state, job_ticks
from jobrunner.store.views import job_claimable, job_expandable, job_overdue, job_recoverable

PRUNE_EVERY = timedelta(minutes=10)
_BATCH = 500
"""How many rows of each kind one ``prune`` deletes at most."""


def open_tick(connection: Connection, owner: Owner, version: str) -> int:
    """Insert the row of a tick that begins, and return its id. Expects a write transaction."""
    statement = insert(job_ticks).values(host=owner.host, worker=owner.name, version=version, started_at=now())
    return int(connection.execute(statement.returning(job_ticks.c.id)).scalar_one())


def close_tick(connection: Connection, tick_id: int, counts: Mapping[str, int], error: str | None) -> None:
    """Close the row of a tick. Expects a write transaction. An open row is a tick that is at work or was killed."""
    connection.execute(
        update(job_ticks).where(job_ticks.c.id == tick_id).values(finished_at=now(), counts=dict(counts), error=error)
    )


def is_anything_due(connection: Connection) -> bool:
    """Whether there is anything to recover, end, expand or claim, of any job type."""
    earliest = earliest_claimable()
    others = [exists(select(view.c.id)) for view in (job_expandable, job_recoverable)]
    due = or_(earliest.is_not(None), earliest_overdue().is_not(None), *others)
    return bool(connection.execute(select(due)).scalar_one())


def earliest_claimable() -> ScalarSelect[Any]:
    """When the earliest claimable run was due. NULL means that there is none.

    A question for any claimable run would be slow: the planner would scan all runs and expect to find one soon.
    """
    return select(func.min(job_claimable.c.run_at)).where(ANY_RELEASES).scalar_subquery()


def earliest_overdue() -> ScalarSelect[Any]:
    """The start deadline that passed first. NULL means none. It asks for the earliest for the same reason."""
    return select(func.min(job_overdue.c.start_deadline_at)).scalar_subquery()


def count_claimable(connection: Connection, policies: Sequence[Policy], limit: int) -> int:
    """How many runs of these types are due, counted up to ``limit``."""
    columns = job_claimable.c
    each = [
        # In the order of the claim's index. Otherwise the planner may scan all runs and expect to find enough soon.
        select(columns.id)
        .where(columns.job_type == policy.job_type)
        .order_by(columns.priority.desc(), columns.run_at, columns.id)
        .limit(limit if policy.concurrency is None else min(limit, policy.concurrency))
        .subquery()
        for policy in policies
    ]
    due = union_all(*[select(one.c.id) for one in each]).limit(limit)
    return len(connection.execute(due).all()) if each else 0


def is_quarantined_due(connection: Connection) -> bool:
    """Whether a quarantined run of any type is due: one whose lease expired so often that it must start alone."""
    columns = job_claimable.c
    # A literal, as in the index of the quarantined runs.
    quarantined = columns.lease_expiries >= literal_column(str(QUARANTINE_AFTER_EXPIRIES))
    return bool(connection.execute(select(exists(select(columns.id).where(quarantined)))).scalar_one())


def take_prune_turn(connection: Connection) -> bool:
    """Whether this tick must prune, which happens at most every ten minutes per database."""
    earlier = later(bindparam("before", -PRUNE_EVERY.total_seconds(), type_=Float))
    # A time in the future was written before the clock stepped back.
    ahead = later(bindparam("after", PRUNE_EVERY.total_seconds(), type_=Float))
    last = job_state.c.pruned_at
    # If another transaction has locked the row, that one prunes. A tick does not wait for it.
    free = (
        select(job_state.c.id)
        .where(last.is_(None) | (last <= earlier) | (last > ahead))
        .with_for_update(skip_locked=True)
    )
    if connection.execute(free).one_or_none() is None:
        return False
    connection.execute(update(job_state).values(pruned_at=now()))
    return True


@dataclass(frozen=True, slots=True)
class Pruned:
    """The number of deleted rows, the old runs that could not be deleted, and the reason for one of them."""

    deleted: int
    kept: Collection[int] = ()
    reason: str | None = None


def prune(
    connection: Connection, keep: Mapping[str, timedelta], limit: int = _BATCH, besides: Collection[int] = ()
) -> Pruned:
    """Delete one batch of old rows: at most ``limit`` of each kind.

    ``keep`` maps the statuses succeeded, cancelled and dead, and ``ticks`` and ``events``, to how long they are kept.
    Unfinished runs and idempotency keys are never deleted. The database may refuse to delete a run, because a row of
    the application refers to it: give such runs as ``besides`` in the next call.
    """
    deleted, kept, reason = 0, list[int](), None
    for status in (Status.SUCCEEDED, Status.CANCELLED, Status.DEAD):
        ids = _old_runs(connection, status, keep[status], limit, besides)
        stayed, why = _delete_runs(connection, ids)
        deleted += len(ids) - len(stayed)
        kept += stayed
        reason = reason or why
    for table, at, name in ((job_ticks, job_ticks.c.started_at, "ticks"), (job_events, job_events.c.at, "events")):
        old = select(table.c.id).where(at < _before(keep[name])).order_by(at).limit(limit)
        old = old.with_for_update(skip_locked=True)
        # The ids are read first. With a subquery the delete would be planned as a join with the whole table.
        if ids := list(connection.execute(old).scalars()):
            deleted += connection.execute(delete(table).where(table.c.id.in_(ids))).rowcount
    failpoints.hit("prune.before_commit", cut=lambda: sever(connection))
    return Pruned(deleted, kept, reason)


def _old_runs(
    connection: Connection, status: Status, keep: timedelta, limit: int, besides: Collection[int]
) -> list[int]:
    columns = job_runs.c
    old = (
        select(columns.id)
        .where(columns.status == status.value, columns.finished_at.is_not(None), columns.finished_at < _before(keep))
        .order_by(columns.finished_at)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    if besides:
        old = old.where(columns.id.not_in(besides))
    return list(connection.execute(old).scalars())


def _delete_runs(connection: Connection, ids: list[int]) -> tuple[list[int], str | None]:
    """Delete these runs. Returns those that could not be deleted, and why. After a failure each half is tried alone."""
    if not ids:
        return [], None
    try:
        with connection.begin_nested():
            connection.execute(delete(job_attempts).where(job_attempts.c.run_id.in_(ids)))
            connection.execute(delete(job_runs).where(job_runs.c.id.in_(ids)))
    except (exc.IntegrityError, exc.InternalError) as error:
        # A foreign key or a trigger of the application refuses it.
        if len(ids) == 1:
            return ids, str(error.orig).splitlines()[0]
        half = len(ids) // 2
        first, why = _delete_runs(connection, ids[:half])
        second, why_too = _delete_runs(connection, ids[half:])
        return first + second, why or why_too
    return [], None


def _before(keep: timedelta) -> Any:
    return later(bindparam(None, -keep.total_seconds(), type_=Float, unique=True))
