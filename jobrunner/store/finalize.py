"""Finalize: the guarded write by which an owner ends its attempts. Recovery uses it for attempts without an owner.

Every function expects to be the body of one write transaction (``Database.write``).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Insert,
    Row,
    Select,
    Text,
    Update,
    and_,
    bindparam,
    case,
    func,
    insert,
    literal_column,
    null,
    select,
    update,
)

from jobrunner import failpoints
from jobrunner.lifecycle import FINISHED, AttemptResult, Decision, Event, RunState, decide
from jobrunner.model import Lease, Owner
from jobrunner.store.dialect.connections import sever
from jobrunner.store.dialect.rows import rows
from jobrunner.store.dialect.values import UtcTime, now
from jobrunner.store.holding import LEASE, NO_LOCK, RUNNING, as_rows, is_held, still_held
from jobrunner.store.output_limits import fit
from jobrunner.store.schema import job_attempts, job_runs

EXPIRED = "lease_expired"
"""The error type of an attempt that recovery has ended."""


class Refusal(Enum):
    """Why a finalize changed nothing."""

    LEASE_LOST = "the lease was lost"
    LOCKED = "another transaction has locked its row"
    ALREADY_APPLIED = "an earlier finalize, whose COMMIT got no answer, was applied"


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of an attempt, for the log line."""

    run_id: int
    job_type: str
    attempt: int
    decision: Decision
    run_at: datetime


def finalize_all(
    connection: Connection,
    owner: Owner,
    ends: Sequence[tuple[Lease, AttemptResult]],
    deploy_grace: timedelta = timedelta(0),
) -> list[Ended | Refusal]:
    """End the attempts of these leases, in one write. The results have the order of ``ends``.

    A lost lease is a normal result, and nothing is written for it. ``deploy_grace`` is for how long a run that does not
    fit the code is tried again. Waits for no locked row: the caller must write that one later.
    """
    found = connection.execute(_locked_statement(), {"given": as_rows(lease for lease, _ in ends)})
    held = {Lease(row.id, row.lease_token): row for row in found}
    # With pop(), so that the attempt of a lease that is listed twice is ended once.
    matched = [(lease, result, held.pop(lease, None)) for lease, result in ends]
    ended = end(connection, [(row, result) for _, result, row in matched if row is not None], deploy_grace)
    missing = [lease for lease, _, row in matched if row is None]
    # In this order, because an earlier finalize, whose COMMIT got no answer, may be applied at any moment.
    locked = still_held(connection, missing)
    applied = _applied(connection, owner, [lease for lease in missing if lease not in locked])
    if ended:
        failpoints.hit("finalize.before_commit", cut=lambda: sever(connection))
    in_order = iter(ended)
    return [_refusal(lease, locked, applied) if row is None else next(in_order) for lease, _, row in matched]


def _refusal(lease: Lease, locked: Collection[Lease], applied: Collection[Lease]) -> Refusal:
    if lease in locked:
        return Refusal.LOCKED
    return Refusal.ALREADY_APPLIED if lease in applied else Refusal.LEASE_LOST


def _applied(connection: Connection, owner: Owner, leases: Sequence[Lease]) -> set[Lease]:
    """The leases whose attempt was ended by this owner."""
    if not leases:
        return set()
    values = {"given": as_rows(leases), "worker": owner.name, "expired": EXPIRED}
    return {Lease(row.run_id, row.lease_token) for row in connection.execute(_applied_statement(), values)}


def end(
    connection: Connection, ends: Sequence[tuple[Row[Any], AttemptResult]], deploy_grace: timedelta = timedelta(0)
) -> list[Ended]:
    """End the attempts of these locked rows. Two statements get the same list, and each uses its part of it."""
    if not ends:
        return []
    at = ends[0][0].now
    given, ended = [], []
    for row, reported in ends:
        result = fit(reported)
        decision = decide(_state_of(row), result, deploy_grace=deploy_grace)
        next_at = None if decision.wait is None else at + decision.wait
        given.append(_given(row, decision, result, next_at))
        ended.append(Ended(row.id, row.job_type, row.attempts, decision, next_at or row.run_at))
    values = {"given": given, "at": at}
    # The attempts first, because the second statement clears the columns of the run that they are made of.
    connection.execute(_record_statement(), values)
    changed = connection.execute(_leave_statement(), values)
    if changed.rowcount != len(ends):
        raise RuntimeError(f"{changed.rowcount} of {len(ends)} runs were ended although their rows were locked")
    return ended


def _state_of(row: Row[Any]) -> RunState:
    return RunState(
        attempts=row.attempts,
        max_attempts=row.max_attempts or 1,
        cancel_requested=row.cancel_requested,
        releases=row.releases,
        lease_expiries=row.lease_expiries,
        incompatible_for=timedelta(0) if row.incompatible_at is None else row.now - row.incompatible_at,
    )


