"""What the commands of people show about limits over all hosts: their state. ``explain`` says what a run waits for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select

from jobrunner.store.connection import Connection
from jobrunner.store.records import columns_of, read
from jobrunner.store.schema import job_limits, job_runs
from jobrunner.store.statements.backpressure import WAITING
from jobrunner.store.statements.limits import is_at_work


@dataclass(frozen=True)
class RunningLimit:
    """The limits of a type over all hosts, how many of its runs are running, and how many wait.

    ``opens_at`` is when its rate allows the next run, if not now.
    """

    job_type: str
    max_running: int | None
    rate: str | None
    burst: int | None
    concurrency_key: str | None
    max_running_per_key: int | None
    rate_per_key: str | None
    burst_per_key: int | None
    opens_at: datetime | None
    running: int
    waiting: int


def running_limits(connection: Connection) -> list[RunningLimit]:
    """The limits of all types that have some."""
    columns = job_limits.c
    of_type = job_runs.c.job_type == columns.job_type
    counts = {"running": is_at_work(), "waiting": WAITING}
    found = select(
        *columns_of(RunningLimit, job_limits),
        *(
            select(func.count()).where(of_type, condition).correlate(job_limits).scalar_subquery().label(name)
            for name, condition in counts.items()
        ),
    )
    return read(connection, RunningLimit, found.order_by(columns.job_type))
