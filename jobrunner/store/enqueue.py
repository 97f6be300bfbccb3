"""Enqueue one run in the caller's own transaction. It appears if and only if that transaction commits."""

from __future__ import annotations

from jobrunner.errors import JobrunnerError
from jobrunner.model import Policy
from jobrunner.store import backpressure, enqueue_sql
from jobrunner.store.backpressure import Occupancy
from jobrunner.store.dialect.callers import CallersConnection, dialect_name, first_row
from jobrunner.store.enqueue_sql import Enqueued, NewRun


def enqueue(caller: CallersConnection, new: NewRun, policy: Policy | None = None) -> Enqueued:
    """Insert a run in the caller's transaction, or find the one that its idempotency key stands for.

    ``policy`` is what the caller's own code says of the type; None: what the database knows of it counts. Raises
    QueueFull, with nothing written, where the type is full and is to refuse.
    """
    answer = insert_if_room(caller, new, policy)
    if isinstance(answer, Enqueued):
        return answer
    if answer.when_full == "refuse":
        raise answer.refusal()
    backpressure.note_dropped(caller, new.job_type)
    return Enqueued(None, created=False)


def insert_if_room(caller: CallersConnection, new: NewRun, policy: Policy | None = None) -> Enqueued | Occupancy:
    """As ``enqueue``, but a full type is an answer.

    A type without a limit costs nothing more than a condition in the first statement. Enqueues of one with a limit wait
    for each other until the transaction of each ends.
    """
    if policy is None or policy.max_waiting is None:
        if new.idempotency_key is None:
            run_id = _insert(caller, new, unless_limited=True)
            if run_id is not None:
                return Enqueued(run_id, created=True)
        elif _take_key(caller, new, unless_limited=True):
            return _insert_under_key(caller, new)
    existing = _holder_of_key(caller, new)
    if existing is not None:
        return Enqueued(existing, created=False)
    return _insert_in_turn(caller, new, policy)


def _insert_in_turn(caller: CallersConnection, new: NewRun, policy: Policy | None) -> Enqueued | Occupancy:
    # The limit before the key, and by all in this order: two callers with a key each would wait for each other.
    full = backpressure.occupancy_if_full(caller, new.job_type, policy)
    if new.idempotency_key is None:
        return full or _created(_insert(caller, new))
    if full is None and _take_key(caller, new):
        return _insert_under_key(caller, new)
    # Whoever took the key while this one waited for the limit has committed by now.
    existing = _holder_of_key(caller, new)
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


def _take_key(caller: CallersConnection, new: NewRun, *, unless_limited: bool = False) -> bool:
    # The key before the run: two callers at once meet at its row, and the second waits for the first one's outcome.
    taking = enqueue_sql.taking_of_key(dialect_name(caller), unless_limited)
    return first_row(caller, taking, new.key()) is not None


def _holder_of_key(caller: CallersConnection, new: NewRun) -> int | None:
    if new.idempotency_key is None:
        return None
    row = first_row(caller, enqueue_sql.holder_of_key(), new.key())
    return None if row is None else row[0]


def _insert_under_key(caller: CallersConnection, new: NewRun) -> Enqueued:
    enqueued = _created(_insert(caller, new))
    first_row(caller, enqueue_sql.noting_of_run(), {**new.key(), "taken_for": enqueued.id})
    return enqueued


def _insert(caller: CallersConnection, new: NewRun, *, unless_limited: bool = False) -> int | None:
    values = new.columns()
    row = first_row(caller, enqueue_sql.insertion_of_one(tuple(values), unless_limited), values)
    return None if row is None else row[0]
