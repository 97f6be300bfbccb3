"""Finds out why a schedule makes no runs although it can be read and is not paused. For the commands that show it.

Every function expects a read transaction.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import func, select

from jobrunner.store.connection import Connection
from jobrunner.store.records import ReadDefinition
from jobrunner.store.schema import IS_UNFINISHED, job_definitions, job_runs
from jobrunner.store.statements.holding import RUNNING
from jobrunner.text import iso_instant

# A clock may step back a little. The slots in that time have been handled already.
_STEP = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Former:
    """A waiting run of the former job type of its schedule. Until it ends, no slot of the schedule gets a run."""

    schedule: str
    run_id: int
    job_type: str

    def __str__(self) -> str:
        return (
            f"no slot gets a run before run {self.run_id}, of its former type {self.job_type!r}, has ended; if no host"
            f" has that type any more: jobrunner cancel {self.run_id}"
        )


def is_ahead(watermark: datetime, at: datetime) -> bool:
    """Whether future slots count as handled, because a clock was ahead when a tick expanded the schedule."""
    return watermark - at > _STEP


def problem_of(row: ReadDefinition, former: Mapping[int, Former]) -> str | None:
    """Why a definition cannot be expanded, or why else it makes no runs. None means no problem."""
    if row.last_error is not None or row.schedule is None or row.removed_at is not None:
        return row.last_error
    if is_ahead(row.last_slot_at, row.now):
        return (
            f"no slot up to {iso_instant(row.last_slot_at.replace(microsecond=0))} gets a run: a clock was ahead;"
            f" jobrunner schedule resume {shlex.quote(row.name)} --from now"
        )
    return str(former[row.id]) if row.id in former else None


def former_runs(connection: Connection, definition_id: int | None = None) -> dict[int, Former]:
    """The oldest such run of each definition that has one, or only of the definition ``definition_id``."""
    runs, definitions = job_runs.c, job_definitions.c
    oldest = (
        select(func.min(runs.id))
        .join(job_definitions, definitions.id == runs.definition_id)
        .where(
            IS_UNFINISHED,
            runs.definition_id.is_not(None),
            runs.status != RUNNING,
            runs.job_type != definitions.job_type,
            # With the other policies a new run starts beside it, or replaces it.
            definitions.overlap.in_(["skip", "queue"]),
            definitions.removed_at.is_(None),
        )
        .group_by(runs.definition_id)
    )
    if definition_id is not None:
        oldest = oldest.where(runs.definition_id == definition_id)
    found = select(runs.definition_id, definitions.name, runs.id, runs.job_type).where(
        runs.id.in_(oldest), definitions.id == runs.definition_id
    )
    return {row.definition_id: Former(row.name, row.id, row.job_type) for row in connection.execute(found)}
