"""A handler together with options for its runs: what ``handler.using(...)`` returns.

A ParamSpec leaves no room for options beside the handler's own arguments, so that the options are given first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, ParamSpec

from jobrunner.errors import UsageError
from jobrunner.jobs.run_options import OF_ENTRY, RunOptions

if TYPE_CHECKING:
    from jobrunner.application.enqueueing import Enqueued, HandlerEntry, Transaction
    from jobrunner.application.enqueueing_async import AsyncTransaction

P = ParamSpec("P")


class JobWithOptions(NamedTuple, Generic[P]):
    """``handler.using(run_at=..., priority=...)``: its ``enqueue`` takes the handler's arguments only.

    It can be kept and used many times. The values of the options are checked when a run is enqueued.
    """

    job_type: str
    payload_of: Callable[P, dict[str, Any]]
    options: RunOptions

    def enqueue(self, transaction: Transaction | None, /, *args: P.args, **kwargs: P.kwargs) -> Enqueued:
        """Enqueue a run with these options in the caller's own transaction; see ``jobrunner.enqueue``.

        The arguments are first checked against the handler's signature. Raises BadPayload, or QueueFull if
        ``max_waiting`` is reached.
        """
        from jobrunner.application.enqueueing import enqueue

        return enqueue(transaction, self.job_type, self.payload_of(*args, **kwargs), **self.options)

    async def enqueue_async(
        self, transaction: AsyncTransaction | None, /, *args: P.args, **kwargs: P.kwargs
    ) -> Enqueued:
        """Enqueue a run with these options on a connection of an event loop; see ``jobrunner.enqueue_async``."""
        from jobrunner.application.enqueueing_async import enqueue_async

        return await enqueue_async(transaction, self.job_type, self.payload_of(*args, **kwargs), **self.options)

    def entry(self, /, *args: P.args, **kwargs: P.kwargs) -> HandlerEntry[P]:
        """A run with these arguments and options for ``handler.enqueue_many``; nothing is enqueued yet."""
        from jobrunner.application.enqueueing import Entry, HandlerEntry

        if self.options.get("after") is not None:
            raise UsageError("enqueue_many takes no after: enqueue a run that waits for others by itself")
        own: Any = {name: value for name, value in self.options.items() if name in OF_ENTRY}
        return HandlerEntry(self.job_type, Entry(self.payload_of(*args, **kwargs), **own))
