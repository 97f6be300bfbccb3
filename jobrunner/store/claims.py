"""Claims due runs, and returns unstarted ones.

Every function expects to be the body of one write transaction (``Database.write``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Float,
    Integer,
    RowMapping,
    Update,
    bindparam,
    case,
    func,
    literal_column,
    null,
    select,
    union_all,
    update,
)

from jobrunner import failpoints
from jobrunner.lifecycle import QUARANTINE_AFTER_EXPIRIES, Event, Status, target
from jobrunner.model import Capacity, ClaimedRun, Lease, Owner, Policy
from jobrunner.store.dialect.connections import sever
from jobrunner.store.dialect.rows import rows
from jobrunner.store.dialect.statements import lock_named_row
from jobrunner.store.dialect.values import Seconds, later, now
from jobrunner.store.holding import NO_LOCK, RUNNING, of_these, unlocked
from jobrunner.store.schema import job_locks, job_runs
from jobrunner.store.views import job_claimable


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """What a tick asks for. ``token`` is made by the client, once per claim, before the claim is sent.

    So a claim whose COMMIT got no answer can be found again (``return_unstarted``). ``permits`` is how many runs may be
    at work on this host, of all its ticks; runs of async types and of the ``exempt_types`` take none. ``in_use`` is how
    many of them this tick uses; None: one for each run that it holds. ``capacity`` None: one run for each permit.
    ``type_limits`` are types of which the tick wants no more runs than this. ``quarantined`` asks for one run whose
    lease expired at least twice in a row, instead of the others. ``without_payload`` does not read the payloads: it is
    for a run whose payload cannot be read, so that its attempt can be ended.
    """

    owner: Owner
    token: str
    policies: Sequence[Policy]
    limit: int
    permits: int
    lease: timedelta
    in_use: int | None = None
    capacity: Capacity | None = None
    type_limits: Mapping[str, int] = field(default_factory=dict)
    exempt_types: Collection[str] = ()
    quarantined: bool = False
    without_payload: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """The claimed runs, most urgent first. ``permits`` is how many more permits of the host the tick may use."""

    runs: list[ClaimedRun]
    permits: int


def claim(connection: Connection, request: ClaimRequest) -> Claim:
    """Claim up to ``limit`` due runs of the given types, most urgent first, within the permits and the types' limits.

    The same statement charges an attempt to each run, because from then on a child may begin it at any moment.
    """
    lock_permits(connection, request.owner.host)
    permits, limit, limits = _limits(connection, request)
    if limit <= 0 or not any(limits):
        return Claim([], permits)
    values: dict[str, Any] = {
        "limit": limit,
        "owner": request.owner.name,
        "host": request.owner.host,
        "token": request.token,
        "lease_seconds": request.lease.total_seconds(),
    }
    for index, policy in enumerate(request.policies):
        values[f"type_{index}"] = policy.job_type
        values[f"limit_{index}"] = limits[index]
        values[f"max_attempts_{index}"] = policy.max_attempts
        values[f"timeout_{index}"] = 0.0 if policy.timeout is None else policy.timeout.total_seconds()
    statement = _claim_statement(len(request.policies), request.quarantined, request.without_payload)
    found = connection.execute(statement, values).mappings().all()
    if found:
        failpoints.hit("claim.before_commit", cut=lambda: sever(connection))
    urgent_first = sorted(found, key=lambda row: (-row["priority"], row["run_at"], row["id"]))
    return Claim([_claimed(row) for row in urgent_first], permits)


def lock_permits(connection: Connection, host: str) -> None:
    """Wait for the other claims of the host to end. None begins before this transaction ends."""
    # The name is stored: a tick of an older version locks the same row.
    lock_named_row(connection, job_locks, f"places of {host}")


@dataclass(frozen=True, slots=True)
class Returned:
    """How many runs were returned, and the ids of runs that are still held, because their rows are locked."""

    runs: int
    locked: frozenset[int]


def return_unstarted(connection: Connection, token: str, run_ids: Collection[int] | None = None) -> Returned:
    """Undo a claim, or the part ``run_ids`` of it, that no handler has seen: uncharged, claimable at once.

    A run whose cancellation was requested is cancelled instead.
    """
    found = select(job_runs.c.id).where(job_runs.c.status == RUNNING, job_runs.c.lease_token == token)
    if run_ids is not None:
        given = rows("given", {"id": job_runs.c.id.type})
        found = found.join_from(given, job_runs, job_runs.c.id == given.c.id)
    values = {"given": [{"id": run_id} for run_id in run_ids or ()]}
    is_queued = job_runs.c.cancel_requested_at.is_(None)
    returned = of_these(update(job_runs), unlocked(found)).values(
        status=case((is_queued, _target(Event.RETURN)), else_=_target(Event.CANCEL)),
        finished_at=case((is_queued, null()), else_=now()),
        attempts=job_runs.c.attempts - 1,
        started_at=null(),
        updated_at=now(),
        **NO_LOCK,
    )
    # Not the rowcount: Python's SQLite does not count the rows of a statement that begins with WITH.
    runs = len(connection.execute(returned.returning(job_runs.c.id), values).all())
    return Returned(runs, frozenset(connection.execute(found, values).scalars()))


def _target(event: Event) -> ColumnElement[str]:
    return literal_column(f"'{target(event, Status.RUNNING)}'")


def _limits(connection: Connection, request: ClaimRequest) -> tuple[int, int, list[int]]:
    """How many more permits the tick may use, how many runs it may claim in all, and how many of each type."""
    mine = job_runs.c.locked_by == request.owner.name
    # Live leases only: nobody works on the runs of a tick that was killed.
    statement = (
        select(job_runs.c.job_type, func.count(), func.sum(case((mine, 1), else_=0)))
        .where(job_runs.c.status == RUNNING, job_runs.c.host == request.owner.host, job_runs.c.locked_until > now())
        .group_by(job_runs.c.job_type)
    )
    held = {row[0]: (int(row[1]), int(row[2])) for row in connection.execute(statement)}
    exempt = {*request.exempt_types, *(policy.job_type for policy in request.policies if policy.is_async)}
    counted = [counts for job_type, counts in held.items() if job_type not in exempt]
    in_use = sum(mine for _, mine in counted) if request.in_use is None else request.in_use
    permits = max(0, request.permits - in_use - sum(count - mine for count, mine in counted))
    capacity = request.capacity or Capacity(permits=request.limit)
    shared = min(request.limit, capacity.runs(permits))
    limits = []
    for policy in request.policies:
        limit = request.limit if policy.is_async else shared
        limit = min(limit, request.type_limits.get(policy.job_type, request.limit))
        if policy.concurrency is not None:
            limit = min(limit, policy.concurrency - held.get(policy.job_type, (0, 0))[0])
        limits.append(max(0, limit))
    return permits, (request.limit if any(policy.is_async for policy in request.policies) else shared), limits


def _claimed(row: RowMapping) -> ClaimedRun:
    return ClaimedRun(
        lease=Lease(row["id"], row["lease_token"]),
        job_type=row["job_type"],
        payload=row.get("payload", {}),
        attempt=row["attempts"],
        max_attempts=row["max_attempts"],
        timeout=timedelta(seconds=row["timeout"]) if row["timeout"] else None,
        run_at=row["run_at"],
        scheduled_for=row["scheduled_for"],
        started_at=row["claimed_at"],
    )


@lru_cache(maxsize=64)
def _claim_statement(type_count: int, quarantined: bool, without_payload: bool) -> Update:
    due = job_claimable.c
    urgent_first = (due.priority.desc(), due.run_at, due.id)
    # A literal, as in the index of the quarantined runs. With a parameter the planner could not use that index.
    is_quarantined = due.lease_expiries >= literal_column(str(QUARANTINE_AFTER_EXPIRIES))
    each = [
        # One index range per type, so that runs of other types are not read first.
        select(due.id, due.priority, due.run_at)
        .where(due.job_type == bindparam(f"type_{index}"), is_quarantined if quarantined else ~is_quarantined)
        .order_by(*urgent_first)
        .limit(bindparam(f"limit_{index}", type_=Integer))
        # FOR NO KEY UPDATE does not wait for a transaction that inserts a row which refers to the run.
        .with_for_update(skip_locked=True, key_share=True)
        .subquery(f"of_type_{index}")
        for index in range(type_count)
    ]
    found = union_all(*[select(one) for one in each]).subquery("found")
    # A CTE: as a sub-select the locking query may run again for each row, and claim more than the limit. A CTE that
    # locks is never merged into the statement around it.
    picked = (
        select(found.c.id)
        .order_by(found.c.priority.desc(), found.c.run_at, found.c.id)
        .limit(bindparam("limit", type_=Integer))
        .cte("picked")
    )
    columns = job_runs.c
    return (
        update(job_runs)
        # This condition fits no partial index. The planner could otherwise read one that holds the whole queue.
        .where(columns.id.in_(select(picked.c.id)), columns.status != RUNNING)
        .values(
            status=RUNNING,
            locked_by=bindparam("owner"),
            host=bindparam("host"),
            locked_until=later(bindparam("lease_seconds", type_=Float)),
            lease_token=bindparam("token"),
            attempts=columns.attempts + 1,
            claimed_at=now(),
            started_at=now(),
            heartbeat_at=now(),
            max_attempts=func.coalesce(columns.max_attempts, _of_type(type_count, "max_attempts", Integer())),
            timeout=func.coalesce(columns.timeout, _of_type(type_count, "timeout", Seconds)),
            progress=null(),
            output=null(),
            updated_at=now(),
        )
        .returning(*(columns[name] for name in _RETURNED if not (without_payload and name == "payload")))
    )


_RETURNED = (
    "id", "lease_token", "job_type", "payload", "attempts", "max_attempts",
    "timeout", "priority", "run_at", "scheduled_for", "claimed_at",
)  # fmt: skip


def _of_type(type_count: int, name: str, type_: Any) -> Any:
    """A value of the policy of the row's type. It is stored in the run, because recovery does not know the policies."""
    return case(
        *(
            (job_runs.c.job_type == bindparam(f"type_{index}"), bindparam(f"{name}_{index}", type_=type_))
            for index in range(type_count)
        )
    )
