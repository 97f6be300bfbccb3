"""Taking runs: claim, and giving back what was never begun.

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
from jobrunner.store import dialect
from jobrunner.store.dialect import later, now, rows
from jobrunner.store.holding import NO_LOCK, RUNNING, of_these, unlocked
from jobrunner.store.schema import job_locks, job_runs
from jobrunner.store.views import job_claimable


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """What a tick asks for. ``token`` is made by the client, once per claim, before it is sent.

    So a claim whose COMMIT got no answer can be found again (``give_back``). ``places`` is how many runs
    this host may have at work, all its ticks together; those of async types, and of the types ``apart``, take none.
    ``busy`` is how many of them the caller itself uses; None: one for each run that it holds. ``room`` is what it has
    room for; None: one run in each place. ``most`` are types of which it wants no more than so many.
    ``quarantined`` asks for one run that took its owner down at least twice in a row, instead of for the others.
    ``bare`` leaves the payloads where they are: what was too much to be read is to be ended unread.
    """

    owner: Owner
    token: str
    policies: Sequence[Policy]
    limit: int
    places: int
    lease: timedelta
    busy: int | None = None
    room: Capacity | None = None
    most: Mapping[str, int] = field(default_factory=dict)
    apart: Collection[str] = ()
    quarantined: bool = False
    bare: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """What was claimed, most urgent first. ``places`` is how many more places of the host the caller may use."""

    runs: list[ClaimedRun]
    places: int


def claim(connection: Connection, request: ClaimRequest) -> Claim:
    """Take up to ``limit`` due runs of the given types, most urgent first, as far as host and types have places.

    They are charged in the same statement: from then on a child may begin them at any moment.
    """
    hold_places(connection, request.owner.host)
    places, limit, limits = _limits(connection, request)
    if limit <= 0 or not any(limits):
        return Claim([], places)
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
    statement = _claim_statement(len(request.policies), request.quarantined, request.bare)
    rows = connection.execute(statement, values).mappings().all()
    if rows:
        failpoints.hit("claim.before_commit", cut=lambda: dialect.sever(connection))
    urgent_first = sorted(rows, key=lambda row: (-row["priority"], row["run_at"], row["id"]))
    return Claim([_claimed(row) for row in urgent_first], places)


def hold_places(connection: Connection, host: str) -> None:
    """Wait until no other claim of the host is under way, and let none begin before this transaction ends."""
    dialect.lock_named_row(connection, job_locks, f"places of {host}")


@dataclass(frozen=True, slots=True)
class GivenBack:
    """How many runs were given back, and the ids of those that are still held since somebody has locked their rows."""

    runs: int
    locked: frozenset[int]


def give_back(connection: Connection, token: str, run_ids: Collection[int] | None = None) -> GivenBack:
    """Undo a claim, or the part ``run_ids`` of it, that surely no handler has seen: uncharged, claimable at once.

    A run whose cancellation was requested meanwhile is cancelled: that wins here, too.
    """
    found = select(job_runs.c.id).where(job_runs.c.status == RUNNING, job_runs.c.lease_token == token)
    if run_ids is not None:
        given = rows("given", {"id": job_runs.c.id.type})
        found = found.join_from(given, job_runs, job_runs.c.id == given.c.id)
    values = {"given": [{"id": run_id} for run_id in run_ids or ()]}
    stays = job_runs.c.cancel_requested_at.is_(None)
    back = of_these(update(job_runs), unlocked(found)).values(
        status=case((stays, _left_by(Event.RETURN)), else_=_left_by(Event.CANCEL)),
        finished_at=case((stays, null()), else_=now()),
        attempts=job_runs.c.attempts - 1,
        started_at=null(),
        updated_at=now(),
        **NO_LOCK,
    )
    # Counted as they are returned: Python's SQLite counts no rows of a statement that begins with a WITH.
    runs = len(connection.execute(back.returning(job_runs.c.id), values).all())
    return GivenBack(runs, frozenset(connection.execute(found, values).scalars()))


def _left_by(event: Event) -> ColumnElement[str]:
    return literal_column(f"'{target(event, Status.RUNNING)}'")


def _limits(connection: Connection, request: ClaimRequest) -> tuple[int, int, list[int]]:
    """How many places the caller may newly use, how many runs it may claim in all, and how many of each type."""
    mine = job_runs.c.locked_by == request.owner.name
    # Live leases only: the runs of a tick that was killed are nobody's work any more.
    statement = (
        select(job_runs.c.job_type, func.count(), func.sum(case((mine, 1), else_=0)))
        .where(job_runs.c.status == RUNNING, job_runs.c.host == request.owner.host, job_runs.c.locked_until > now())
        .group_by(job_runs.c.job_type)
    )
    held = {row[0]: (int(row[1]), int(row[2])) for row in connection.execute(statement)}
    apart = {*request.apart, *(policy.job_type for policy in request.policies if policy.is_async)}
    taken = [counts for job_type, counts in held.items() if job_type not in apart]
    busy = sum(mine for _, mine in taken) if request.busy is None else request.busy
    places = max(0, request.places - busy - sum(count - mine for count, mine in taken))
    room = request.room or Capacity(permits=request.limit)
    shared = min(request.limit, room.runs(places))
    limits = []
    for policy in request.policies:
        most = min(request.limit if policy.is_async else shared, request.most.get(policy.job_type, request.limit))
        if policy.concurrency is not None:
            most = min(most, policy.concurrency - held.get(policy.job_type, (0, 0))[0])
        limits.append(max(0, most))
    return places, (request.limit if any(policy.is_async for policy in request.policies) else shared), limits


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
def _claim_statement(type_count: int, quarantined: bool, bare: bool) -> Update:
    due = job_claimable.c
    urgent_first = (due.priority.desc(), due.run_at, due.id)
    # A literal, as the statuses in the view: the suspects have an index of their own, however long the queue is.
    fits = due.lease_expiries >= literal_column(str(QUARANTINE_AFTER_EXPIRIES))
    each = [
        # One index range per type, so that neither unknown types nor the other known ones lie in front.
        select(due.id, due.priority, due.run_at)
        .where(due.job_type == bindparam(f"type_{index}"), fits if quarantined else ~fits)
        .order_by(*urgent_first)
        .limit(bindparam(f"limit_{index}", type_=Integer))
        # Its key stays: a row that refers to a run is in nobody's way.
        .with_for_update(skip_locked=True, key_share=True)
        .subquery(f"of_type_{index}")
        for index in range(type_count)
    ]
    found = union_all(*[select(one) for one in each]).subquery("found")
    # A CTE: as a plain sub-select the locking query may be run again per row, and claim more than the limit. One that
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
        # Said so that no partial index serves it: one that holds the whole queue would be read from end to end.
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
            timeout=func.coalesce(columns.timeout, _of_type(type_count, "timeout", dialect.Seconds)),
            progress=null(),
            output=null(),
            updated_at=now(),
        )
        .returning(*(columns[name] for name in _RETURNED if not (bare and name == "payload")))
    )


_RETURNED = (
    "id", "lease_token", "job_type", "payload", "attempts", "max_attempts",
    "timeout", "priority", "run_at", "scheduled_for", "claimed_at",
)  # fmt: skip


def _of_type(type_count: int, name: str, type_: Any) -> Any:
    """The policy of the row's type: written onto the run, where recovery, which imports no user code, finds it."""
    return case(
        *(
            (job_runs.c.job_type == bindparam(f"type_{index}"), bindparam(f"{name}_{index}", type_=type_))
            for index in range(type_count)
        )
    )
