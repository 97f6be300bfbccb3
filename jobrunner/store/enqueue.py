"""Enqueue one run in the caller's own transaction. It appears if and only if that transaction commits."""

from __future__ import annotations

from jobrunner.model import Policy
from jobrunner.store import enqueue_many, enqueue_sql
from jobrunner.store.dialect.callers import CallersConnection, dialect_name, first_row
from jobrunner.store.enqueue_sql import Enqueued, NewRun


def enqueue(caller: CallersConnection, new: NewRun, policy: Policy | None = None) -> Enqueued:
    """Insert a run in the caller's transaction, or find the one that its idempotency key stands for.

    ``policy`` is what the caller's own code says of the type; None: what the database knows of it counts. Raises
    QueueFull, with nothing written, where the type is full and is to refuse. A type without a limit costs nothing more
    than a condition in the first statement; enqueues of one with a limit wait for each other until the transaction of
    each ends.
    """
    if policy is None or policy.max_waiting is None:
        if new.idempotency_key is None:
            run_id = _insert(caller, new, unless_limited=True)
            if run_id is not None:
                return Enqueued(run_id, created=True)
        elif _takes_key(caller, new):
            return _insert_under_key(caller, new)
    if new.idempotency_key is not None:
        holder = first_row(caller, enqueue_sql.holder_of_key(), new.key())
        if holder is not None:
            return Enqueued(holder[0], created=False)
    # It has a limit, or its key was taken at this moment: as one of many, under the rules that are written there.
    own = {name: value for name, value in new.columns().items() if name in ("payload", "idempotency_key")}
    return enqueue_many.enqueue(caller, new, [own], policy)[0]


def _takes_key(caller: CallersConnection, new: NewRun) -> bool:
    # The key before the run: two callers at once meet at its row, and the second waits for the first one's outcome.
    taking = enqueue_sql.taking_of_key(dialect_name(caller))
    return first_row(caller, taking, new.key()) is not None


def _insert_under_key(caller: CallersConnection, new: NewRun) -> Enqueued:
    run_id = _insert(caller, new)
    first_row(caller, enqueue_sql.noting_of_run(), {**new.key(), "taken_for": run_id})
    return Enqueued(run_id, created=True)


def _insert(caller: CallersConnection, new: NewRun, *, unless_limited: bool = False) -> int | None:
    values = new.columns()
    row = first_row(caller, enqueue_sql.insertion_of_one(tuple(values), unless_limited), values)
    return None if row is None else row[0]
