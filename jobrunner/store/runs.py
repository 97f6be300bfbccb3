"""What people and applications do to runs: enqueue, cancel, retry, discard.

``enqueue`` writes in the caller's own transaction. The others expect to be the body of one write
transaction (``Database.write``) each, so that one refused id leaves the others done.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, RowMapping, null, select, update

from jobrunner.errors import JobrunnerError
from jobrunner.lifecycle import Event, Status, allowed, target
from jobrunner.model import Policy
from jobrunner.store import insertion, limits, trail
from jobrunner.store.dialect import now
from jobrunner.store.dialect.borrowed import Loan, connection_of, dialect_name, first_row
from jobrunner.store.holding import NO_LOCK
from jobrunner.store.insertion import Enqueued, NewRun
from jobrunner.store.limits import Occupancy
from jobrunner.store.schema import job_runs
from jobrunner.text import one_line

Borrowed = Connection | Loan


def enqueue(borrowed: Borrowed, new: NewRun, policy: Policy | None = None) -> Enqueued:
    """Insert a run in the caller's transaction, or find the one that its idempotency key stands for.

    ``policy`` is what the caller's own code says of the type; None: what the database knows of it counts. Raises
    QueueFull, with nothing written, where the type is full and is to refuse.
    """
    answer = insert_if_room(borrowed, new, policy)
    if isinstance(answer, Enqueued):
        return answer
    if answer.when_full == "refuse":
        raise answer.refusal()
    with connection_of(borrowed) as connection:
        limits.note_dropped(connection, new.job_type)
    return Enqueued(None, created=False)


def insert_if_room(borrowed: Borrowed, new: NewRun, policy: Policy | None = None) -> Enqueued | Occupancy:
    """As ``enqueue``, but a full type is an answer.

    A type without a limit costs nothing more than a condition in the first statement. Enqueues of one with a limit wait
    for each other until the transaction of each ends.
    """
    if policy is None or policy.max_waiting is None:
        if new.idempotency_key is None:
            run_id = _insert(borrowed, new, unless_limited=True)
            if run_id is not None:
                return Enqueued(run_id, created=True)
        elif _take_key(borrowed, new, unless_limited=True):
            return _insert_under_key(borrowed, new)
    existing = _holder_of_key(borrowed, new)
    if existing is not None:
        return Enqueued(existing, created=False)
    return _insert_in_turn(borrowed, new, policy)


def _insert_in_turn(borrowed: Borrowed, new: NewRun, policy: Policy | None) -> Enqueued | Occupancy:
    # The limit before the key, and by all in this order: two callers with a key each would wait for each other.
    with connection_of(borrowed) as connection:
        full = limits.find_full(connection, new.job_type, policy)
    if new.idempotency_key is None:
        return full or _created(_insert(borrowed, new))
    if full is None and _take_key(borrowed, new):
        return _insert_under_key(borrowed, new)
    # Whoever took the key while this one waited for the limit has committed by now.
    existing = _holder_of_key(borrowed, new)
    if existing is not None:
        return Enqueued(existing, created=False)
    if full is None:
        raise lost_key()
    return full


def lost_key() -> JobrunnerError:
    """Nothing is wrong with the data: the caller's snapshot is older than the winner's commit."""
    return JobrunnerError("another transaction took this idempotency key after yours began; enqueue again in a new one")


def _created(run_id: int | None) -> Enqueued:
    assert run_id is not None
    return Enqueued(run_id, created=True)


def _take_key(borrowed: Borrowed, new: NewRun, *, unless_limited: bool = False) -> bool:
    # The key before the run: two callers at once meet at its row, and the second waits for the first one's outcome.
    taking = insertion.taking_of_key(dialect_name(borrowed), unless_limited)
    return first_row(borrowed, taking, new.key()) is not None


def _holder_of_key(borrowed: Borrowed, new: NewRun) -> int | None:
    if new.idempotency_key is None:
        return None
    row = first_row(borrowed, insertion.holder_of_key(), new.key())
    return None if row is None else row[0]


def _insert_under_key(borrowed: Borrowed, new: NewRun) -> Enqueued:
    enqueued = _created(_insert(borrowed, new))
    first_row(borrowed, insertion.noting_of_run(), {**new.key(), "taken_for": enqueued.id})
    return enqueued


def _insert(borrowed: Borrowed, new: NewRun, *, unless_limited: bool = False) -> int | None:
    values = new.columns()
    row = first_row(borrowed, insertion.insertion_of_one(tuple(values), unless_limited), values)
    return None if row is None else row[0]


@dataclass(frozen=True, slots=True)
class Answer:
    """What was found and whether it was changed. ``status`` None: there is no such run.

    ``requested`` tells that a running run was asked to stop and is not cancelled yet.
    """

    run_id: int
    status: Status | None
    applied: bool
    requested: bool = False


def cancel(connection: Connection, run_id: int, actor: str) -> Answer:
    """Cancel a waiting run, or ask the owner of a running one to stop it."""
    row = _lock(connection, run_id)
    if row is None or not allowed(Event.CANCEL, row["status"]):
        return _refused(run_id, row)
    if row["status"] == Status.RUNNING:
        if row["cancel_requested_at"] is None:
            # Its owner moves it, at the end of the attempt; until then it is running.
            _change(connection, row, Event.CANCEL, actor, {"cancel_requested_at": row["now"]})
        return Answer(run_id, Status.RUNNING, applied=True, requested=True)
    changes = {
        "status": target(Event.CANCEL, row["status"]).value,
        "finished_at": row["now"],
        "cancel_requested_at": row["now"],
    }
    _change(connection, row, Event.CANCEL, actor, changes)
    return Answer(run_id, row["status"], applied=True)


def retry(connection: Connection, run_id: int, actor: str, *, force: bool = False) -> Answer:
    """Queue a run again, due now, with at least one more attempt. ``force`` also takes a succeeded one."""
    row = _lock(connection, run_id)
    event = Event.FORCE_RETRY if row is not None and row["status"] == Status.SUCCEEDED else Event.RETRY
    if row is None or not allowed(event, row["status"]) or (event is Event.FORCE_RETRY and not force):
        return _refused(run_id, row)
    enough = None if row["max_attempts"] is None else max(row["max_attempts"], row["attempts"] + 1)
    changes = {
        "status": target(event, row["status"]).value,
        "run_at": row["now"],
        # A person wants it now, however late.
        "start_deadline_at": null(),
        "finished_at": null(),
        "cancel_requested_at": null(),
        "releases": 0,
        "incompatible_at": null(),
        "max_attempts": enough,
        **NO_LOCK,
    }
    _change(connection, row, event, actor, changes)
    return Answer(run_id, row["status"], applied=True)


def discard(connection: Connection, run_id: int, actor: str, reason: str) -> Answer:
    """Give a waiting or cancelled run up: dead, with who and why in the audit trail."""
    row = _lock(connection, run_id)
    if row is None or not allowed(Event.DISCARD, row["status"]):
        return _refused(run_id, row)
    reason = one_line(reason)
    changes = {
        "status": target(Event.DISCARD, row["status"]).value,
        "finished_at": row["now"],
        "error_type": "discarded",
        "last_error": reason,
    }
    _change(connection, row, Event.DISCARD, actor, changes, detail={"reason": reason})
    return Answer(run_id, row["status"], applied=True)


def _lock(connection: Connection, run_id: int) -> RowMapping | None:
    columns = job_runs.c
    statement = (
        select(
            columns.id,
            columns.status,
            columns.attempts,
            columns.max_attempts,
            columns.cancel_requested_at,
            now().label("now"),
        )
        .where(columns.id == run_id)
        .with_for_update(key_share=True)
    )
    return connection.execute(statement).mappings().one_or_none()


def _refused(run_id: int, row: RowMapping | None) -> Answer:
    return Answer(run_id, None if row is None else Status(row["status"]), applied=False)


def _change(
    connection: Connection,
    row: RowMapping,
    event: Event,
    actor: str,
    columns: dict[str, Any],
    *,
    detail: dict[str, Any] | None = None,
) -> None:
    connection.execute(update(job_runs).where(job_runs.c.id == row["id"]).values(**columns, updated_at=row["now"]))
    told = {"from": row["status"], **(detail or {})}
    trail.write(connection, [trail.event(actor, event.value, None, told, row["now"], row["id"])])
