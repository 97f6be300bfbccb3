"""Which leases are held, their renewal, and the reports of runs at work."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    CTE,
    ColumnElement,
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

from jobrunner.store.schema import job_runs
from jobrunner.store.sql.dialect.rows import rows
from jobrunner.store.sql.dialect.values import later, now

# A literal. With a bound parameter the planner could not know that it can use the partial index.
RUNNING: ColumnElement[str] = literal_column("'running'")

NO_LOCK: dict[str, Any] = {
    "locked_by": null(),
    "host": null(),
    "locked_until": null(),
    "lease_token": null(),
    "heartbeat_at": null(),
    # A run of a limited type goes behind a gate again when a claim next meets it.
    "gate": literal_column("''"),
}
"""What every write that ends the status ``running`` also sets."""

IS_AT_WORK: ColumnElement[bool] = job_runs.c.lease_token.is_not(None)
"""Whether a run is ``running``, for a statement that names its runs.

It says the same as the status, by a check of the table, and fits no partial index. With statistics from a time when
nothing ran, the planner takes the index of all running runs for empty, and would read those of every host each time.
"""

LEASE: dict[str, Any] = {name: job_runs.c[name].type for name in ("id", "lease_token")}
"""The columns of a list of leases that is a parameter of a statement."""

VARIANTS: dict[str, list[tuple[Any, ...]]] = {
    "report": [(("progress", "output"),), (("progress",),), (("output",),)],
}


def renew() -> Update:
    """Renew leases. Skips rows that another transaction has locked."""
    columns, given = job_runs.c, rows("given", LEASE)
    held = unlocked(select(columns.id).join_from(given, job_runs, is_held(given)))
    return (
        of_these(update(job_runs), held)
        .values(locked_until=later(bindparam("lease_seconds", type_=Float)), heartbeat_at=now())
        .returning(columns.id, columns.lease_token, columns.cancel_requested_at)
    )


def held() -> Select[Any]:
    """The leases that are not lost."""
    given = rows("given", LEASE)
    return select(job_runs.c.id, job_runs.c.lease_token).join_from(given, job_runs, is_held(given))


def report(names: tuple[str, ...]) -> Update:
    """Write these columns of a run at work, unless its row is locked."""
    columns = job_runs.c
    is_of_lease = and_(
        columns.id == bindparam("run_id", type_=columns.id.type),
        columns.lease_token == bindparam("token", type_=columns.lease_token.type),
    )
    at_work = of_these(update(job_runs), unlocked(select(columns.id).where(is_of_lease)))
    # Not the names of the columns, which SQLAlchemy reserves in an UPDATE.
    values = {name: bindparam(f"new_{name}", type_=columns[name].type) for name in names}
    return at_work.values(**values).returning(columns.id)


def keep() -> Update:
    """Write the checkpoints of a list of leases that are held, except where a row is locked."""
    columns, given = job_runs.c, rows("given", LEASE | {"checkpoint": job_runs.c.checkpoint.type})
    found = select(columns.id, given.c.checkpoint.label("new_checkpoint")).join_from(given, job_runs, is_held(given))
    held = unlocked(found)
    kept = update(job_runs).where(columns.id == held.c.id, IS_AT_WORK).values(checkpoint=held.c.new_checkpoint)
    return kept.returning(columns.id, columns.lease_token)


def unlocked(found: Select[Any]) -> CTE:
    """Lock these runs for a change, and skip those that another transaction has locked.

    The lock leaves keys free (FOR NO KEY UPDATE): an application's row may refer to a run in a long transaction, and
    the two do not wait for each other.
    """
    return found.with_for_update(of=job_runs, skip_locked=True, key_share=True).cte("held")


def of_these(change: Update, held: CTE) -> Update:
    """Make a statement change only the runs that ``unlocked`` has locked."""
    return change.where(job_runs.c.id.in_(select(held.c.id)), IS_AT_WORK)


def is_held(given: FromClause) -> ColumnElement[bool]:
    """Whether a run is still held under the lease in a row of such a list. Not by the status: see ``IS_AT_WORK``."""
    columns = job_runs.c
    return and_(columns.id == given.c.id, columns.lease_token == given.c.lease_token)
