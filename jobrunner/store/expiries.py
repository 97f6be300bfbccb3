"""Ending attempts whose lease is over, and what is asked before: whose they were, and what their owners hold."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, select

from jobrunner import failpoints
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.store import dialect
from jobrunner.store.finalize import EXPIRED, Ended, end, running
from jobrunner.store.holding import RUNNING
from jobrunner.store.schema import job_runs
from jobrunner.store.views import job_recoverable


@dataclass(frozen=True, slots=True)
class Expired:
    """A run whose lease is over, and whose it was."""

    run_id: int
    host: str | None
    owner: str | None


def expired_runs(connection: Connection) -> list[Expired]:
    """All of them. Expects any transaction."""
    columns = job_recoverable.c
    return [Expired(*row) for row in connection.execute(select(columns.id, columns.host, columns.locked_by))]


def held_runs(connection: Connection, owners: Collection[str]) -> set[int]:
    """The runs that these owners hold, whether or not their leases are over. Expects any transaction."""
    columns = job_runs.c
    held = select(columns.id).where(columns.status == RUNNING, columns.locked_by.in_(owners))
    return set(connection.execute(held).scalars())


def recover(
    connection: Connection, limit: int, *, only: Collection[int] | None = None, with_output: bool = True
) -> list[Ended]:
    """End attempts whose lease has expired, of all types, at most ``limit``: a crash is an attempt used.

    Rows that another tick recovers at the moment are passed over. No user code is known here, so the
    default backoff applies. ``only`` names those whose handlers are stopped; None: all. Without ``with_output``, what
    the handler said is dropped: for a run that cannot be written as it is.
    """
    # The view itself is what is locked, so that PostgreSQL asks its whole condition again of a row that changed
    # meanwhile: a lease renewed at this moment is passed over.
    by_index = (job_recoverable.c.host, job_recoverable.c.id)
    expired = select(job_recoverable.c.id).order_by(*by_index).limit(limit)
    expired = expired.with_for_update(skip_locked=True, key_share=True)
    if only is not None:
        expired = expired.where(job_recoverable.c.id.in_(only))
    columns = job_runs.c
    ids = list(connection.execute(expired).scalars())
    standing = running(columns.locked_by, columns.output).where(columns.id.in_(ids))
    # As they are told of, too.
    found = connection.execute(standing.order_by(columns.id))
    ended = end(connection, [(row, _expired(row, with_output=with_output)) for row in found])
    failpoints.hit("recover.before_commit", cut=lambda: dialect.sever(connection))
    return ended


def _expired(row: Row[Any], *, with_output: bool) -> AttemptResult:
    return AttemptResult(
        Outcome.LEASE_EXPIRED,
        error_type=EXPIRED,
        error=f"the lease of {row.locked_by} expired: its tick was killed, stalled or cut off",
        output=row.output if with_output else None,
    )
