"""What has happened since the last look, for a developer who watches. Expects a read transaction."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import bindparam, func, select

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.schema import job_attempts, job_runs
from jobrunner.store.sql.statement import Row

_MOST = 200
_NEWEST = select(*(select(func.max(table.c.id)).scalar_subquery() for table in (job_runs, job_attempts)))
_RUNS = select(*(job_runs.c[name] for name in ("id", "job_type", "payload", "run_at", "created_at")))
_ATTEMPTS = select(
    *(job_attempts.c[name] for name in ("id", "run_id", "attempt", "outcome", "error_type", "error", "traceback")),
    *(job_attempts.c[name] for name in ("output", "started_at", "finished_at")),
    *(job_runs.c[name] for name in ("job_type", "status", "run_at")),
).join_from(job_attempts, job_runs, job_attempts.c.run_id == job_runs.c.id)
_NEW_RUNS, _NEW_ATTEMPTS = (
    listed.where(table.c.id > bindparam("after")).order_by(table.c.id).limit(_MOST)
    for listed, table in ((_RUNS, job_runs), (_ATTEMPTS, job_attempts))
)


class Seen(NamedTuple):
    """Up to which run and attempt everything was seen."""

    run_id: int
    attempt_id: int


def begin(connection: Connection) -> Seen:
    """What is there already does not count as new."""
    return Seen(*(each or 0 for each in connection.execute(_NEWEST).one()))


def look(connection: Connection, seen: Seen) -> tuple[Seen, list[Row], list[Row]]:
    """The new runs and the attempts that have ended since then. The first of the three is for the next look."""
    runs = connection.execute(_NEW_RUNS, {"after": seen.run_id}).all()
    attempts = connection.execute(_NEW_ATTEMPTS, {"after": seen.attempt_id}).all()
    last = (rows[-1].id if rows else before for rows, before in zip((runs, attempts), seen, strict=True))
    return Seen(*last), runs, attempts
