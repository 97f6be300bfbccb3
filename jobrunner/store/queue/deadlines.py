"""Ends runs whose start deadline has passed: they become dead, and no attempt of them may start."""

from __future__ import annotations

from typing import Any, NamedTuple

from jobrunner import failpoints
from jobrunner.lifecycle import Event, target
from jobrunner.model import TICK
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.queue.ticks import audit, tallies
from jobrunner.store.sql.statement import Prepared, Row
from jobrunner.text import iso_instant, one_line


class Overdue(NamedTuple):
    """A run that was ended, with the reason as its ``error``. ``attempts`` is the number of its failed attempts."""

    run_id: int
    job_type: str
    attempts: int
    error: str


def is_any_overdue(connection: Connection) -> bool:
    """Whether there is such a run. Expects any transaction."""
    return connection.execute(Prepared("ticks.first_overdue")).scalar_one() is not None


def end_overdue(connection: Connection, limit: int) -> list[Overdue]:
    """End up to ``limit`` runs, the longest overdue first. Skips locked ones. Expects a write transaction."""
    found = connection.execute(Prepared("deadlines.overdue"), {"limit": limit}).all()
    if not found:
        return []
    ended = [Overdue(row.id, row.job_type, row.attempts, _error(row)) for row in found]
    given = [{"id": each.run_id, "last_error": each.error} for each in ended]
    connection.execute(Prepared("deadlines.end"), {"given": given})
    tallies.add_ends(connection, [(row.job_type, target(Event.EXPIRE, row.status)) for row in found])
    audit.write(connection, [_event(row) for row in found])
    failpoints.hit("deadline.before_commit", cut=connection.sever)
    return ended


def _error(row: Row) -> str:
    said = f"not started by its start deadline, {iso_instant(row.start_deadline_at)}"
    if not row.attempts:
        return said
    # The error of the last attempt says why the run did not succeed in time.
    last = "" if row.last_error is None else f"; the last error was {row.error_type}: {row.last_error}"
    return one_line(f"{said}; tried {row.attempts} time{'s' * (row.attempts != 1)} before{last}")


def _event(row: Row) -> dict[str, Any]:
    detail = {"from": row.status, "deadline": row.start_deadline_at}
    return audit.event(TICK, Event.EXPIRE.value, row.definition_id, detail, row.now, row.id)
