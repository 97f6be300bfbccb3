"""Claims and returns of runs."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Float,
    Integer,
    Select,
    Subquery,
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

from jobrunner.lifecycle import QUARANTINE_AFTER_EXPIRIES, Event, Status, target
from jobrunner.store.schema import job_runs
from jobrunner.store.schema.views import job_claimable
from jobrunner.store.sql.dialect.rows import rows
from jobrunner.store.sql.dialect.values import Seconds, later, now
from jobrunner.store.sql.variants import TYPE_COUNTS
from jobrunner.store.statements.queue.holding import NO_LOCK, RUNNING, of_these, unlocked
from jobrunner.store.statements.queue.pauses import for_host

VARIANTS = {
    "claim": [
        *((count, quarantined, False) for count in TYPE_COUNTS for quarantined in (False, True)),
        *((count, False, False, True) for count in TYPE_COUNTS),
    ],
    "return_unstarted": [(False,), (True,)],
    "held_under": [(False,), (True,)],
}

_RETURNED = (
    "id", "lease_token", "job_type", "gate", "payload", "attempts", "max_attempts",
    "timeout", "turn_at", "run_at", "scheduled_for", "claimed_at", "definition_id", "traceparent",
)  # fmt: skip


def claim(type_count: int, quarantined: bool, without_payload: bool, gated: bool = False) -> Update:
    """Claim due runs of so many types, and charge an attempt to each. A type without a name stands for none.

    ``gated``: also those of a list, which wait behind open gates.
    """
    due = job_claimable.c
    urgent_first = (due.turn_at, due.run_at, due.id)
    # A literal, as in the index of the quarantined runs. With a parameter the planner could not use that index.
    is_quarantined = due.lease_expiries >= literal_column(str(QUARANTINE_AFTER_EXPIRIES))
    each = [
        # One index range per type, so that runs of other types are not read first.
        select(due.id, due.turn_at, due.run_at)
        .where(due.job_type == bindparam(f"type_{index}"), is_quarantined if quarantined else ~is_quarantined)
        .order_by(*urgent_first)
        .limit(bindparam(f"limit_{index}", type_=Integer))
        # FOR NO KEY UPDATE does not wait for a transaction that inserts a row which refers to the run.
        .with_for_update(skip_locked=True, key_share=True)
        .subquery(f"of_type_{index}")
        for index in range(type_count)
    ]
    if gated:
        each.append(_of_list())
    found = union_all(*[select(one) for one in each]).subquery("found")
    # A CTE: as a sub-select the locking query may run again for each row, and claim more than the limit. A CTE that
    # locks is never merged into the statement around it.
    picked = (
        select(found.c.id)
        .order_by(found.c.turn_at, found.c.run_at, found.c.id)
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


def _of_list() -> Subquery:
    columns, given = job_runs.c, rows("gated", {"id": job_runs.c.id.type})
    found = select(columns.id, columns.turn_at, columns.run_at).join_from(given, job_runs, columns.id == given.c.id)
    # They were found in this transaction. In these words no partial index offers itself, as one over all that waits.
    still_waits = (columns.finished_at.is_(None), columns.lease_token.is_(None), columns.gate != literal_column("''"))
    found = found.where(*still_waits).with_for_update(of=job_runs, skip_locked=True, key_share=True)
    return found.subquery("of_list")


def _of_type(type_count: int, name: str, type_: Any) -> Any:
    """A value of the policy of the row's type. It is stored in the run, because recovery does not know the policies."""
    return case(
        *(
            (job_runs.c.job_type == bindparam(f"type_{index}"), bindparam(f"{name}_{index}", type_=type_))
            for index in range(type_count)
        )
    )


def held_by_type() -> CompoundSelect[Any]:
    """How many runs of each type the ticks of a host have at work, and how many of them one of these has.

    And what is paused: a row whose ``paused`` is the kind of the pause. One question, because every claim asks it.
    """
    columns = job_runs.c
    mine = case((columns.locked_by == bindparam("owner", type_=columns.locked_by.type), 1), else_=0)
    # Live leases only: nobody works on the runs of a tick that was killed.
    held = (
        select(
            literal_column("''").label("paused"),
            columns.job_type.label("name"),
            func.count().label("runs"),
            func.sum(mine).label("mine"),
        )
        .where(
            columns.status == RUNNING,
            columns.host == bindparam("host", type_=columns.host.type),
            columns.locked_until > now(),
        )
        .group_by(columns.job_type)
    )
    none: ColumnElement[int] = literal_column("0")
    return union_all(held, for_host([none, none]))


def held_under(some: bool) -> Select[Any]:
    """The runs that are held under a claim's token; ``some``: those of the list ``given``."""
    columns = job_runs.c
    of_token = select(columns.id).where(columns.lease_token == bindparam("token"))
    if not some:
        # The index of all running runs is the only one that does not read the whole table.
        return of_token.where(columns.status == RUNNING)
    given = rows("given", {"id": columns.id.type})
    return of_token.join_from(given, job_runs, columns.id == given.c.id)


def return_unstarted(some: bool) -> Update:
    """Undo a claim: uncharged, claimable at once, or cancelled if that was requested."""
    is_queued = job_runs.c.cancel_requested_at.is_(None)
    returned = of_these(update(job_runs), unlocked(held_under(some))).values(
        status=case((is_queued, _target(Event.RETURN)), else_=_target(Event.CANCEL)),
        finished_at=case((is_queued, null()), else_=now()),
        attempts=job_runs.c.attempts - 1,
        started_at=null(),
        updated_at=now(),
        **NO_LOCK,
    )
    return returned.returning(job_runs.c.id, job_runs.c.job_type, job_runs.c.status)


def _target(event: Event) -> ColumnElement[str]:
    return literal_column(f"'{target(event, Status.RUNNING)}'")
