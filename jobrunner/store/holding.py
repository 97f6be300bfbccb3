"""Leases: which are still held, their renewal, and the reports of the handlers meanwhile.

Every function expects to be the body of one write transaction (``Database.write``). None waits for a row that another
transaction has locked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    CTE,
    ColumnElement,
    Connection,
    Float,
    FromClause,
    Select,
    Update,
    and_,
    bindparam,
    literal_column,
    null,
    select,
    update,
)

from jobrunner.model import Lease
from jobrunner.store.dialect.rows import rows
from jobrunner.store.dialect.values import later, now
from jobrunner.store.output_limits import fit_report
from jobrunner.store.schema import job_runs

# A literal. With a bound parameter the planner could not know that it can use the partial index.
RUNNING: ColumnElement[str] = literal_column("'running'")

NO_LOCK: dict[str, Any] = {
    "locked_by": null(),
    "host": null(),
    "locked_until": null(),
    "lease_token": null(),
    "heartbeat_at": null(),
}
"""What every write that ends the status ``running`` also sets."""


@dataclass(frozen=True, slots=True)
class Renewal:
    """The result of a renewal. A lease that is in neither field is lost.

    ``renewed`` maps each renewed lease to whether its cancellation was requested. ``locked`` are leases that are still
    held but were not renewed, because another transaction has locked their rows.
    """

    renewed: Mapping[Lease, bool] = field(default_factory=dict)
    locked: Collection[Lease] = ()


def renew(connection: Connection, leases: Collection[Lease], lease: timedelta) -> Renewal:
    """Renew the leases for the duration ``lease`` from now. Skips rows that another transaction has locked."""
    if not leases:
        return Renewal()
    values = {"given": as_rows(leases), "lease_seconds": lease.total_seconds()}
    found = connection.execute(_renew_statement(), values)
    renewed = {Lease(row.id, row.lease_token): row.cancel_requested_at is not None for row in found}
    missing = [held for held in leases if held not in renewed]
    return Renewal(renewed, still_held(connection, missing))


def still_held(connection: Connection, leases: Collection[Lease]) -> set[Lease]:
    """The leases that are not lost. Locks nothing and waits for no lock."""
    if not leases:
        return set()
    found = connection.execute(_held_statement(), {"given": as_rows(leases)})
    return {Lease(row.id, row.lease_token) for row in found}


def report(connection: Connection, reports: Mapping[Lease, Mapping[str, Any]]) -> set[Lease]:
    """Write ``progress`` and the tail of ``output`` of runs at work. Returns the leases whose report was written.

    It is not written for a lost lease, nor for a run whose row another transaction has locked.
    """
    written = set()
    for lease, columns in reports.items():
        at_work = of_these(update(job_runs), unlocked(select(job_runs.c.id).where(*is_of(lease))))
        fitted = fit_report(columns)
        if not fitted or connection.execute(at_work.values(**fitted).returning(job_runs.c.id)).first():
            written.add(lease)
    return written


def unlocked(found: Select[Any]) -> CTE:
    """Lock these runs for a change, and skip those that another transaction has locked.

    The lock leaves keys free (FOR NO KEY UPDATE): an application's row may refer to a run in a long transaction, and
    the two do not wait for each other.
    """
    return found.with_for_update(of=job_runs, skip_locked=True, key_share=True).cte("held")


def of_these(change: Update, held: CTE) -> Update:
    """Make a statement change only the runs that ``unlocked`` has locked."""
    # The condition on the token, which only a running row has, keeps the planner from a partial index, as in the claim.
    return change.where(job_runs.c.id.in_(select(held.c.id)), job_runs.c.lease_token.is_not(None))


LEASE: dict[str, Any] = {name: job_runs.c[name].type for name in ("id", "lease_token")}
"""The columns of a list of leases that is a parameter of a statement."""


def as_rows(leases: Iterable[Lease]) -> list[dict[str, Any]]:
    """Leases as the rows of such a list."""
    return [{"id": lease.run_id, "lease_token": lease.token} for lease in leases]


def is_held(given: FromClause) -> ColumnElement[bool]:
    """Whether a run is still held under the lease in a row of such a list."""
    columns = job_runs.c
    return and_(columns.id == given.c.id, columns.status == RUNNING, columns.lease_token == given.c.lease_token)


def is_of(lease: Lease) -> tuple[ColumnElement[bool], ...]:
    """The same condition for one lease."""
    return (job_runs.c.id == lease.run_id, job_runs.c.status == RUNNING, job_runs.c.lease_token == lease.token)


@lru_cache(maxsize=1)
def _renew_statement() -> Update:
    columns, given = job_runs.c, rows("given", LEASE)
    held = unlocked(select(columns.id).join_from(given, job_runs, is_held(given)))
    return (
        of_these(update(job_runs), held)
        .values(locked_until=later(bindparam("lease_seconds", type_=Float)), heartbeat_at=now())
        .returning(columns.id, columns.lease_token, columns.cancel_requested_at)
    )


@lru_cache(maxsize=1)
def _held_statement() -> Select[Any]:
    given = rows("given", LEASE)
    return select(job_runs.c.id, job_runs.c.lease_token).join_from(given, job_runs, is_held(given))
