"""Enqueues one run in the caller's own transaction. The run exists if and only if that transaction commits."""

from __future__ import annotations

from jobrunner.model import Policy
from jobrunner.store import enqueue_many
from jobrunner.store.connection import Executor
from jobrunner.store.enqueue_sql import Enqueued, NewRun
from jobrunner.store.statement import Prepared


def enqueue(caller: Executor, new: NewRun, policy: Policy | None = None) -> Enqueued:
    """Insert a run in the caller's transaction, or find the run that has its idempotency key.

    ``policy`` is that of the caller's own code; None: the stored limit of the type counts. Raises QueueFull, with
    nothing written, if the type is full and refuses runs. Without a limit this costs only a condition in the first
    statement. Transactions that enqueue runs of a limited type wait for each other.
    """
    if policy is None or policy.max_waiting is None:
        if new.idempotency_key is None:
            run_id = _insert(caller, new, unless_limited=True)
            if run_id is not None:
                return Enqueued(run_id, created=True)
        elif _takes_key(caller, new):
            return _insert_under_key(caller, new)
    if new.idempotency_key is not None:
        holder = caller.execute(Prepared("enqueue.key"), new.key()).first()
        if holder is not None:
            return Enqueued(holder[0], created=False)
    # The type has a limit, or another transaction has just inserted the key. The code for many runs handles both.
    own = {name: value for name, value in new.columns().items() if name in ("payload", "idempotency_key")}
    return enqueue_many.enqueue(caller, new, [own], policy)[0]


def _takes_key(caller: Executor, new: NewRun) -> bool:
    # The key before the run: of two callers at once, the second waits at the key's row until the first has ended.
    statement = Prepared("enqueue.take_key", (caller.database,))
    return caller.execute(statement, new.key()).first() is not None


def _insert_under_key(caller: Executor, new: NewRun) -> Enqueued:
    run_id = _insert(caller, new)
    caller.execute(Prepared("enqueue.set_run_of_key"), {**new.key(), "run_id_of_key": run_id}).first()
    return Enqueued(run_id, created=True)


def _insert(caller: Executor, new: NewRun, *, unless_limited: bool = False) -> int | None:
    values = new.columns()
    row = caller.execute(Prepared("enqueue.insert_one", (tuple(values), unless_limited)), values).first()
    return None if row is None else row[0]
