"""A handler together with options for its runs: what ``handler.using(...)`` returns.

A ParamSpec leaves no room for options beside the handler's own arguments, so that the options are given first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Generic, ParamSpec

from jobrunner.durations import Duration
from jobrunner.errors import UsageError
from jobrunner.jobs.parents import After
from jobrunner.model import OnFailure

if TYPE_CHECKING:
    from jobrunner.enqueueing import Enqueued, Entry, Transaction

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class JobWithOptions(Generic[P]):
    """``handler.using(run_at=..., priority=...)``: its ``enqueue`` takes the handler's arguments only.

    It can be kept and used many times. The options are those of ``jobrunner.enqueue``, and are checked when a run is
    enqueued.
    """

    job_type: str
    payload_of: Callable[P, dict[str, Any]]
    run_at: datetime | timedelta | None = None
    priority: int | None = None
    idempotency_key: str | None = None
    max_attempts: int | None = None
    timeout: Duration | None = None
    after: After | None = None
    on_failure: OnFailure = "cancel"

    def enqueue(self, transaction: Transaction, /, *args: P.args, **kwargs: P.kwargs) -> Enqueued:
        """Enqueue a run with these options in the caller's own transaction; see ``jobrunner.enqueue``.

        The arguments are first checked against the handler's signature. Raises BadPayload, or QueueFull if
        ``max_waiting`` is reached.
        """
        from jobrunner.enqueueing import enqueue

        return enqueue(
            transaction,
            self.job_type,
            self.payload_of(*args, **kwargs),
            run_at=self.run_at,
            priority=0 if self.priority is None else self.priority,
            idempotency_key=self.idempotency_key,
            max_attempts=self.max_attempts,
            timeout=self.timeout,
            after=self.after,
            on_failure=self.on_failure,
        )

    def entry(self, /, *args: P.args, **kwargs: P.kwargs) -> Entry:
        """A run with these arguments and options for ``handler.enqueue_many``; nothing is enqueued yet."""
        from jobrunner.enqueueing import Entry

        if self.after is not None:
            raise UsageError("enqueue_many takes no after: enqueue a run that waits for others by itself")
        return Entry(
            self.payload_of(*args, **kwargs),
            run_at=self.run_at,
            priority=self.priority,
            idempotency_key=self.idempotency_key,
            max_attempts=self.max_attempts,
            timeout=self.timeout,
        )
