"""Backpressure: limits how many runs of a type may wait. The limit is stored in the database, for all that enqueue.

The scope of the type's keys is stored with it, for the same reason.

Every function but ``changed_limits`` expects a write transaction: the caller's own if it enqueues a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from jobrunner.errors import LimitHeld, QueueFull
from jobrunner.model import Policy
from jobrunner.store.drivers import failures
from jobrunner.store.drivers.connection import Connection, DriverError, Executor
from jobrunner.store.drivers.locks import wait_briefly_for_locks
from jobrunner.store.drivers.steps import Steps, follow
from jobrunner.store.sql.statement import Prepared, Row


class Occupancy(NamedTuple):
    """How many runs of a limited type wait. The count ends at one more than the limit."""

    job_type: str
    waiting: int
    max_waiting: int
    when_full: str

    @property
    def free(self) -> int:
        """How many more runs may be enqueued."""
        return max(0, self.max_waiting - self.waiting)

    def refusal(self, wanted: int = 1) -> QueueFull:
        """The error for a caller that wants to enqueue more runs than that."""
        count = f"{self.waiting} wait" if self.waiting <= self.max_waiting else f"more than {self.max_waiting} wait"
        full = f"has no room for {wanted} more" if self.free else "is full"
        return QueueFull(
            f"the queue of {self.job_type!r} {full}: {count}, max_waiting is {self.max_waiting}; enqueue again when"
            " some of them are done, cancel some, or raise max_waiting"
        )


def lock_and_count(caller: Executor, job_type: str, policy: Policy | None) -> Occupancy | None:
    """Lock the type's limit until the transaction ends, then count its waiting runs. None: the type has no limit."""
    return follow(caller, lock_and_count_steps(caller.database, job_type, policy))


def lock_and_count_steps(
    database: str, job_type: str, policy: Policy | None, *, keyed: bool = False
) -> Steps[Occupancy | None]:
    """Lock the type's limit until the transaction ends, then count its waiting runs. None: the type has no limit.

    A ``policy`` comes from the code of this process. If its limit is not the stored one, the rules of the policy are
    stored first; with ``keyed`` also if the scope of its keys is not the stored one.
    """
    stored = (yield Prepared("backpressure.lock"), {"of_type": job_type}).first()
    if stored is None and keyed and policy is not None:
        stored = (yield Prepared("backpressure.rules_of_type"), {"of_type": job_type}).first()
    rules = _NO_RULES if stored is None else _Rules._make(stored)
    if policy is not None and (wanted := rules_of(policy)).differ(rules, keyed):
        yield from declare_steps(database, [policy])
        rules = wanted
    if rules.max_waiting is None:
        return None
    values = {"of_type": job_type, "limit": rules.max_waiting + 1}
    waiting = (yield Prepared("backpressure.count"), values).scalar_one()
    return Occupancy(job_type, waiting, rules.max_waiting, rules.when_full)


class _Rules(NamedTuple):
    """What is stored about a type."""

    max_waiting: int | None = None
    when_full: str = "refuse"
    key_scope: str = "forever"
    key_window: float | None = None
    fair_by: str | None = None

    def differ(self, stored: _Rules, keyed: bool) -> bool:
        return self[:2] != stored[:2] or (keyed and self[2:4] != stored[2:4])


_NO_RULES = _Rules()


def rules_of(policy: Policy) -> _Rules:
    """The rules to store for a policy."""
    # Without a limit, ``when_full`` does not matter.
    when_full = "refuse" if policy.max_waiting is None else policy.when_full
    fair_by = None if policy.limits is None else policy.limits.fair_by
    return _Rules(policy.max_waiting, when_full, policy.key_scope, window_of(policy), fair_by)


def window_of(policy: Policy) -> float | None:
    """The window of the keys of a type, in seconds."""
    return None if policy.key_window is None else policy.key_window.total_seconds()


def has_scope(holder: Row, policy: Policy | None) -> bool:
    """Whether the stored scope of keys, in a row of ``keys.holder``, is that of the policy, if there is one."""
    return policy is None or (holder.key_scope, holder.key_window) == (policy.key_scope, window_of(policy))


def changed_limits(connection: Connection, policies: Sequence[Policy]) -> list[Policy]:
    """The policies whose rules are not the stored ones. Expects any transaction."""
    rows = connection.execute(Prepared("backpressure.rules"))
    known: dict[str, _Rules] = {row.job_type: _Rules._make(row[1:]) for row in rows}
    return [policy for policy in policies if known.get(policy.job_type, _NO_RULES) != rules_of(policy)]


def declare(caller: Executor, policies: Iterable[Policy]) -> None:
    """Store the rules of these policies; a policy without a limit removes that of its type. Drop counts stay."""
    follow(caller, declare_steps(caller.database, policies))


def declare_steps(database: str, policies: Iterable[Policy]) -> Steps[None]:
    """Store the rules of these policies."""
    # In one order, so that two transactions cannot wait for each other's rows.
    for policy in sorted(policies, key=lambda each: each.job_type):
        rules = {f"new_{name}": value for name, value in rules_of(policy)._asdict().items()}
        yield Prepared("backpressure.declare"), {"of_type": policy.job_type, **rules}


@contextmanager
def short_lock_waits(connection: Connection) -> Iterator[None]:
    """Wait for locks at most a second, so that a tick does not wait until an application ends its transaction.

    Raises LimitHeld after that; the transaction must be rolled back.
    """
    try:
        wait_briefly_for_locks(connection)
        yield
    except DriverError as error:
        if failures.is_lock_timeout(error):
            raise LimitHeld("another transaction that enqueued a run of this type has not ended yet") from None
        raise


def count_dropped_steps(job_type: str, count: int) -> Steps[None]:
    """Add to the count of dropped runs: they were not inserted, and their caller got no error."""
    yield Prepared("backpressure.count_dropped"), {"of_type": job_type, "count": count}
