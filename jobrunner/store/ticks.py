"""The trail of ticks, the idle question, and what is deleted when it is old enough."""

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
from jobrunner.store import dialect
from jobrunner.store.dialect import later, now
from jobrunner.store.schema import ANY_RELEASES, job_attempts, job_events, job_runs, job_state, job_ticks
from jobrunner.store.views import job_claimable, job_expandable, job_overdue, job_recoverable

PRUNE_EVERY = timedelta(minutes=10)
_BATCH = 500
"""What one ``prune`` deletes of each kind, unless it is told to delete less."""


def open_tick(connection: Connection, owner: Owner, version: str) -> int:
    """Leave the trail of a tick that begins. Expects a write transaction. Returns its id."""
    statement = insert(job_ticks).values(host=owner.host, worker=owner.name, version=version, started_at=now())
    return int(connection.execute(statement.returning(job_ticks.c.id)).scalar_one())


def close_tick(connection: Connection, tick_id: int, counts: Mapping[str, int], error: str | None) -> None:
    """Close the trail. Expects a write transaction. An open row is a tick at work, or one that was killed."""
    connection.execute(
        update(job_ticks).where(job_ticks.c.id == tick_id).values(finished_at=now(), counts=dict(counts), error=error)
    )


def is_anything_due(connection: Connection) -> bool:
    """Whether there is anything to recover, give up, expand or claim, whatever its type."""
    earliest = earliest_claimable()
    others = [exists(select(view.c.id)) for view in (job_expandable, job_recoverable)]
    due = or_(earliest.is_not(None), earliest_overdue().is_not(None), *others)
    return bool(connection.execute(select(due)).scalar_one())


def earliest_claimable() -> ScalarSelect[Any]:
    """When the earliest claimable run was due; NULL: there is none.

    Not just any run: for any, the planner expects to meet one soon in a scan of all runs.
    """
    return select(func.min(job_claimable.c.run_at)).where(ANY_RELEASES).scalar_subquery()


def earliest_overdue() -> ScalarSelect[Any]:
    """The start deadline that passed first; NULL: none. As above: not just any."""
    return select(func.min(job_overdue.c.start_deadline_at)).scalar_subquery()


def count_claimable(connection: Connection, policies: Sequence[Policy], limit: int) -> int:
    """How many runs of these types are due, counted up to ``limit``."""
    columns = job_claimable.c
    each = [
        # In the order of the claim's index: else the planner may expect to meet so many soon in a scan of all.
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
    """Whether a run is due, of whatever type, that took its owner down often enough to be started alone."""
    columns = job_claimable.c
    # A literal, as in the index of the suspects.
    quarantined = columns.lease_expiries >= literal_column(str(QUARANTINE_AFTER_EXPIRIES))
    return bool(connection.execute(select(exists(select(columns.id).where(quarantined)))).scalar_one())


def take_prune_turn(connection: Connection) -> bool:
    """Whether it is this tick's turn to prune: at most every ten minutes per database."""
    earlier = later(bindparam("before", -PRUNE_EVERY.total_seconds(), type_=Float))
    # One that seems to lie ahead is left from before the clock stepped back.
    ahead = later(bindparam("after", PRUNE_EVERY.total_seconds(), type_=Float))
    last = job_state.c.pruned_at
    # Whoever holds the row takes the turn, or keeps everybody from it. A tick has other work than to wait for it.
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
    """How many rows were deleted, and the ids of old runs that had to stay, with the reason for one of them."""

    deleted: int
    kept: Collection[int] = ()
    reason: str | None = None


def prune(
    connection: Connection, keep: Mapping[str, timedelta], limit: int = _BATCH, besides: Collection[int] = ()
) -> Pruned:
    """Delete one batch, ``limit`` of each kind, of what is older than ``keep`` says.

    ``keep`` maps the statuses succeeded, cancelled and dead, and ``ticks`` and ``events``, to how long they
    stay. Runs that are not finished are never deleted, nor are idempotency keys. Nor are runs that the database does
    not let go, since a row of the application's own refers to them: give those as ``besides`` when asking again.
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
        # Asked for first: a delete that asks by itself is planned as a join with the whole table.
        if ids := list(connection.execute(old).scalars()):
            deleted += connection.execute(delete(table).where(table.c.id.in_(ids))).rowcount
    failpoints.hit("prune.before_commit", cut=lambda: dialect.sever(connection))
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
    """Those that had to stay, and why; they are halved until whichever is to blame is alone."""
    if not ids:
        return [], None
    try:
        with connection.begin_nested():
            connection.execute(delete(job_attempts).where(job_attempts.c.run_id.in_(ids)))
            connection.execute(delete(job_runs).where(job_runs.c.id.in_(ids)))
    except (exc.IntegrityError, exc.InternalError) as error:
        # A foreign key of the application's own, or a trigger.
        if len(ids) == 1:
            return ids, str(error.orig).splitlines()[0]
        half = len(ids) // 2
        first, why = _delete_runs(connection, ids[:half])
        second, why_too = _delete_runs(connection, ids[half:])
        return first + second, why or why_too
    return [], None


def _before(keep: timedelta) -> Any:
    return later(bindparam(None, -keep.total_seconds(), type_=Float, unique=True))
