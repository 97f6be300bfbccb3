"""One run while it works: how it stands, its output, and its attempts. Expects a read transaction."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.reading import columns_of, read
from jobrunner.store.schema import job_attempts, job_runs
from jobrunner.store.sql.dialect.values import now


@dataclass(frozen=True)
class LoggedAttempt:
    """One attempt that has ended."""

    sequence: int
    host: str
    started_at: datetime
    finished_at: datetime
    outcome: str
    error_type: str | None
    error: str | None
    output: str | None


@dataclass(frozen=True)
class RunAtWork:
    """A run at the instant ``at``. ``output`` is the tail of what its attempt at work has printed, as last reported.

    ``last_sequence`` is that of the last attempt that has ended, 0: none has. ``ended`` are those that were asked for.
    """

    id: int
    job_type: str
    status: str
    run_at: datetime
    attempts: int
    host: str | None
    started_at: datetime | None
    finished_at: datetime | None
    error_type: str | None
    last_error: str | None
    progress: Any
    output: str | None
    at: datetime
    last_sequence: int
    ended: tuple[LoggedAttempt, ...]


def look(connection: Connection, run_id: int, after: int = 0, most: int = 1000) -> RunAtWork | None:
    """The run, with its attempts whose sequence is above ``after``. None means that there is no such run."""
    last = select(func.coalesce(func.max(job_attempts.c.sequence), 0)).where(job_attempts.c.run_id == run_id)
    columns = (*columns_of(RunAtWork, job_runs), now().label("at"), last.scalar_subquery().label("last_sequence"))
    found = connection.execute(select(*columns).where(job_runs.c.id == run_id)).one_or_none()
    if found is None:
        return None
    attempts = select(*columns_of(LoggedAttempt, job_attempts))
    attempts = attempts.where(job_attempts.c.run_id == run_id, job_attempts.c.sequence > after)
    ended = read(connection, LoggedAttempt, attempts.order_by(job_attempts.c.sequence).limit(most))
    return RunAtWork(**found._asdict(), ended=tuple(ended))
