"""What has happened since the last look, for a developer who watches. Expects a read transaction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, func, select

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.schema import job_attempts, job_runs

_MOST = 200
_NEWEST = select(
    select(func.max(job_runs.c.id)).scalar_subquery(), select(func.max(job_attempts.c.id)).scalar_subquery()
)
_RUNS = (
    select(*(job_runs.c[name] for name in ("id", "job_type", "payload", "run_at", "created_at")))
    .where(job_runs.c.id > bindparam("after"))
    .order_by(job_runs.c.id)
    .limit(_MOST)
)
_ATTEMPTS = (
    select(
        *(job_attempts.c[name] for name in ("id", "run_id", "attempt", "outcome", "error_type", "error", "traceback")),
        *(job_attempts.c[name] for name in ("output", "started_at", "finished_at")),
        *(job_runs.c[name] for name in ("job_type", "status", "run_at")),
    )
    .join_from(job_attempts, job_runs, job_attempts.c.run_id == job_runs.c.id)
    .where(job_attempts.c.id > bindparam("after"))
    .order_by(job_attempts.c.id)
    .limit(_MOST)
)


@dataclass(frozen=True)
class Seen:
    """Up to which run and attempt everything was seen."""

    run_id: int
    attempt_id: int


@dataclass(frozen=True)
class Happened:
    """New runs and ended attempts, each as its instant and its columns. ``seen`` is for the next look."""

    seen: Seen
    runs: list[tuple[datetime, dict[str, Any]]]
    attempts: list[tuple[datetime, dict[str, Any]]]


def begin(connection: Connection) -> Seen:
    """What is there already does not count as new."""
    runs, attempts = connection.execute(_NEWEST).one()
    return Seen(runs or 0, attempts or 0)


def look(connection: Connection, seen: Seen) -> Happened:
    """What is new."""
    runs = connection.execute(_RUNS, {"after": seen.run_id}).mappings()
    attempts = connection.execute(_ATTEMPTS, {"after": seen.attempt_id}).mappings()
    if runs:
        seen = replace(seen, run_id=runs[-1]["id"])
    if attempts:
        seen = replace(seen, attempt_id=attempts[-1]["id"])
    return Happened(
        seen,
        [(row["created_at"], dict(row)) for row in runs],
        [(row["finished_at"], dict(row)) for row in attempts],
    )
