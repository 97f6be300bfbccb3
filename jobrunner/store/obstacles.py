"""Why a schedule makes no runs, although it can be read and is not paused: asked whenever somebody looks at it.

Every function expects a transaction that reads.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, RowMapping, func, select

from jobrunner.store.holding import RUNNING
from jobrunner.store.schema import IS_UNFINISHED, job_definitions, job_runs
from jobrunner.text import iso_instant

# A clock may step back by moments, and the slots of such moments have been looked at.
_STEP = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Former:
    """A run that waits in the way of its schedule's slots, and is of the type that the schedule had before."""

    schedule: str
    run_id: int
    job_type: str

    def __str__(self) -> str:
        return (
            f"no slot gets a run before run {self.run_id}, of its former type {self.job_type!r}, has ended; if no host"
            f" has that type any more: jobrunner cancel {self.run_id}"
        )


def is_ahead(watermark: datetime, at: datetime) -> bool:
    """Whether slots to come count as looked at, since a clock was ahead when a tick looked."""
    return watermark - at > _STEP


def problem_of(row: RowMapping, at: datetime, former: Mapping[int, Former]) -> str | None:
    """What a person should know of a definition: why it cannot be expanded, or what else keeps it from making runs."""
    known: str | None = row["last_error"]
    if known is not None or row["schedule"] is None or row["removed_at"] is not None:
        return known
    if is_ahead(row["last_slot_at"], at):
        return (
            f"no slot up to {iso_instant(row['last_slot_at'].replace(microsecond=0))} gets a run: a clock was ahead;"
            f" jobrunner schedule resume {shlex.quote(row['name'])} --from now"
        )
    return str(former[row["id"]]) if row["id"] in former else None


def former_runs(connection: Connection, definition_id: int | None = None) -> dict[int, Former]:
    """The oldest such run of each definition that has one; ``definition_id``: of that one alone."""
    runs, definitions = job_runs.c, job_definitions.c
    oldest = (
        select(func.min(runs.id))
        .join(job_definitions, definitions.id == runs.definition_id)
        .where(
            IS_UNFINISHED,
            runs.definition_id.is_not(None),
            runs.status != RUNNING,
            runs.job_type != definitions.job_type,
            # The others go their way beside it, or take its place.
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
