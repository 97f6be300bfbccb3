"""The state of everything, for the command ``status``. Expects a read transaction."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Select, func, literal_column, select

from jobrunner.lifecycle import CLAIMABLE, FINISHED, Status
from jobrunner.store import definitions, notices, pauses, uncertain
from jobrunner.store.connection import Connection
from jobrunner.store.definitions import ListedDefinition
from jobrunner.store.dialect.values import now
from jobrunner.store.explain import subjects
from jobrunner.store.explain.explanation import Brief
from jobrunner.store.limits_view import RunningLimit, running_limits
from jobrunner.store.notices import Unsent
from jobrunner.store.pauses import Pause
from jobrunner.store.records import columns_of, read
from jobrunner.store.schema import job_runs, job_ticks, job_types
from jobrunner.store.statements.backpressure import WAITING
from jobrunner.store.uncertain import OpenEffect
from jobrunner.store.views import job_claimable

_UNSENT_SINCE = timedelta(days=1)
MOST_COUNTED = 100_000
"""Runs of one status that are counted for the overview. Beside a long history a full count would take seconds."""


@dataclass(frozen=True)
class RunningRun:
    """A run that is running, or whose owner was killed."""

    id: int
    job_type: str
    host: str | None
    locked_by: str
    started_at: datetime | None
    heartbeat_at: datetime | None
    locked_until: datetime
    max_attempts: int | None
    progress: Any
    cancel_requested_at: datetime | None
    attempt: int


@dataclass(frozen=True)
class FailingRun:
    """A run that has failed and will be tried again."""

    id: int
    job_type: str
    attempts: int
    max_attempts: int | None
    error_type: str | None
    last_error: str | None
    next_try_at: datetime


@dataclass(frozen=True)
class DeadRun:
    """A run that will not be tried again."""

    id: int
    job_type: str
    attempts: int
    finished_at: datetime
    error_type: str | None
    last_error: str | None


@dataclass(frozen=True)
class UnknownType:
    """Waiting runs of a type that this host does not know."""

    job_type: str
    waiting: int
    oldest_run_at: datetime


@dataclass(frozen=True)
class LimitedType:
    """A type with a limit of waiting runs."""

    job_type: str
    max_waiting: int
    when_full: str
    dropped: int
    dropped_at: datetime | None
    waiting: int


@dataclass(frozen=True)
class Tick:
    """A tick. ``finished_at`` None: it is at work, or was killed."""

    host: str
    worker: str
    version: str
    started_at: datetime
    application: str | None
    listening_at: datetime | None
    types: str | None
    finished_at: datetime | None
    counts: Any
    error: str | None


@dataclass(frozen=True)
class State:
    """The state of everything. ``runs`` maps each status to its number of runs; ``ticks`` has the last of each host.

    ``oldest_due`` says why the run that is due for the longest time does not run: see ``Explanation.brief``.

    No more than ``MOST_COUNTED`` are counted: of the statuses ``runs_at_least`` there are more.
    """

    at: datetime
    runs: dict[str, int]
    runs_at_least: list[str]
    due: int
    oldest_due_seconds: float | None
    oldest_due: Brief | None
    running: list[RunningRun]
    failing: list[FailingRun]
    dead: list[DeadRun]
    pauses: list[Pause]
    schedules: list[ListedDefinition]
    unknown_types: list[UnknownType]
    limits: list[LimitedType]
    running_limits: list[RunningLimit]
    uncertain: int
    uncertain_effects: list[OpenEffect]
    ticks: list[Tick]
    unsent_notices: list[Unsent]


def status(connection: Connection, known_types: Collection[str] | None, newest: int = 10) -> State:
    """The state of everything. ``known_types`` None means that this host's job types could not be found out."""
    at = connection.execute(select(now())).scalar_one()
    due, oldest = connection.execute(
        select(func.count(), func.min(job_claimable.c.run_at)).select_from(job_claimable)
    ).one()
    counts = _counts(connection)
    return State(
        at=at,
        runs={status: min(count, MOST_COUNTED) for status, count in counts.items()},
        runs_at_least=[status for status, count in counts.items() if count > MOST_COUNTED],
        due=due,
        oldest_due_seconds=None if oldest is None else max(0.0, (at - oldest).total_seconds()),
        oldest_due=None if (found := subjects.oldest_due(connection)) is None else found.brief(),
        running=_running(connection),
        failing=_failing(connection, newest),
        dead=_dead(connection, newest),
        pauses=pauses.listed(connection),
        schedules=definitions.listed(connection),
        unknown_types=[] if known_types is None else unknown(connection, known_types),
        limits=_limits(connection),
        running_limits=running_limits(connection),
        uncertain=uncertain.count(connection),
        uncertain_effects=uncertain.listed(connection, newest),
        ticks=_last_ticks(connection),
        unsent_notices=notices.unsent(connection, _UNSENT_SINCE, newest),
    )


