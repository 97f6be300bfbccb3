"""Recovery: ends attempts whose lease has expired, and finds out before who held them and what else they hold."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, select

from jobrunner import failpoints
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.store.dialect.connections import sever
from jobrunner.store.finalize import EXPIRED, Ended, end, running
from jobrunner.store.holding import RUNNING
from jobrunner.store.schema import job_runs
from jobrunner.store.views import job_recoverable


@dataclass(frozen=True, slots=True)
class Expired:
    """A run whose lease has expired, with its host and its owner."""

    run_id: int
    host: str | None
    owner: str | None


def expired_runs(connection: Connection) -> list[Expired]:
    """All runs whose lease has expired. Expects any transaction."""
    columns = job_recoverable.c
    return [Expired(*row) for row in connection.execute(select(columns.id, columns.host, columns.locked_by))]


def held_runs(connection: Connection, owners: Collection[str]) -> set[int]:
    """The runs that these owners hold, also those with an expired lease. Expects any transaction."""
    columns = job_runs.c
    held = select(columns.id).where(columns.status == RUNNING, columns.locked_by.in_(owners))
    return set(connection.execute(held).scalars())


def recover(
    connection: Connection, limit: int, *, only: Collection[int] | None = None, with_output: bool = True
) -> list[Ended]:
    """End up to ``limit`` attempts whose lease has expired, of all types. Such an attempt is charged.

    Skips rows that another tick recovers at the same time. Uses the default backoff, because the policies of the types
    are not known here. ``only`` are the runs whose handlers are stopped; None: all. ``with_output`` False drops the
    stored output, for a run that cannot be written with it.
    """
    # The lock on the view makes PostgreSQL check its whole condition again for a row that has changed meanwhile. So a
    # lease that is renewed at this moment does not expire.
    by_index = (job_recoverable.c.host, job_recoverable.c.id)
    expired = select(job_recoverable.c.id).order_by(*by_index).limit(limit)
    expired = expired.with_for_update(skip_locked=True, key_share=True)
    if only is not None:
        expired = expired.where(job_recoverable.c.id.in_(only))
    columns = job_runs.c
    ids = list(connection.execute(expired).scalars())
    statement = running(columns.locked_by, columns.output).where(columns.id.in_(ids))
    # This is also the order of the results.
    found = connection.execute(statement.order_by(columns.id))
    ended = end(connection, [(row, _expired(row, with_output=with_output)) for row in found])
    failpoints.hit("recover.before_commit", cut=lambda: sever(connection))
    return ended


def _expired(row: Row[Any], *, with_output: bool) -> AttemptResult:
    return AttemptResult(
        Outcome.LEASE_EXPIRED,
        error_type=EXPIRED,
        error=f"the lease of {row.locked_by} expired: its tick was killed, stalled or cut off",
        output=row.output if with_output else None,
    )
