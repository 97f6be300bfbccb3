"""A new run, and what an enqueue answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple

from jobrunner.errors import KeyTaken
from jobrunner.lifecycle import Status
from jobrunner.model import Origin
from jobrunner.store.sql.statement import Row, Values


class NewRun(NamedTuple):
    """A run to insert. ``payload`` is the checked text of a JSON object.

    ``run_at`` None means now; a timedelta counts from now, by the database's clock. If ``max_attempts`` or ``timeout``
    is None, the claim takes that of the type's policy; a timeout of zero means no limit. ``origin`` None: enqueued.
    A ``start_deadline_at`` that is a timedelta counts from run_at.
    ``traceparent`` is that of the span that enqueues it. ``only_host``: no other host may claim it.
    """

    job_type: str
    payload: str
    run_at: datetime | timedelta | None = None
    priority: int = 0
    idempotency_key: str | None = None
    max_attempts: int | None = None
    timeout: timedelta | None = None
    traceparent: str | None = None
    definition_id: int | None = None
    scheduled_for: datetime | None = None
    origin: Origin | None = None
    start_deadline_at: datetime | timedelta | None = None
    concurrency_key: str | None = None
    only_host: str | None = None

    def columns(self) -> dict[str, Any]:
        """The values by column, without those that are None.

        ``run_in``, in seconds, stands for a run_at after now, and ``expires_in`` for a start_deadline_at after run_at.
        """
        columns = {name: value for name, value in self._asdict().items() if value is not None}
        if isinstance(self.run_at, timedelta):
            columns["run_in"] = columns.pop("run_at").total_seconds()
        if isinstance(self.start_deadline_at, timedelta):
            columns["expires_in"] = columns.pop("start_deadline_at").total_seconds()
        if self.timeout is not None:
            columns["timeout"] = self.timeout.total_seconds()
        return columns

    def key(self) -> dict[str, Any]:
        """The parameters that identify the idempotency key."""
        # Not the names of the columns, which SQLAlchemy reserves in an UPDATE.
        return {"of_type": self.job_type, "key": self.idempotency_key}


@dataclass(frozen=True, slots=True)
class Enqueued:
    """The id of the run. ``created`` False: the key is taken, and this is the id of its run.

    ``replaced``: that run now has the payload, the run_at and the expires of this enqueue. ``id`` None: nothing was
    inserted, because the type was full and its ``when_full`` is "drop".
    """

    id: int | None
    created: bool
    replaced: bool = False

    @property
    def dropped(self) -> bool:
        """Whether nothing was inserted because the type was full."""
        return self.id is None

    @property
    def outcome(self) -> Literal["created", "existing", "replaced", "dropped"]:
        """What the enqueue did, in one word."""
        if self.created:
            return "created"
        if self.dropped:
            return "dropped"
        return "replaced" if self.replaced else "existing"


@dataclass(frozen=True, slots=True)
class Made:
    """The id of the run, or of the one that has its key already; null if it was ``dropped``.

    ``replaced``: that run now has the payload, the run_at and the expires of this enqueue.
    """

    id: int | None
    created: bool
    replaced: bool
    dropped: bool


def taken_by(holder: Row) -> KeyTaken:
    """The error for a caller whose key is taken by this row of ``keys.holder``."""
    key, its_run = f"{holder.idempotency_key!r:.200}", f"run {holder.run_id}"
    its_run += f", which is {holder.status}" if holder.status is not None else ", which was pruned"
    return KeyTaken(f"the key {key} of the job type {holder.job_type!r} is taken by {its_run}", holder.run_id)


def replacement(run_id: int, columns: Values) -> dict[str, Any]:
    """The row of ``enqueue.replace``, from the ``NewRun.columns`` of a run whose key is taken."""
    return {
        "id": run_id,
        "status": Status.QUEUED.value,
        **{name: columns.get(name) for name in ("payload", "run_at", "run_in", "expires_in")},
    }


def free_key(holder: Row) -> dict[str, Any]:
    """The row of ``keys.lock_free`` for a key that is not held, by its row of ``keys.holder``."""
    # A run that was pruned cannot be begun again. In a window it does not matter whether it is.
    must_end = holder.key_scope == "active" and holder.status is not None
    names = {"job_type": holder.job_type, "idempotency_key": holder.idempotency_key}
    return {**names, "run_id": holder.run_id, "must_end": int(must_end)}
