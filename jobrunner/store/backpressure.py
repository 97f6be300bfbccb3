"""Back-pressure: how many runs of a type may wait. The limit lives in the database, so every way in obeys the same one.

Each function but ``differing`` expects a transaction that writes: the caller's own where a run is enqueued.
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
from jobrunner.store import dialect, failures
from jobrunner.store.dialect import now
from jobrunner.store.dialect.callers import CallersConnection, Statement, dialect_name, fetch, first_row
from jobrunner.store.schema import job_runs, job_types

# Literals, as everywhere: with parameters the planner cannot know that the partial index serves.
WAITING: ColumnElement[bool] = job_runs.c.status.in_((literal_column("'queued'"), literal_column("'failed'")))

# Not the name of the column: Core keeps that for itself in an UPDATE.
_OF_TYPE: ColumnElement[str] = bindparam("of_type", type_=job_types.c.job_type.type)


@dataclass(frozen=True, slots=True)
class Occupancy:
    """How full a type with a limit is. ``waiting`` is counted no further than one beyond the limit."""

    job_type: str
    waiting: int
    max_waiting: int
    when_full: str

    @property
    def free(self) -> int:
        """How many more may be enqueued."""
        return max(0, self.max_waiting - self.waiting)

    def refusal(self, wanted: int = 1) -> QueueFull:
        """The error for who asked to be told."""
        count = f"{self.waiting} wait" if self.waiting <= self.max_waiting else f"more than {self.max_waiting} wait"
        full = f"has no room for {wanted} more" if self.free else "is full"
        return QueueFull(
            f"the queue of {self.job_type!r} {full}: {count}, max_waiting is {self.max_waiting}; enqueue again when"
            " some of them are done, cancel some, or raise max_waiting"
        )


def is_limited(job_type: ColumnElement[str]) -> ColumnElement[bool]:
    """A condition that costs one look-up in the statement which it is a part of."""
    columns = job_types.c
    return exists().where(columns.job_type == job_type, columns.max_waiting.is_not(None))


def find_room(caller: CallersConnection, job_type: str, policy: Policy | None) -> Occupancy | None:
    """Hold the type's limit until the transaction ends, then count. None: the type has no limit.

    What ``policy``, the code of this very process, says of the type is written first.
    """
    limit = first_row(caller, _holding(), {"of_type": job_type})
    if policy is not None and tuple(limit or _NO_LIMIT) != _said_by(policy):
        declare(caller, [policy])
        limit = _said_by(policy)
    max_waiting, when_full = limit or _NO_LIMIT
    if max_waiting is None:
        return None
    counted = first_row(caller, _counting(), {"of_type": job_type, "most": max_waiting + 1})
    return Occupancy(job_type, counted[0], max_waiting, when_full)


_Limit = tuple[int | None, str]
_NO_LIMIT: _Limit = (None, "refuse")


def _said_by(policy: Policy) -> _Limit:
    # When there is no limit, it does not matter what would be done at it.
    return _NO_LIMIT if policy.max_waiting is None else (policy.max_waiting, policy.when_full)


@cache
def _holding() -> Statement:
    # An update that changes nothing, where SELECT … FOR UPDATE would lock as well: at REPEATABLE READ a mere lock
    # lets the next one in with its old snapshot, in which the run just inserted is not there to be counted.
    columns = job_types.c
    return (
        update(job_types)
        .where(columns.job_type == _OF_TYPE, columns.max_waiting.is_not(None))
        .values(job_type=columns.job_type)
        .returning(columns.max_waiting, columns.when_full)
    )


@cache
def _counting() -> Statement:
    some = select(literal(1)).where(job_runs.c.job_type == _OF_TYPE, WAITING)
    return select(func.count()).select_from(some.limit(bindparam("most", type_=Integer)).subquery())


def differing(connection: Connection, policies: Sequence[Policy]) -> list[Policy]:
    """Those whose limit the database does not know yet. Expects any transaction."""
    columns = job_types.c
    rows = connection.execute(
        select(columns.job_type, columns.max_waiting, columns.when_full).where(columns.max_waiting.is_not(None))
    )
    known: dict[str, _Limit] = {row.job_type: (row.max_waiting, row.when_full) for row in rows}
    return [policy for policy in policies if known.get(policy.job_type, _NO_LIMIT) != _said_by(policy)]


def declare(caller: CallersConnection, policies: Iterable[Policy]) -> None:
    """Write the limits of these policies; one without a limit clears that of its type. What was dropped stays told."""
    # In one order, as all statements that lock several rows.
    for policy in sorted(policies, key=lambda each: each.job_type):
        max_waiting, when_full = _said_by(policy)
        said = {"of_type": policy.job_type, "most": max_waiting, "then": when_full}
        fetch(caller, _declaring(dialect_name(caller)), said)


@lru_cache(maxsize=2)
def _declaring(dialect_name: str) -> Statement:
    columns = job_types.c
    values: dict[str, Any] = {
        "max_waiting": bindparam("most", type_=columns.max_waiting.type),
        "when_full": bindparam("then", type_=columns.when_full.type),
        "updated_at": now(),
    }
    inserting = dialect.inserting(dialect_name, job_types).values(job_type=_OF_TYPE, **values)
    statement: Statement = inserting.on_conflict_do_update(index_elements=[columns.job_type], set_=values)
    return statement


@contextmanager
def not_for_long(connection: Connection) -> Iterator[None]:
    """For a tick, which has other work than to wait until an application ends its transaction.

    Raises LimitHeld after a second; the transaction must be rolled back.
    """
    try:
        dialect.wait_briefly_for_locks(connection)
        yield
    except exc.DBAPIError as error:
        if failures.is_lock_timeout(error):
            raise LimitHeld("another transaction that enqueued a run of this type has not ended yet") from None
        raise


def note_dropped(caller: CallersConnection, job_type: str, count: int = 1) -> None:
    """Count runs that were not inserted and whose caller was not told by an error."""
    fetch(caller, _noting_dropped(), {"of_type": job_type, "count": count})


@cache
def _noting_dropped() -> Statement:
    columns = job_types.c
    more = bindparam("count", type_=Integer)
    return (
        update(job_types).where(columns.job_type == _OF_TYPE).values(dropped=columns.dropped + more, dropped_at=now())
    )