def _counts(connection: Connection) -> dict[str, int]:
    """The number of runs in each status, up to one more than MOST_COUNTED. Each count reads only one index."""
    return {status.value: connection.execute(_counting(status)).scalar_one() for status in Status}


def _counting(status: Status) -> Select[Any]:
    # Literals and the conditions of the partial indexes, so that the planner can use them.
    of_status = select(job_runs.c.id).where(job_runs.c.status == literal_column(f"'{status.value}'"))
    if status in FINISHED:
        of_status = of_status.where(job_runs.c.finished_at.is_not(None))
    elif status in CLAIMABLE:
        of_status = of_status.where(WAITING)
    return select(func.count()).select_from(of_status.limit(MOST_COUNTED + 1).subquery())


def _running(connection: Connection) -> list[RunningRun]:
    columns = job_runs.c
    statement = (
        select(*columns_of(RunningRun, job_runs), columns.attempts.label("attempt"))
        .where(columns.status == Status.RUNNING.value)
        .order_by(columns.started_at, columns.id)
    )
    return read(connection, RunningRun, statement)


def _failing(connection: Connection, newest: int) -> list[FailingRun]:
    columns = job_runs.c
    statement = (
        select(*columns_of(FailingRun, job_runs), columns.run_at.label("next_try_at"))
        .where(columns.status == Status.FAILED.value)
        .order_by(columns.run_at, columns.id)
        .limit(newest)
    )
    return read(connection, FailingRun, statement)


def _dead(connection: Connection, newest: int) -> list[DeadRun]:
    columns = job_runs.c
    statement = (
        select(*columns_of(DeadRun, job_runs))
        .where(columns.status == Status.DEAD.value, columns.finished_at.is_not(None))
        .order_by(columns.finished_at.desc(), columns.id.desc())
        .limit(newest)
    )
    return read(connection, DeadRun, statement)


def unknown(connection: Connection, known_types: Collection[str]) -> list[UnknownType]:
    """The types of waiting runs that are none of the known ones."""
    columns = job_runs.c
    statement = (
        select(columns.job_type, func.count().label("waiting"), func.min(columns.run_at).label("oldest_run_at"))
        .where(
            columns.status.in_([Status.QUEUED.value, Status.FAILED.value]), columns.job_type.not_in(sorted(known_types))
        )
        .group_by(columns.job_type)
        .order_by(columns.job_type)
    )
    return read(connection, UnknownType, statement)


def _limits(connection: Connection) -> list[LimitedType]:
    columns = job_types.c
    waiting = (
        select(func.count()).where(job_runs.c.job_type == columns.job_type, WAITING).correlate(job_types)
    ).scalar_subquery()
    statement = (
        select(*columns_of(LimitedType, job_types), waiting.label("waiting"))
        .where(columns.max_waiting.is_not(None))
        .order_by(columns.job_type)
    )
    return read(connection, LimitedType, statement)


def _last_ticks(connection: Connection) -> list[Tick]:
    columns = job_ticks.c
    last = select(func.max(columns.id)).group_by(columns.host)
    return read(
        connection, Tick, select(*columns_of(Tick, job_ticks)).where(columns.id.in_(last)).order_by(columns.host)
    )
