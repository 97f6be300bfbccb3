"""The one guarded write that ends an attempt: by its owner (finalize) or after its lease (recover).

Every function expects to be the body of one write transaction (``Database.write``).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from typing import Any

from sqlalchemy import Connection, RowMapping, func, insert, null, select, update

from jobrunner import faults
from jobrunner.lifecycle import FINISHED, Ending, Event, Outcome, Standing, Verdict, decide
from jobrunner.model import Lease, Owner
from jobrunner.store import dialect
from jobrunner.store.claims import NO_LOCK, RUNNING
from jobrunner.store.dialect import now
from jobrunner.store.schema import job_attempts, job_recoverable, job_runs
from jobrunner.text import one_line, storable

_EXPIRED = "lease_expired"


class Refusal(Enum):
    """Why a finalize changed nothing."""

    LEASE_LOST = "the lease was lost"
    ALREADY_APPLIED = "an earlier finalize, whose COMMIT got no answer, was applied"


@dataclass(frozen=True, slots=True)
class Ended:
    """What became of a run, for the log line."""

    run_id: int
    job_type: str
    attempt: int
    verdict: Verdict
    run_at: datetime


def finalize(connection: Connection, owner: Owner, lease: Lease, ending: Ending) -> Ended | Refusal:
    """End the attempt that ``lease`` stands for. A lost lease is a normal answer and writes nothing."""
    held = connection.execute(
        _locked(job_runs.c.id == lease.run_id, job_runs.c.lease_token == lease.token).with_for_update()
    ).mappings()
    row = held.one_or_none()
    if row is None:
        return Refusal.ALREADY_APPLIED if _was_applied(connection, owner, lease) else Refusal.LEASE_LOST
    ended = _end(connection, row, ending)
    faults.reach("finalize.before_commit", cut=lambda: dialect.sever(connection))
    return ended


def expired_owners(connection: Connection) -> list[tuple[str, str]]:
    """(host, owner's name) of every expired lease. Expects any transaction."""
    columns = job_recoverable.c
    rows = connection.execute(select(columns.host, columns.locked_by).distinct())
    return [(row.host, row.locked_by) for row in rows]


def expired_runs(connection: Connection) -> list[int]:
    """The ids of runs whose lease has expired. Expects any transaction."""
    return list(connection.execute(select(job_recoverable.c.id).order_by(job_recoverable.c.id)).scalars())


def recover(
    connection: Connection, limit: int, *, owners: Collection[str] | None = None, only: int | None = None
) -> list[Ended]:
    """End attempts whose lease has expired, of all types, at most ``limit``: a crash is an attempt used.

    Rows that another tick recovers at the moment are passed over. No user code is known here, so the
    default backoff applies. ``owners`` names those whose handlers are stopped; None: all. ``only`` is for a run that
    could not be written together with others: this time without what its handler said.
    """
    # The view itself is what is locked, so that PostgreSQL asks its whole condition again of a row that changed
    # meanwhile: a lease renewed at this moment is passed over.
    expired = select(job_recoverable.c.id).order_by(job_recoverable.c.id).limit(limit).with_for_update(skip_locked=True)
    if owners is not None:
        expired = expired.where(job_recoverable.c.locked_by.in_(owners))
    if only is not None:
        expired = expired.where(job_recoverable.c.id == only)
    ids = list(connection.execute(expired).scalars())
    rows = connection.execute(_locked(job_runs.c.id.in_(ids)).order_by(job_runs.c.id)).mappings().all()
    ended = [_end(connection, row, _expired(row, with_output=only is None)) for row in rows]
    faults.reach("recover.before_commit", cut=lambda: dialect.sever(connection))
    return ended


def _expired(row: RowMapping, *, with_output: bool) -> Ending:
    return Ending(
        Outcome.LEASE_EXPIRED,
        error_type=_EXPIRED,
        error=f"the lease of {row['locked_by']} expired: its tick was killed, stalled or cut off",
        output=row["output"] if with_output else None,
    )


_READ = (
    "id", "job_type", "attempts", "max_attempts", "claimed_at", "started_at", "cancel_requested_at", "releases",
    "lease_expiries", "locked_by", "host", "lease_token", "output", "run_at",
)  # fmt: skip


def _locked(*conditions: Any) -> Any:
    columns = [job_runs.c[name] for name in _READ]
    return select(*columns, now().label("now")).where(job_runs.c.status == RUNNING, *conditions)


def _was_applied(connection: Connection, owner: Owner, lease: Lease) -> bool:
    columns = job_attempts.c
    found = connection.execute(
        select(columns.id).where(
            columns.run_id == lease.run_id,
            columns.lease_token == lease.token,
            columns.worker == owner.name,
            # Recovery, too, writes the attempt under its owner's name: then the lease was lost.
            columns.error_type.is_distinct_from(_EXPIRED),
        )
    )
    return found.one_or_none() is not None


def _end(connection: Connection, row: RowMapping, ending: Ending) -> Ended:
    ending = _fit(ending)
    standing = Standing(
        attempts=row["attempts"],
        max_attempts=row["max_attempts"] or 1,
        started=row["started_at"] is not None,
        cancel_requested=row["cancel_requested_at"] is not None,
        releases=row["releases"],
        lease_expiries=row["lease_expiries"],
    )
    verdict = decide(standing, ending)
    run_at = row["run_at"] if verdict.wait is None else row["now"] + verdict.wait
    changed = connection.execute(
        update(job_runs)
        .where(job_runs.c.id == row["id"], job_runs.c.status == RUNNING, job_runs.c.lease_token == row["lease_token"])
        .values(**_ended_columns(verdict, ending, row["now"], run_at))
    )
    if changed.rowcount != 1:
        raise RuntimeError(f"run {row['id']} changed although its row was locked")
    if verdict.outcome is not None:
        _record_attempt(connection, row, verdict, ending)
    return Ended(row["id"], row["job_type"], row["attempts"], verdict, run_at)


def _ended_columns(verdict: Verdict, ending: Ending, at: datetime, run_at: datetime) -> dict[str, Any]:
    """Every column that leaving ``running`` writes, whichever way out: no caller assembles a half-right set."""
    columns: dict[str, Any] = {
        "status": verdict.status.value,
        "attempts": verdict.attempts,
        "releases": verdict.releases,
        "lease_expiries": verdict.lease_expiries,
        "run_at": run_at,
        "output": null(),
        "updated_at": at,
        **NO_LOCK,
    }
    if verdict.status in FINISHED:
        columns["finished_at"] = at
    if verdict.event is Event.SUCCEED:
        columns |= {"error_type": null(), "last_error": null(), "result": ending.result}
    elif verdict.event in (Event.FAIL, Event.GIVE_UP):
        columns |= {"error_type": verdict.error_type, "last_error": verdict.error, "failed_at": at}
    elif verdict.event is Event.DROP:
        columns |= {"error_type": verdict.error_type, "last_error": verdict.error}
    return columns


def _record_attempt(connection: Connection, row: RowMapping, verdict: Verdict, ending: Ending) -> None:
    assert verdict.outcome is not None
    columns = job_attempts.c
    last = select(func.coalesce(func.max(columns.sequence), 0)).where(columns.run_id == row["id"])
    connection.execute(
        insert(job_attempts).values(
            run_id=row["id"],
            sequence=last.scalar_subquery() + 1,
            attempt=row["attempts"],
            lease_token=row["lease_token"],
            worker=row["locked_by"],
            # None only by hand; the trail without a host is better than a run that nobody can recover.
            host=row["host"] or "",
            started_at=row["started_at"] or row["claimed_at"],
            finished_at=row["now"],
            outcome=verdict.outcome.value,
            error_type=verdict.error_type,
            error=verdict.error,
            traceback=ending.traceback,
            output=ending.output,
            exit_signal=ending.exit_signal,
        )
    )


def _fit(ending: Ending) -> Ending:
    """Texts that both databases can hold: an error must never be what keeps a run from being finalized."""
    return replace(
        ending,
        error_type=None if ending.error_type is None else one_line(ending.error_type, 200),
        error=None if ending.error is None else one_line(ending.error),
        traceback=None if ending.traceback is None else storable(ending.traceback),
        output=None if ending.output is None else storable(ending.output),
    )