_OF_ATTEMPT = {
    name: job_attempts.c[name].type for name in ("outcome", "error_type", "error", "traceback", "output", "exit_signal")
}
_NEXT = {
    "event": Text(),
    **{
        name: job_runs.c[name].type for name in ("status", "attempts", "releases", "lease_expiries", "run_at", "result")
    },
    **{name: _OF_ATTEMPT[name] for name in ("error_type", "error")},
}


_READ = (
    "id", "lease_token", "job_type", "attempts", "max_attempts", "releases", "lease_expiries", "incompatible_at",
    "run_at",
)  # fmt: skip


_DECIDED = ("event", "status", "attempts", "releases", "lease_expiries", "outcome", "error_type", "error")


def _given(row: Row[Any], decision: Decision, result: AttemptResult, next_at: datetime | None) -> dict[str, Any]:
    return {
        "id": row.id,
        "lease_token": row.lease_token,
        "run_at": next_at,
        **{name: getattr(decision, name) for name in _DECIDED},
        **{name: getattr(result, name) for name in ("result", "traceback", "output", "exit_signal")},
    }


def running(*more: ColumnElement[Any]) -> Select[Any]:
    """Reads what decides the next status of running runs. In any order, because all statements skip locked rows."""
    columns = job_runs.c
    return select(
        *(columns[name] for name in _READ),
        columns.cancel_requested_at.is_not(None).label("cancel_requested"),
        now().label("now"),
        *more,
    ).where(columns.status == RUNNING)


@lru_cache(maxsize=1)
def _locked_statement() -> Select[Any]:
    given = rows("given", LEASE)
    return (
        running()
        .join_from(given, job_runs, is_held(given))
        .with_for_update(of=job_runs, skip_locked=True, key_share=True)
    )


@lru_cache(maxsize=1)
def _applied_statement() -> Select[Any]:
    columns, given = job_attempts.c, rows("given", LEASE)
    of_lease = and_(columns.run_id == given.c.id, columns.lease_token == given.c.lease_token)
    return (
        select(columns.run_id, columns.lease_token)
        .join_from(given, job_attempts, of_lease)
        # Recovery also writes the attempt with the name of the owner. In that case the lease was lost.
        .where(columns.worker == bindparam("worker"), columns.error_type.is_distinct_from(bindparam("expired")))
    )


@lru_cache(maxsize=1)
def _record_statement() -> Insert:
    columns, given, at = job_runs.c, rows("given", LEASE | _OF_ATTEMPT), bindparam("at", type_=UtcTime())
    attempts = job_attempts.c
    last = select(func.coalesce(func.max(attempts.sequence), 0)).where(attempts.run_id == given.c.id)
    values: dict[str, Any] = {
        "run_id": columns.id,
        "sequence": last.correlate(given).scalar_subquery() + 1,
        "attempt": columns.attempts,
        "lease_token": columns.lease_token,
        "worker": columns.locked_by,
        # Only a row written by hand has no host. Without this it could never be recovered.
        "host": func.coalesce(columns.host, literal_column("''")),
        "started_at": func.coalesce(columns.started_at, columns.claimed_at, at),
        "finished_at": at,
        **{name: given.c[name] for name in _OF_ATTEMPT},
    }
    ended = select(*values.values()).join_from(given, job_runs, is_held(given))
    return insert(job_attempts).from_select(list(values), ended)


@lru_cache(maxsize=1)
def _leave_statement() -> Update:
    """Writes all columns that change when a run leaves ``running``, for every event."""
    columns, given, at = job_runs.c, rows("given", LEASE | _NEXT), bindparam("at", type_=UtcTime())

    succeeded = _is_one_of(given.c.event, Event.SUCCEED)
    failed = _is_one_of(given.c.event, Event.FAIL, Event.POSTPONE, Event.GIVE_UP)
    blamed = _is_one_of(given.c.event, Event.FAIL, Event.POSTPONE, Event.GIVE_UP, Event.DROP)
    postponed = _is_one_of(given.c.event, Event.POSTPONE)
    return (
        update(job_runs)
        .where(is_held(given))
        .values(
            **{name: given.c[name] for name in ("status", "attempts", "releases", "lease_expiries")},
            run_at=func.coalesce(given.c.run_at, columns.run_at),
            finished_at=case((_is_one_of(given.c.status, *FINISHED), at), else_=columns.finished_at),
            failed_at=case((failed, at), else_=columns.failed_at),
            # Since the first of the last attempts that all found the run incompatible with the code.
            incompatible_at=case(
                # A clock may have been ahead.
                (and_(postponed, columns.incompatible_at > at), at),
                (postponed, func.coalesce(columns.incompatible_at, at)),
                else_=null(),
            ),
            error_type=case((succeeded, null()), (blamed, given.c.error_type), else_=columns.error_type),
            last_error=case((succeeded, null()), (blamed, given.c.error), else_=columns.last_error),
            result=case((succeeded, given.c.result), else_=columns.result),
            output=null(),
            updated_at=at,
            **NO_LOCK,
        )
    )


def _is_one_of(column: ColumnElement[Any], *values: str) -> ColumnElement[bool]:
    return column.in_([literal_column(f"'{value}'") for value in values])
