"""Backpressure: limits how many runs of a type may wait. The limit is stored in the database, for all that enqueue.

Every function but ``changed_limits`` expects a write transaction: the caller's own if it enqueues a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    bindparam,
    exc,
    exists,
    func,
    literal,
    literal_column,
    select,
    update,
)

from jobrunner.errors import LimitHeld, QueueFull
from jobrunner.model import Policy
from jobrunner.store import failures
from jobrunner.store.dialect.callers import CallersConnection, Statement, dialect_name, fetch, first_row
from jobrunner.store.dialect.statements import inserting, wait_briefly_for_locks
from jobrunner.store.dialect.values import now
from jobrunner.store.schema import job_runs, job_types

# Literals. With bound parameters the planner could not know that it can use the partial index.
WAITING: ColumnElement[bool] = job_runs.c.status.in_((literal_column("'queued'"), literal_column("'failed'")))

# Not the name of the column, which SQLAlchemy reserves in an UPDATE.
_OF_TYPE: ColumnElement[str] = bindparam("of_type", type_=job_types.c.job_type.type)


@dataclass(frozen=True, slots=True)
class Occupancy:
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


def is_limited(job_type: ColumnElement[str]) -> ColumnElement[bool]:
    """A condition: whether a type has a limit. It costs one look-up in its statement."""
    columns = job_types.c
    return exists().where(columns.job_type == job_type, columns.max_waiting.is_not(None))


def lock_and_count(caller: CallersConnection, job_type: str, policy: Policy | None) -> Occupancy | None:
    """Lock the type's limit until the transaction ends, then count its waiting runs. None: the type has no limit.

    A ``policy`` comes from the code of this process. If its limit is not the stored one, it is stored first.
    """
    limit = first_row(caller, _lock_statement(), {"of_type": job_type})
    if policy is not None and tuple(limit or _NO_LIMIT) != _limit_of(policy):
        declare(caller, [policy])
        limit = _limit_of(policy)
    max_waiting, when_full = limit or _NO_LIMIT
    if max_waiting is None:
        return None
    counted = first_row(caller, _count_statement(), {"of_type": job_type, "limit": max_waiting + 1})
    return Occupancy(job_type, counted[0], max_waiting, when_full)


_Limit = tuple[int | None, str]
_NO_LIMIT: _Limit = (None, "refuse")


def _limit_of(policy: Policy) -> _Limit:
    # Without a limit, ``when_full`` does not matter.
    return _NO_LIMIT if policy.max_waiting is None else (policy.max_waiting, policy.when_full)


@cache
def _lock_statement() -> Statement:
    # An UPDATE that changes nothing, instead of SELECT FOR UPDATE. At REPEATABLE READ a caller that waited for a mere
    # lock goes on with its old snapshot, and does not count the run that was just inserted. After an UPDATE it fails.
    columns = job_types.c
    return (
        update(job_types)
        .where(columns.job_type == _OF_TYPE, columns.max_waiting.is_not(None))
        .values(job_type=columns.job_type)
        .returning(columns.max_waiting, columns.when_full)
    )


@cache
def _count_statement() -> Statement:
    some = select(literal(1)).where(job_runs.c.job_type == _OF_TYPE, WAITING)
    return select(func.count()).select_from(some.limit(bindparam("limit", type_=Integer)).subquery())


def changed_limits(connection: Connection, policies: Sequence[Policy]) -> list[Policy]:
    """The policies whose limit is not the stored one. Expects any transaction."""
    columns = job_types.c
    rows = connection.execute(
        select(columns.job_type, columns.max_waiting, columns.when_full).where(columns.max_waiting.is_not(None))
    )
    known: dict[str, _Limit] = {row.job_type: (row.max_waiting, row.when_full) for row in rows}
    return [policy for policy in policies if known.get(policy.job_type, _NO_LIMIT) != _limit_of(policy)]


def declare(caller: CallersConnection, policies: Iterable[Policy]) -> None:
    """Store the limits of these policies; a policy without a limit removes that of its type. Drop counts stay."""
    # In one order, so that two transactions cannot wait for each other's rows.
    for policy in sorted(policies, key=lambda each: each.job_type):
        max_waiting, when_full = _limit_of(policy)
        values = {"of_type": policy.job_type, "new_limit": max_waiting, "new_when_full": when_full}
        fetch(caller, _declare_statement(dialect_name(caller)), values)


@lru_cache(maxsize=2)
def _declare_statement(dialect_name: str) -> Statement:
    columns = job_types.c
    values: dict[str, Any] = {
        "max_waiting": bindparam("new_limit", type_=columns.max_waiting.type),
        "when_full": bindparam("new_when_full", type_=columns.when_full.type),
        "updated_at": now(),
    }
    insert = inserting(dialect_name, job_types).values(job_type=_OF_TYPE, **values)
    statement: Statement = insert.on_conflict_do_update(index_elements=[columns.job_type], set_=values)
    return statement


@contextmanager
def short_lock_waits(connection: Connection) -> Iterator[None]:
    """Wait for locks at most a second, so that a tick does not wait until an application ends its transaction.

    Raises LimitHeld after that; the transaction must be rolled back.
    """
    try:
        wait_briefly_for_locks(connection)
        yield
    except exc.DBAPIError as error:
        if failures.is_lock_timeout(error):
            raise LimitHeld("another transaction that enqueued a run of this type has not ended yet") from None
        raise


def count_dropped(caller: CallersConnection, job_type: str, count: int = 1) -> None:
    """Add to the count of dropped runs: they were not inserted, and their caller got no error."""
    fetch(caller, _count_dropped_statement(), {"of_type": job_type, "count": count})


@cache
def _count_dropped_statement() -> Statement:
    columns = job_types.c
    more = bindparam("count", type_=Integer)
    return (
        update(job_types).where(columns.job_type == _OF_TYPE).values(dropped=columns.dropped + more, dropped_at=now())
    )
