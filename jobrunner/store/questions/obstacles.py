"""Finds out why a schedule makes no runs although it can be read and is not paused. For the commands that show it.

Every function expects a read transaction.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions.findings import CLOCK_STEP
from jobrunner.store.queue.ticks.hosts import reported_names_of
from jobrunner.store.sql.statement import Prepared
from jobrunner.store.timetable.records import ReadDefinition
from jobrunner.text import iso_instant


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
    return watermark - at > CLOCK_STEP


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
    """The oldest such run of each definition that has one, or only of the definition ``definition_id``.

    None of a type that was only renamed: its handler runs it under the old name, too.
    """
    values = {} if definition_id is None else {"definition": definition_id}
    found = connection.execute(Prepared("definitions.former_runs", (definition_id is not None,)), values).all()
    return {
        row.definition_id: Former(row.name, row.id, row.job_type)
        for row in found
        if row.type_today not in reported_names_of(connection, row.job_type)
    }
