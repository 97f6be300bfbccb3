"""Queries for operators: one run, and the state of everything. Each function expects a read transaction."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import Connection, RowMapping, func, select

from jobrunner.lifecycle import Status
from jobrunner.store import definitions
from jobrunner.store.backpressure import WAITING
from jobrunner.store.dialect import now
from jobrunner.store.schema import job_attempts, job_events, job_runs, job_ticks, job_types
from jobrunner.store.views import job_claimable

Row = dict[str, Any]
_OF_RUNNING = (
    "id", "job_type", "host", "locked_by", "started_at", "heartbeat_at", "locked_until", "max_attempts", "progress",
    "cancel_requested_at",
)  # fmt: skip
_OF_FAILING = ("id", "job_type", "attempts", "max_attempts", "error_type", "last_error")
_OF_DEAD = ("id", "job_type", "attempts", "finished_at", "error_type", "last_error")
_OF_LIMITED = ("job_type", "max_waiting", "when_full", "dropped", "dropped_at")


def show(connection: Connection, run_id: int) -> Row | None:
    """One run: all its columns, its ``attempt_log`` and its ``event_log``. None means that there is no such run."""
    found = connection.execute(select(job_runs).where(job_runs.c.id == run_id)).mappings().one_or_none()
    if found is None:
        return None
    attempts = select(job_attempts).where(job_attempts.c.run_id == run_id).order_by(job_attempts.c.sequence)
    events = select(job_events).where(job_events.c.run_id == run_id).order_by(job_events.c.id)
    return {
        **found,
        "attempt_log": _rows(connection, attempts, leave_out=("id", "run_id", "lease_token")),
        "event_log": _rows(connection, events, leave_out=("id", "run_id", "definition_id")),
    }


def status(connection: Connection, known_types: Collection[str] | None, newest: int = 10) -> Row:
    """The state of everything. ``known_types`` None means that this host's job types could not be found out."""
    at = connection.execute(select(now())).scalar_one()
    due, oldest = connection.execute(
        select(func.count(), func.min(job_claimable.c.run_at)).select_from(job_claimable)
    ).one()
    return {
        "at": at,
        "runs": _counts(connection),
        "due": due,
        "oldest_due_seconds": None if oldest is None else max(0.0, (at - oldest).total_seconds()),
        "running": _running(connection),
        "failing": _failing(connection, newest),
        "dead": _dead(connection, newest),
        "schedules": definitions.listed(connection),
        "unknown_types": [] if known_types is None else _unknown(connection, known_types),
        "limits": _limits(connection),
        "ticks": _last_ticks(connection),
    }


def _counts(connection: Connection) -> dict[str, int]:
    found = connection.execute(select(job_runs.c.status, func.count()).group_by(job_runs.c.status))
    counts = {row[0]: row[1] for row in found}
    return {each.value: counts.get(each.value, 0) for each in Status}


def _running(connection: Connection) -> list[Row]:
    columns = job_runs.c
    statement = (
        select(*(columns[name] for name in _OF_RUNNING), columns.attempts.label("attempt"))
        .where(columns.status == Status.RUNNING.value)
        .order_by(columns.started_at, columns.id)
    )
    return _rows(connection, statement)


def _failing(connection: Connection, newest: int) -> list[Row]:
    columns = job_runs.c
    statement = (
        select(*(columns[name] for name in _OF_FAILING), columns.run_at.label("next_try_at"))
        .where(columns.status == Status.FAILED.value)
        .order_by(columns.run_at, columns.id)
        .limit(newest)
    )
    return _rows(connection, statement)


def _dead(connection: Connection, newest: int) -> list[Row]:
    columns = job_runs.c
    statement = (
        select(*(columns[name] for name in _OF_DEAD))
        .where(columns.status == Status.DEAD.value, columns.finished_at.is_not(None))
        .order_by(columns.finished_at.desc(), columns.id.desc())
        .limit(newest)
    )
    return _rows(connection, statement)


def _unknown(connection: Connection, known_types: Collection[str]) -> list[Row]:
    columns = job_runs.c
    statement = (
        select(columns.job_type, func.count().label("waiting"), func.min(columns.run_at).label("oldest_run_at"))
        .where(
            columns.status.in_([Status.QUEUED.value, Status.FAILED.value]), columns.job_type.not_in(sorted(known_types))
        )
        .group_by(columns.job_type)
        .order_by(columns.job_type)
    )
    return _rows(connection, statement)


def _limits(connection: Connection) -> list[Row]:
    columns = job_types.c
    waiting = (
        select(func.count()).where(job_runs.c.job_type == columns.job_type, WAITING).correlate(job_types)
    ).scalar_subquery()
    statement = (
        select(*(columns[name] for name in _OF_LIMITED), waiting.label("waiting"))
        .where(columns.max_waiting.is_not(None))
        .order_by(columns.job_type)
    )
    return _rows(connection, statement)


def _last_ticks(connection: Connection) -> list[Row]:
    columns = job_ticks.c
    last = select(func.max(columns.id)).group_by(columns.host)
    statement = select(job_ticks).where(columns.id.in_(last)).order_by(columns.host)
    return _rows(connection, statement, leave_out=("id",))


def _rows(connection: Connection, statement: Any, leave_out: Collection[str] = ()) -> list[Row]:
    found: list[RowMapping] = list(connection.execute(statement).mappings())
    return [{name: value for name, value in row.items() if name not in leave_out} for row in found]
