"""Claims and returns of runs."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Float,
    FromClause,
    Integer,
    Select,
    String,
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
from jobrunner.store.schema import job_runs, job_set_limits, job_ticks
from jobrunner.store.schema.views import job_claimable
from jobrunner.store.sql.dialect.rows import rows
from jobrunner.store.sql.dialect.values import later, now
from jobrunner.store.sql.traits import TRAITS
from jobrunner.store.statements.queue.due import MOST_OF_ALL, columns_of, due_of
from jobrunner.store.statements.queue.holding import NO_LOCK, RUNNING, of_these, unlocked
from jobrunner.store.statements.queue.own_runs import HOST, due_for
from jobrunner.store.statements.queue.pauses import for_host

_MORE = ((True,), (False, True), (True, True))
VARIANTS = {
    "claim": [
        (name, *which)
        for name in TRAITS
        for which in ((False, False), (True, False), *((False, False, *more) for more in _MORE))
    ],
    "held_by_type": [(True,), (False,)],
    "return_unstarted": [(False,), (True,)],
    "held_under": [(False,), (True,)],
}

_RETURNED = (
    "id", "lease_token", "job_type", "gate", "payload", "attempts", "max_attempts",
    "timeout", "turn_at", "run_at", "scheduled_for", "claimed_at", "definition_id", "traceparent",
    "checkpoint", "concurrency_key",
)  # fmt: skip


_LARGE = ("payload", "checkpoint")
_TYPE = {"max_attempts": job_runs.c.max_attempts.type, "timeout": job_runs.c.timeout.type}
_FAMILY = {"family": job_runs.c.job_type.type, "together": Integer()}


def claim(
    database: str, quarantined: bool, without_payload: bool, gated: bool = False, families: bool = False
) -> Update:
    """Claim due runs of the types of a list, and charge an attempt to each.

    ``gated``: also those of a list, which wait behind open gates. ``families``: of all names of one type ``together``
    no more than so many.
    """
    types = rows("types", {**columns_of(database), **_TYPE, **(_FAMILY if families else {})})
    # A literal, as in the index of the quarantined runs. With a parameter the planner could not use that index.
    is_quarantined = job_claimable.c.lease_expiries >= literal_column(str(QUARANTINE_AFTER_EXPIRIES))
    due = due_of(types, database, is_quarantined if quarantined else ~is_quarantined, locks=True)
    found: FromClause = (union_all(due, _of_list(types)) if gated else due).subquery("found")
    if families:
        found = _first_of_each(found)
    # A CTE: as a sub-select the locking query may run again for each row, and claim more than the limit. A CTE that
    # locks is never merged into the statement around it.
    picked = (
        select(found.c.id, found.c.max_attempts, found.c.timeout)
        .order_by(found.c.turn_at, found.c.run_at, found.c.id)
        .limit(MOST_OF_ALL)
        .cte("picked")
    )
    columns = job_runs.c
    return (
        update(job_runs)
        # The second condition fits no partial index. The planner could otherwise read one that holds the whole queue.
        .where(columns.id == picked.c.id, columns.status != RUNNING)
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
            # The policy is stored in the run, because recovery does not know it.
            max_attempts=func.coalesce(columns.max_attempts, picked.c.max_attempts),
            timeout=func.coalesce(columns.timeout, picked.c.timeout),
            progress=null(),
            output=null(),
            updated_at=now(),
        )
        .returning(*(columns[name] for name in _RETURNED if not (without_payload and name in _LARGE)))
    )


def _first_of_each(found: FromClause) -> FromClause:
    in_turn = func.row_number().over(
        partition_by=found.c.family, order_by=(found.c.turn_at, found.c.run_at, found.c.id)
    )
    counted = select(*found.c, in_turn.label("place")).subquery("counted")
    return select(*counted.c).where(counted.c.place <= counted.c.together).subquery("first")


def _of_list(types: FromClause) -> Select[Any]:
    columns, given = job_runs.c, rows("gated", {"id": job_runs.c.id.type, "turn_at": job_runs.c.turn_at.type})
    # Of a fair type the turn of another one (``fair``).
    turn_at = func.coalesce(given.c.turn_at, columns.turn_at).label("turn_at")
    found = select(columns.id, turn_at, columns.run_at, *types.c).select_from(
        given.join(job_runs, columns.id == given.c.id).join(types, types.c.job_type == columns.job_type)
    )
    # They were found in this transaction. In these words no partial index offers itself, as one over all that waits.
    still_waits = (columns.finished_at.is_(None), columns.lease_token.is_(None), columns.gate != literal_column("''"))
    found = found.where(*still_waits).with_for_update(of=job_runs, skip_locked=True, key_share=True)
    return select(*found.subquery("of_list").c)


def held_by_type(is_counted: bool) -> CompoundSelect[Any]:
    """How many runs of each type the ticks of a host have at work, and how many of them one of these has.

    And what is paused: a row whose ``paused`` is the kind of the pause; and for which types operators have set limits:
    there it is "limit"; and "own" if a due run waits for this host alone. One question, because every claim asks it.
    ``is_counted`` False: in place of the runs "versions" if ticks of several versions may be at work on the host.
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
    set_types = select(literal_column("'limit'"), job_set_limits.c.job_type, none, none)
    first_own = due_for(HOST).limit(literal_column("1")).subquery("own")
    kind: ColumnElement[str] = literal_column("'own'")
    own = select(kind, literal_column("''", String()), none, none).select_from(first_own)
    return union_all(held if is_counted else _versions(none), for_host([none, none]), set_types, own)


def _versions(none: ColumnElement[int]) -> Select[Any]:
    columns = job_ticks.c
    at_work = (columns.host == bindparam("host", type_=columns.host.type), columns.finished_at.is_(None))
    # The ends of an index, because ticks that were killed have no end: there may be many.
    first, last = (
        select(columns.version).where(*at_work).order_by(order).limit(literal_column("1")).scalar_subquery()
        for order in (columns.version, columns.version.desc())
    )
    kind: ColumnElement[str] = literal_column("'versions'")
    name: ColumnElement[str] = literal_column("''")
    row: list[ColumnElement[Any]] = [kind.label("paused"), name.label("name"), none.label("runs"), none.label("mine")]
    return select(*row).where(first != last)


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
