"""Deletes rows that are older than their retention.

A type may have a retention of its own. Its succeeded and cancelled runs are kept for that time in place of the time of
their status, and its dead runs for the longer of the two: an operator must look at them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, TypeAlias

from jobrunner import failpoints
from jobrunner.lifecycle import Status
from jobrunner.store.drivers.connection import Connection, DriverError
from jobrunner.store.queue.ticks import tallies
from jobrunner.store.sql.statement import Prepared

_BATCH = 500
"""How many rows of each kind one ``prune`` deletes at most."""
_ENDED = (Status.SUCCEEDED, Status.CANCELLED, Status.DEAD)
_OTHERS = {"ticks": "ticks", "events": "events", "notices": "events"}
"""What is deleted beside runs, and as what it is kept."""
_FIRST = datetime(1970, 1, 1, tzinfo=UTC)
_NO_TYPES: Mapping[str, timedelta] = {}


class Rule(NamedTuple):
    """How long runs of a status are kept: of one type, or of all types that have no rule of their own."""

    status: Status
    job_type: str | None
    keep: timedelta


Positions: TypeAlias = Mapping[tuple[Status, str | None], datetime]
"""Up to which end of a run the runs of a rule were looked at, so that the next batch does not begin anew."""
_NO_POSITIONS: Positions = {}


class Old(NamedTuple):
    """A number of rows: of a table, or the runs of a type with a status."""

    what: str
    job_type: str | None
    rows: int


class Pruned(NamedTuple):
    """The number of deleted rows, and of what; the old runs that could not be deleted, and the reason for one of them.

    ``positions`` is for the next call.
    """

    deleted: int
    kept: Collection[int] = ()
    reason: str | None = None
    what: Mapping[tuple[str, str | None], int] = {}
    positions: Positions = _NO_POSITIONS


def rules(keep: Mapping[str, timedelta], types: Mapping[str, timedelta]) -> Iterator[Rule]:
    """The rules for all runs: the types with a retention of their own, then the others."""
    for status in _ENDED:
        for job_type, own in types.items():
            yield Rule(status, job_type, max(own, keep[status]) if status is Status.DEAD else own)
        yield Rule(status, None, keep[status])


def prune(
    connection: Connection,
    keep: Mapping[str, timedelta],
    limit: int = _BATCH,
    besides: Collection[int] = (),
    types: Mapping[str, timedelta] = _NO_TYPES,
    after: Positions = _NO_POSITIONS,
) -> Pruned:
    """Delete one batch of old rows: at most ``limit`` of each kind.

    ``keep`` maps the statuses succeeded, cancelled and dead, and ``ticks`` and ``events``, to how long they are kept,
    and ``types`` maps job types to their own retention. Unfinished runs and idempotency keys are never deleted. The
    database may refuse to delete a run, because a row of the application refers to it: give such runs as ``besides`` in
    the next call, and the positions as ``after``.
    """
    kept, reason, what, positions = list[int](), None, Counter[tuple[str, str | None]](), dict(after)
    for rule in rules(keep, types):
        place = rule.status, rule.job_type
        values = {"after": positions.get(place, _FIRST), "limit": limit, **_given(besides), **_values(rule, types)}
        found = connection.execute(Prepared("retention.old_runs", (_of(rule, types),)), values).all()
        stayed, why = delete_runs(connection, [run.id for run in found])
        what.update((rule.status.value, run.job_type) for run in found if run.id not in stayed)
        kept += stayed
        reason = reason or why
        if found:
            positions[place] = found[-1].finished_at
    for name, like in _OTHERS.items():
        values = {"before": -keep[like].total_seconds(), "limit": limit}
        ids = connection.execute(Prepared("retention.old", (name,)), values).scalars()
        if ids:
            what[name, None] += connection.execute(Prepared("retention.delete", (name,)), _given(ids)).rowcount
    old = connection.execute(Prepared("gates.old"), {"limit": limit}).mappings()
    if old:
        # The number of deleted rows is how many runs and the like are gone; a gate is none of these.
        connection.execute(Prepared("gates.delete"), {"given": old})
    failpoints.hit("prune.before_commit", cut=connection.sever)
    return Pruned(what.total(), kept, reason, what, positions)


def count_old(connection: Connection, keep: Mapping[str, timedelta], types: Mapping[str, timedelta]) -> list[Old]:
    """What all calls of ``prune`` together would delete. Expects any transaction."""
    found = []
    for rule in rules(keep, types):
        statement = Prepared("retention.count_old_runs", (_of(rule, types),))
        counted = connection.execute(statement, _values(rule, types)).all()
        found += [Old(rule.status.value, row.job_type, row.rows) for row in counted]
    for name, like in _OTHERS.items():
        values = {"before": -keep[like].total_seconds()}
        count = connection.execute(Prepared("retention.count_old", (name,)), values).scalar_one()
        found += [Old(name, None, count)] if count else []
    return sorted(found, key=str)


def _of(rule: Rule, types: Mapping[str, timedelta]) -> str:
    if rule.job_type is not None:
        return "type"
    return "others" if types else "every"


def _values(rule: Rule, types: Mapping[str, timedelta]) -> dict[str, Any]:
    values: dict[str, Any] = {"its_status": rule.status.value, "before": -rule.keep.total_seconds()}
    if rule.job_type is not None:
        return values | {"of_type": rule.job_type}
    return values | ({"types": [{"job_type": each} for each in types]} if types else {})


def delete_runs(connection: Connection, ids: list[int]) -> tuple[list[int], str | None]:
    """Delete these runs. Returns those that could not be deleted, and why. After a failure each half is tried alone."""
    if not ids:
        return [], None
    try:
        with connection.savepoint():
            tallies.count_attempts_of(connection, ids)
            connection.execute(Prepared("retention.delete_attempts"), _given(ids))
            connection.execute(Prepared("retention.delete", ("runs",)), _given(ids))
    except DriverError as error:
        if not error.is_a("IntegrityError", "InternalError"):
            raise
        # A foreign key or a trigger of the application refuses it.
        if len(ids) == 1:
            return ids, str(error.orig).splitlines()[0]
        half = len(ids) // 2
        first, why = delete_runs(connection, ids[:half])
        second, why_too = delete_runs(connection, ids[half:])
        return first + second, why or why_too
    return [], None


def _given(ids: Collection[int]) -> dict[str, Any]:
    return {"given": [{"id": each} for each in ids]}
