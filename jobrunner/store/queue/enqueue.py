"""Enqueues one run in the caller's own transaction. The run exists if and only if that transaction commits."""

from __future__ import annotations

from collections.abc import Iterable

from jobrunner.model import Policy, Taken
from jobrunner.store.drivers.connection import Connection, Executor
from jobrunner.store.drivers.steps import Steps, follow
from jobrunner.store.queue import backpressure, enqueue_many
from jobrunner.store.queue.enqueue_sql import Enqueued, NewRun, free_key, replacement, taken_by
from jobrunner.store.sql.statement import Prepared, Row
from jobrunner.store.sql.variants import PLAIN, enqueued


def enqueue(caller: Executor, new: NewRun, policy: Policy | None = None, if_taken: Taken = "existing") -> Enqueued:
    """Insert a run in the caller's transaction, or answer for the run that has its idempotency key."""
    return follow(caller, steps(caller.database, new, policy, if_taken))


def make_durable(connection: Connection, answers: Iterable[Enqueued]) -> None:
    """In a transaction of our own: the run of a key that was only found is durable, too, once this is committed."""
    if any(not each.created for each in answers):
        connection.write_marker()


def steps(database: str, new: NewRun, policy: Policy | None, if_taken: Taken) -> Steps[Enqueued]:
    """Insert a run, or answer for the run that has its idempotency key: by ``if_taken``.

    ``policy`` is that of the caller's own code; None: the stored rules of the type count. Raises QueueFull, with
    nothing written, if the type is full and refuses runs, and KeyTaken. Without a limit this costs only a condition in
    the first statement. Transactions that enqueue runs of a limited type wait for each other.
    """
    # A key must be free under each name of the type.
    has_names = policy is not None and len(policy.names) > 1
    if new.idempotency_key is not None and not has_names:
        answer = yield from _under_key(database, new, policy, if_taken)
        if answer is not None:
            return answer
    elif new.idempotency_key is None and (policy is None or policy.max_waiting is None):
        run_id = yield from _insert(new, unless_limited=True)
        if run_id is not None:
            return Enqueued(run_id, created=True)
    # The type has a limit, other rules than its policy, or several names. The code for many runs handles all cases.
    own = {name: value for name, value in new.columns().items() if name in ("payload", "idempotency_key")}
    answers = yield from enqueue_many.steps(database, new, [own], policy, [if_taken])
    return answers[0]


def _under_key(database: str, new: NewRun, policy: Policy | None, if_taken: Taken) -> Steps[Enqueued | None]:
    """None: nothing was written, because the type has a limit or its stored rules are not those of the policy."""
    is_limited = policy is not None and policy.max_waiting is not None
    if not is_limited and (yield from _takes_key(database, new, policy)):
        return (yield from _insert_under_key(new))
    while True:
        holder = (yield Prepared("keys.holder"), new.key()).first()
        if holder is None or not backpressure.has_scope(holder, policy):
            return None
        if holder.is_held:
            return (yield from _answer(database, new, holder, if_taken))
        if is_limited or holder.max_waiting is not None:
            return None
        if (yield Prepared("keys.lock_free"), {"given": [free_key(holder)]}).first() is not None:
            return (yield from _insert_under_key(new))
        # Another transaction has just taken the key over, or has begun the run again.


def _takes_key(database: str, new: NewRun, policy: Policy | None) -> Steps[bool]:
    # The key before the run: of two callers at once, the second waits at the key's row until the first has ended.
    rules, values = "any", new.key()
    if policy is not None:
        rules = "forever"
        if policy.key_scope != "forever":
            rules, values = "other", {**values, "scope": policy.key_scope, "window": backpressure.window_of(policy)}
    return (yield Prepared("keys.take_key", (rules,)), values).first() is not None


def _insert_under_key(new: NewRun) -> Steps[Enqueued]:
    run_id = yield from _insert(new)
    yield Prepared("keys.set_run_of_key"), {**new.key(), "run_id_of_key": run_id}
    return Enqueued(run_id, created=True)


def _answer(database: str, new: NewRun, holder: Row, if_taken: Taken) -> Steps[Enqueued]:
    if if_taken == "raise":
        raise taken_by(holder)
    if if_taken == "replace":
        given = {"given": [replacement(holder.run_id, new.columns())]}
        if (yield Prepared("enqueue.replace", (database,)), given).first() is not None:
            return Enqueued(holder.run_id, created=False, replaced=True)
    return Enqueued(holder.run_id, created=False)


def _insert(new: NewRun, *, unless_limited: bool = False) -> Steps[int | None]:
    values = new.columns()
    if len(values) > len(PLAIN):
        # All that an enqueue can give, so that there is one statement and not one for each choice.
        values = {**dict.fromkeys(enqueued()), **values}
    row = (yield Prepared("enqueue.insert_one", (tuple(values), unless_limited)), values).first()
    return None if row is None else row[0]
