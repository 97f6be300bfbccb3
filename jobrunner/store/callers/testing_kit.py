"""What the testing kit asks and writes besides the statements of a tick. Expects the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import bindparam, delete, func, select, text, union, update

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.reading import columns_of
from jobrunner.store.schema import job_runs, job_state, metadata
from jobrunner.store.schema.views import job_claimable, job_gated
from jobrunner.store.sql.dialect.values import now

_NEWEST = select(func.max(job_runs.c.id))
# Those of limited and fair types wait behind gates after the first claim.
_DUE_TYPES = union(select(job_claimable.c.job_type), select(job_gated.c.job_type)).order_by("job_type")
_NOW = select(now().label("now"))
_MOVE_ON_FILE = update(job_state).values(clock_offset=job_state.c.clock_offset + bindparam("microseconds"))
_MOVE_ON_SERVER = text(
    "SELECT set_config('jobrunner.clock_offset', (coalesce(nullif(current_setting('jobrunner.clock_offset', true), ''),"
    " '0')::interval + make_interval(secs => CAST(:seconds AS double precision)))::text, CAST(:local AS boolean))"
)


@dataclass(frozen=True)
class Run:
    """A run as a test sees it. ``checkpoint`` is what its attempts have kept, None: nothing."""

    id: int
    job_type: str
    payload: Any
    status: str
    priority: int
    run_at: datetime
    scheduled_for: datetime | None
    idempotency_key: str | None
    attempts: int
    max_attempts: int | None
    error_type: str | None
    last_error: str | None
    result: Any
    checkpoint: Any

    @property
    def last_checkpoint(self) -> Any:
        """The last value of ``ctx.checkpoint``."""
        return None if self.checkpoint is None else self.checkpoint["value"]

    @property
    def steps(self) -> dict[str, Any]:
        """The results of ``ctx.step`` by the names of the steps."""
        return {} if self.checkpoint is None else self.checkpoint["steps"]


_RUNS = select(*columns_of(Run, job_runs)).order_by(job_runs.c.id)
_AFTER = _RUNS.where(job_runs.c.id > bindparam("after"))


def newest_id(connection: Connection) -> int:
    """The largest id of a run, or 0."""
    return int(connection.execute(_NEWEST).scalar_one() or 0)


def runs_after(connection: Connection, run_id: int) -> list[Run]:
    """The runs with a larger id, in the order of their ids."""
    return [Run(*row) for row in connection.execute(_AFTER, {"after": run_id})]


def due_types(connection: Connection) -> list[str]:
    """The job types of which a run can be claimed."""
    return connection.execute(_DUE_TYPES).scalars()


def database_now(connection: Connection) -> datetime:
    """What jobrunner takes for now."""
    found: datetime = connection.execute(_NOW).scalar_one()
    return found


def move_clock(connection: Connection, by: timedelta, *, until_end: bool) -> None:
    """Move jobrunner's clock; ``until_end``: on PostgreSQL until the transaction ends, else until the session ends."""
    if connection.traits.has_server:
        connection.execute(_MOVE_ON_SERVER, {"seconds": by.total_seconds(), "local": until_end})
    else:
        connection.execute(_MOVE_ON_FILE, {"microseconds": by // timedelta(microseconds=1)})


_KEPT: Sequence[str] = ("job_state", "job_locks")
_DELETES = [delete(table) for table in reversed(metadata.sorted_tables) if table.name not in _KEPT]


def clear(connection: Connection) -> None:
    """Delete all runs, definitions and what belongs to them."""
    for statement in _DELETES:
        connection.execute(statement)
