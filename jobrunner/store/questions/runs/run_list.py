"""Selected runs as lines for an operator, newest first. Expects a read transaction."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from sqlalchemy import select

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.reading import columns_of, read
from jobrunner.store.questions import search
from jobrunner.store.questions.selection import Selection, time_of_run
from jobrunner.store.questions.shown_error import ERROR
from jobrunner.store.schema import job_definitions, job_runs


@dataclass(frozen=True)
class SelectedRun:
    """A run in a list. ``at`` is the time of a run that ``Selection.since`` is about; ``schedule`` is a name."""

    id: int
    job_type: str
    status: str
    at: datetime
    schedule: str | None
    scheduled_for: datetime | None
    attempts: int
    max_attempts: int | None
    run_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    host: str | None
    idempotency_key: str | None
    concurrency_key: str | None
    error_type: str | None
    last_error: str | None
    created_at: datetime
    COLUMNS: ClassVar = "id, type=job_type, status, time=at, attempts=tries, error"
    tries = property(lambda self: f"{self.attempts}{f' of {self.max_attempts}' * (self.max_attempts is not None)}")
    error = ERROR


@dataclass(frozen=True)
class Page:
    """Some runs, and how to go on: see ``search.Found``."""

    runs: list[SelectedRun]
    next_before: int | None
    searched_back_to: datetime | None


def page(
    connection: Connection,
    selection: Selection,
    limit: int,
    *,
    before: int | None = None,
    seconds: float = search.SECONDS,
) -> Page:
    """Up to ``limit`` selected runs with ids below ``before``. Raises NotFoundError for an unknown schedule."""
    found = search.find(connection, selection, limit, before=before, seconds=seconds)
    columns = job_runs.c
    statement = (
        select(*columns_of(SelectedRun, job_runs), time_of_run().label("at"), job_definitions.c.name.label("schedule"))
        .select_from(job_runs.outerjoin(job_definitions, job_definitions.c.id == columns.definition_id))
        .where(columns.id.in_(found.ids))
    )
    runs = read(connection, SelectedRun, statement) if found.ids else []
    return Page(sorted(runs, key=lambda run: -run.id), found.next_before, found.searched_back_to)
