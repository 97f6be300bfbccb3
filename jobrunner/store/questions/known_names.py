"""The names of job types, schedules and hosts that the database knows. Expects a read transaction."""

from __future__ import annotations

from sqlalchemy import literal_column, or_, select, union

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions import findings
from jobrunner.store.schema import job_definitions, job_limits, job_tallies, job_totals
from jobrunner.store.schema import job_types as limited_types
from jobrunner.store.sql.statement import Prepared

_TYPES = union(
    *(select(table.c.job_type) for table in (job_totals, limited_types)),
    # Of a type without a limit in the code the row may come from a mistyped `jobrunner limit`.
    select(job_limits.c.job_type).where(
        or_(*(job_limits.c[name].is_not(None) for name in ("max_running", "rate", "concurrency_key")))
    ),
    # All other rows of tallies are in the totals. With a literal the planner can use their partial index.
    select(job_tallies.c.job_type).where(job_tallies.c.is_in_totals == literal_column("0")),
    select(job_definitions.c.job_type).where(job_definitions.c.removed_at.is_(None)),
)
_SCHEDULES = select(job_definitions.c.name).where(job_definitions.c.removed_at.is_(None))


def job_types(connection: Connection) -> list[str]:
    """The types of runs that wait or have ended, of schedules, and those that ticks can run.

    It reads no table of runs as a whole.
    """
    waiting = connection.execute(Prepared("findings.waiting_types")).scalars()
    reported = [name for row in connection.execute(Prepared("findings.known_types")) for name in row.can_run]
    return sorted({*connection.execute(_TYPES).scalars(), *waiting, *reported})


def hosts(connection: Connection) -> list[str]:
    """The hosts whose ticks have used the database."""
    return [tick.host for tick in findings.last_ticks(connection)]


def schedules(connection: Connection) -> list[str]:
    """The names of the schedules that are not removed."""
    return sorted(connection.execute(_SCHEDULES).scalars())
