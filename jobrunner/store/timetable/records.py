"""The rows of definitions as they are stored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class DefinitionRow:
    """A row of ``job_definitions``. Somebody may have written it by hand, so it need not be a valid definition."""

    id: int
    name: str
    job_type: str
    payload: Any
    schedule: str | None
    timezone: str
    source: str
    application: str
    description: str | None
    misfire: str
    misfire_window: float | None
    misfire_most: int
    overlap: str
    start_deadline: float | None
    jitter: float | None
    ends_at: datetime | None
    max_runs: int | None
    runs_made: int
    last_slot_at: datetime
    next_run_at: datetime | None
    paused_at: datetime | None
    removed_at: datetime | None
    last_error: str | None
    created_at: datetime
    updated_at: datetime
    on: str
    host: str | None
    template: str | None

    @property
    def is_template(self) -> bool:
        """As ``model.Definition.is_template``."""
        return self.on == "every-host" and self.host is None


@dataclass(frozen=True)
class ReadDefinition(DefinitionRow):
    """The same with the database's ``now`` at the start of the statement, so before a wait for the lock of the row."""

    now: datetime
