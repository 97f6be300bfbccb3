"""Backpressure: limits how many runs of a type may wait. The limit is stored in the database, for all that enqueue.

Every function but ``changed_limits`` expects a write transaction: the caller's own if it enqueues a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from jobrunner.errors import LimitHeld, QueueFull
from jobrunner.model import Policy
from jobrunner.store import failures
from jobrunner.store.connection import Connection, DriverError, Executor
from jobrunner.store.drivers.locks import wait_briefly_for_locks
from jobrunner.store.statement import Prepared


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
    """Lock the type's limit until the transaction ends, then count its waiting runs. None: the type has no limit.

    A ``policy`` comes from the code of this process. If its limit is not the stored one, it is stored first.
    """
    stored = caller.execute(Prepared("backpressure.lock"), {"of_type": job_type}).first()
    limit: _Limit = _NO_LIMIT if stored is None else (stored.max_waiting, stored.when_full)
    if policy is not None and limit != _limit_of(policy):
        declare(caller, [policy])
        limit = _limit_of(policy)
    max_waiting, when_full = limit
    if max_waiting is None:
        return None
    values = {"of_type": job_type, "limit": max_waiting + 1}
    waiting = caller.execute(Prepared("backpressure.count"), values).scalar_one()
    return Occupancy(job_type, waiting, max_waiting, when_full)


_Limit = tuple[int | None, str]
_NO_LIMIT: _Limit = (None, "refuse")


def _limit_of(policy: Policy) -> _Limit:
    # Without a limit, ``when_full`` does not matter.
    return _NO_LIMIT if policy.max_waiting is None else (policy.max_waiting, policy.when_full)


def changed_limits(connection: Connection, policies: Sequence[Policy]) -> list[Policy]:
    """The policies whose limit is not the stored one. Expects any transaction."""
    rows = connection.execute(Prepared("backpressure.limits"))
    known: dict[str, _Limit] = {row.job_type: (row.max_waiting, row.when_full) for row in rows}
    return [policy for policy in policies if known.get(policy.job_type, _NO_LIMIT) != _limit_of(policy)]


def declare(caller: Executor, policies: Iterable[Policy]) -> None:
    """Store the limits of these policies; a policy without a limit removes that of its type. Drop counts stay."""
    # In one order, so that two transactions cannot wait for each other's rows.
    for policy in sorted(policies, key=lambda each: each.job_type):
        max_waiting, when_full = _limit_of(policy)
        values = {"of_type": policy.job_type, "new_limit": max_waiting, "new_when_full": when_full}
        caller.execute(Prepared("backpressure.declare", (caller.database,)), values)


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


def count_dropped(caller: Executor, job_type: str, count: int = 1) -> None:
    """Add to the count of dropped runs: they were not inserted, and their caller got no error."""
    caller.execute(Prepared("backpressure.count_dropped"), {"of_type": job_type, "count": count})
