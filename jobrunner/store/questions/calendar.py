"""What became of the slots of some schedules in some days: their runs, and why others have none. For the dashboard.

Every function expects a read transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Float, Integer, case, cast, func, literal, literal_column, select

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.reading import read
from jobrunner.store.schema import job_definitions, job_events, job_runs
from jobrunner.store.sql.dialect.counting import seconds_between
from jobrunner.store.sql.dialect.values import UtcTime

LATE_SECONDS = 120.0
"""A run that starts so long after it was due is late. A tick comes every minute."""
MOST_SKIPS = 2000
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class SlotRun:
    """The run of a slot. ``late_seconds`` is None if it did not start, or was tried again."""

    definition_id: int
    scheduled_for: datetime
    id: int
    status: str
    late_seconds: float | None


@dataclass(frozen=True)
class SlotRuns:
    """How many runs the slots of one day have, with one status. ``day`` is its number, 0 for the first."""

    definition_id: int
    day: int
    status: str
    is_late: int
    runs: int


@dataclass(frozen=True)
class HourRuns(SlotRuns):
    """The same of one hour, whose number is ``day``. ``run_id`` is one of the runs."""

    run_id: int


@dataclass(frozen=True)
class Skip:
    """What a tick or an operator noted about slots that got no run."""

    definition_id: int
    at: datetime
    detail: Any


def counted(connection: Connection, ids: Sequence[int], days: Sequence[datetime]) -> list[SlotRuns]:
    """The runs of these definitions by day. Each day begins at its instant, and the last instant ends the last day."""
    slot = job_runs.c.scheduled_for
    day = case(*((slot < end, number) for number, end in enumerate(days[1:-1])), else_=len(days) - 2)
    is_late = case((_late_by() > literal(LATE_SECONDS, Float()), 1), else_=0)
    found = select(
        job_runs.c.definition_id,
        day.label("day"),
        job_runs.c.status,
        is_late.label("is_late"),
        func.count().label("runs"),
    ).where(*_of(ids, days))
    # By their places: a server takes an expression with parameters for another one each time.
    return read(connection, SlotRuns, found.group_by(*(literal_column(str(place)) for place in (1, 2, 3, 4))))


def by_hour(connection: Connection, definition_id: int, begin: datetime, end: datetime) -> list[HourRuns]:
    """The runs of one definition by hours, counted from ``begin``. It reads no slot but those between both instants."""
    columns = job_runs.c
    hours = seconds_between(literal(begin, UtcTime()), columns.scheduled_for) / literal_column("3600")
    is_late = case((_late_by() > literal(LATE_SECONDS, Float()), 1), else_=0)
    found = select(
        columns.definition_id,
        cast(func.floor(hours), Integer).label("day"),
        columns.status,
        is_late.label("is_late"),
        func.count().label("runs"),
        func.min(columns.id).label("run_id"),
    ).where(*_of([definition_id], [begin, end]))
    return read(connection, HourRuns, found.group_by(*(literal_column(str(place)) for place in (1, 2, 3, 4))))


def runs(connection: Connection, ids: Sequence[int], days: Sequence[datetime]) -> list[SlotRun]:
    """The runs themselves, of definitions that have few."""
    found = select(
        *(job_runs.c[name] for name in ("definition_id", "scheduled_for", "id", "status")),
        _late_by().label("late_seconds"),
    )
    return read(connection, SlotRun, found.where(*_of(ids, days)))


def skips(connection: Connection, ids: Sequence[int], begin: datetime) -> list[Skip]:
    """Why slots got no runs, the oldest note first, at most ``MOST_SKIPS``. A note comes later than its slots."""
    columns = job_events.c
    found = select(columns.definition_id, columns.at, columns.detail).where(
        columns.definition_id.in_(ids), columns.action == "skip slots", columns.at >= begin
    )
    return read(connection, Skip, found.order_by(columns.id).limit(MOST_SKIPS))


def newest_skips(connection: Connection, definition_id: int, begin: datetime) -> list[Skip]:
    """The same of one definition, of whose events the newest ``MOST_SKIPS`` are read."""
    columns = job_events.c
    newest = (
        select(columns.id, columns.definition_id, columns.at, columns.action, columns.detail)
        .where(columns.definition_id == definition_id)
        .order_by(columns.id.desc())
        .limit(MOST_SKIPS)
        .subquery("newest")
        .c
    )
    found = select(newest.definition_id, newest.at, newest.detail)
    return read(connection, Skip, found.where(newest.action == "skip slots", newest.at >= begin).order_by(newest.id))


def newest(connection: Connection, ids: Sequence[int], most: int) -> list[SlotRun]:
    """The runs of the newest ``most`` slots of each definition, the oldest first."""
    before = job_runs.alias()
    oldest = (
        select(before.c.scheduled_for)
        .where(before.c.definition_id == job_definitions.c.id, *_is_slot(before.c))
        .order_by(before.c.scheduled_for.desc())
        .offset(most - 1)
        .limit(1)
        .scalar_subquery()
    )
    found = (
        select(
            *(job_runs.c[name] for name in ("definition_id", "scheduled_for", "id", "status")),
            literal(None, Float()).label("late_seconds"),
        )
        .join(job_definitions, job_runs.c.definition_id == job_definitions.c.id)
        .where(job_definitions.c.id.in_(ids), *_is_slot(job_runs.c))
        .where(job_runs.c.scheduled_for >= func.coalesce(oldest, literal(_LONG_AGO, UtcTime())))
    )
    return read(connection, SlotRun, found.order_by(job_runs.c.scheduled_for))


def _is_slot(columns: Any) -> tuple[ColumnElement[bool], ...]:
    # As the index of the slots has it.
    return (
        columns.scheduled_for.is_not(None),
        columns.origin.is_(None) | (columns.origin != literal_column("'again'")),
    )


def _of(ids: Sequence[int], days: Sequence[datetime]) -> tuple[Any, ...]:
    slot = job_runs.c.scheduled_for
    return (job_runs.c.definition_id.in_(ids), slot >= days[0], slot < days[-1], *_is_slot(job_runs.c))


def _late_by() -> ColumnElement[float | None]:
    """Seconds from when a run was due to its start. A further try has moved both."""
    columns = job_runs.c
    return case((columns.attempts <= 1, seconds_between(columns.run_at, columns.started_at)), else_=None)
