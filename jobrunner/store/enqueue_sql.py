"""A new run, and the statements that insert it and its key. They are cached: to build one costs more than to run it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from jobrunner.model import Origin

_OPTIONAL = (
    "idempotency_key", "max_attempts", "definition_id", "scheduled_for", "origin", "start_deadline_at",
    "concurrency_key",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run to insert. ``payload`` is the checked text of a JSON object.

    ``run_at`` None means now; a timedelta counts from now, by the database's clock. If ``max_attempts`` or ``timeout``
    is None, the claim takes that of the type's policy; a timeout of zero means no limit. ``origin`` None: enqueued.
    """

    job_type: str
    payload: str
    run_at: datetime | timedelta | None = None
    priority: int = 0
    idempotency_key: str | None = None
    max_attempts: int | None = None
    timeout: timedelta | None = None
    definition_id: int | None = None
    scheduled_for: datetime | None = None
    origin: Origin | None = None
    start_deadline_at: datetime | None = None
    concurrency_key: str | None = None

    def columns(self) -> dict[str, Any]:
        """The values by column, without those that are None. ``run_in``, in seconds, stands for a run_at after now."""
        columns = {"job_type": self.job_type, "payload": self.payload, "priority": self.priority}
        if isinstance(self.run_at, timedelta):
            columns["run_in"] = self.run_at.total_seconds()
        elif self.run_at is not None:
            columns["run_at"] = self.run_at
        if self.timeout is not None:
            columns["timeout"] = self.timeout.total_seconds()
        for name in _OPTIONAL:
            value = getattr(self, name)
            if value is not None:
                columns[name] = value
        return columns

    def key(self) -> dict[str, Any]:
        """The parameters that identify the idempotency key."""
        # Not the names of the columns, which SQLAlchemy reserves in an UPDATE.
        return {"of_type": self.job_type, "key": self.idempotency_key}


@dataclass(frozen=True, slots=True)
class Enqueued:
    """The id of the run. ``created`` False: the key exists already, and this is the id of its run.

    ``id`` None: nothing was inserted, because the type was full and its ``when_full`` is "drop".
    """

    id: int | None
    created: bool

    @property
    def dropped(self) -> bool:
        """Whether nothing was inserted because the type was full."""
        return self.id is None
