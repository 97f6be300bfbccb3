"""Queries for operators: one run, and the state of everything. Each function expects a read transaction."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, select

from jobrunner.lifecycle import Status
from jobrunner.store import definitions
from jobrunner.store.backpressure import WAITING
from jobrunner.store.definitions import ListedDefinition
from jobrunner.store.dialect.values import now
from jobrunner.store.records import columns_of, read
from jobrunner.store.schema import job_attempts, job_events, job_runs, job_ticks, job_types
from jobrunner.store.views import job_claimable


@dataclass(frozen=True)
class Attempt:
    """One attempt that has ended."""

    sequence: int
    attempt: int
    worker: str
    host: str
    started_at: datetime
    finished_at: datetime
    outcome: str
    error_type: str | None
    error: str | None
    traceback: str | None
    output: str | None
    exit_signal: int | None


@dataclass(frozen=True)
class RunEvent:
    """What a person or a tick did to a run."""

    at: datetime
    actor: str
    action: str
    detail: Any


@dataclass(frozen=True)
class Run:
    """All columns of a run, its attempts, and its events."""

    id: int
    definition_id: int | None
    job_type: str
    payload: Any
    status: str
    priority: int
    run_at: datetime
    scheduled_for: datetime | None
    origin: str | None
    start_deadline_at: datetime | None
    concurrency_key: str | None
    idempotency_key: str | None
    attempts: int
    max_attempts: int | None
    timeout: float | None
    locked_by: str | None
    host: str | None
    locked_until: datetime | None
    lease_token: str | None
    claimed_at: datetime | None
    started_at: datetime | None
    heartbeat_at: datetime | None
    cancel_requested_at: datetime | None
    failed_at: datetime | None
    finished_at: datetime | None
    releases: int
    lease_expiries: int
    incompatible_at: datetime | None
    error_type: str | None
    last_error: str | None
    result: Any
    progress: Any
    output: str | None
    created_at: datetime
    updated_at: datetime
    attempt_log: list[Attempt]
    event_log: list[RunEvent]


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
    """The state of everything. ``runs`` maps each status to its number of runs; ``ticks`` has the last of each host."""

    at: datetime
    runs: dict[str, int]
    due: int
    oldest_due_seconds: float | None
    running: list[RunningRun]
    failing: list[FailingRun]
    dead: list[DeadRun]
    schedules: list[ListedDefinition]
    unknown_types: list[UnknownType]
    limits: list[LimitedType]
    ticks: list[Tick]


def show(connection: Connection, run_id: int) -> Run | None:
    """One run. None means that there is no such run."""
    found = connection.execute(select(job_runs).where(job_runs.c.id == run_id)).one_or_none()
    if found is None:
        return None
    attempts = select(*columns_of(Attempt, job_attempts)).where(job_attempts.c.run_id == run_id)
    events = select(*columns_of(RunEvent, job_events)).where(job_events.c.run_id == run_id)
    return Run(
        **found._asdict(),
        attempt_log=read(connection, Attempt, attempts.order_by(job_attempts.c.sequence)),
        event_log=read(connection, RunEvent, events.order_by(job_events.c.id)),
    )


def status(connection: Connection, known_types: Collection[str] | None, newest: int = 10) -> State:
    """The state of everything. ``known_types`` None means that this host's job types could not be found out."""
    at = connection.execute(select(now())).scalar_one()
    due, oldest = connection.execute(
        select(func.count(), func.min(job_claimable.c.run_at)).select_from(job_claimable)
    ).one()
    return State(
        at=at,
        runs=_counts(connection),
        due=due,
        oldest_due_seconds=None if oldest is None else max(0.0, (at - oldest).total_seconds()),
        running=_running(connection),
        failing=_failing(connection, newest),
        dead=_dead(connection, newest),
        schedules=definitions.listed(connection),
        unknown_types=[] if known_types is None else _unknown(connection, known_types),
        limits=_limits(connection),
        ticks=_last_ticks(connection),
    )


def _counts(connection: Connection) -> dict[str, int]:
    found = connection.execute(select(job_runs.c.status, func.count()).group_by(job_runs.c.status))
    counts = {row[0]: row[1] for row in found}
    return {each.value: counts.get(each.value, 0) for each in Status}


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


def _unknown(connection: Connection, known_types: Collection[str]) -> list[UnknownType]:
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
