"""A handler together with options for its runs: what ``handler.using(...)`` returns.

A ParamSpec leaves no room for options beside the handler's own arguments, so that the options are given first.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, ParamSpec

from jobrunner.durations import Duration
from jobrunner.errors import UsageError
from jobrunner.jobs.parents import After
from jobrunner.model import OnFailure, Taken

if TYPE_CHECKING:
    from jobrunner.application.enqueueing import Enqueued, Entry, Transaction
    from jobrunner.application.enqueueing_async import AsyncTransaction

P = ParamSpec("P")


class JobWithOptions(NamedTuple, Generic[P]):
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
    taken: Taken | None = None
    after: After | None = None
    on_failure: OnFailure = "cancel"

    def enqueue(self, transaction: Transaction, /, *args: P.args, **kwargs: P.kwargs) -> Enqueued:
        """Enqueue a run with these options in the caller's own transaction; see ``jobrunner.enqueue``.

        The arguments are first checked against the handler's signature. Raises BadPayload, or QueueFull if
        ``max_waiting`` is reached.
        """
        from jobrunner.application.enqueueing import enqueue

        return enqueue(transaction, self.job_type, self.payload_of(*args, **kwargs), **self._options())

    async def enqueue_async(
        self, transaction: AsyncTransaction | None, /, *args: P.args, **kwargs: P.kwargs
    ) -> Enqueued:
        """Enqueue a run with these options on a connection of an event loop; see ``jobrunner.enqueue_async``."""
        from jobrunner.application.enqueueing_async import enqueue_async

        return await enqueue_async(transaction, self.job_type, self.payload_of(*args, **kwargs), **self._options())

    def _options(self) -> dict[str, Any]:
        return {
            "run_at": self.run_at,
            "priority": 0 if self.priority is None else self.priority,
            "idempotency_key": self.idempotency_key,
            "max_attempts": self.max_attempts,
            "timeout": self.timeout,
            "taken": "existing" if self.taken is None else self.taken,
            "after": self.after,
            "on_failure": self.on_failure,
        }

    def entry(self, /, *args: P.args, **kwargs: P.kwargs) -> Entry:
        """A run with these arguments and options for ``handler.enqueue_many``; nothing is enqueued yet."""
        from jobrunner.application.enqueueing import Entry

        if self.after is not None:
            raise UsageError("enqueue_many takes no after: enqueue a run that waits for others by itself")
        return Entry(
            self.payload_of(*args, **kwargs),
            run_at=self.run_at,
            priority=self.priority,
            idempotency_key=self.idempotency_key,
            max_attempts=self.max_attempts,
            timeout=self.timeout,
            taken=self.taken,
        )
