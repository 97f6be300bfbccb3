"""One attempt at a run, wherever its handler is called: its arguments, the call, and the report of its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from typing import Any

from jobrunner.application import middleware, tracing
from jobrunner.application.job import Job
from jobrunner.children.inside import reports
from jobrunner.children.inside.checkpoints import Checkpoints
from jobrunner.children.inside.own_work import DatabaseAccess, OwnWork
from jobrunner.children.inside.reports import Progress, Send
from jobrunner.children.messages import Report, StartRun
from jobrunner.jobs.context import Context

_NOTHING = nullcontext()


class Attempt:
    """``is_at_work``: the handler is being called, so that a signal may interrupt it.

    ``was_asked_to_stop`` is set from outside, and the handler can see it. ``access`` None means that the handler cannot
    use the database through its context.
    """

    __slots__ = ("checkpoints", "is_at_work", "own", "progress", "start", "was_asked_to_stop")

    def __init__(self, start: StartRun, send: Send, access: DatabaseAccess | None) -> None:
        self.start = start
        self.progress = Progress(start.run_id, send)
        self.checkpoints = Checkpoints(start.run_id, send)
        self.own = None if access is None else OwnWork(start, access)
        self.is_at_work = self.was_asked_to_stop = False

    def run(
        self,
        job: Job[Any, Any] | None,
        around: AbstractContextManager[object] = _NOTHING,
        finish: Callable[[Any], Any] | None = None,
    ) -> Report:
        """Call the handler inside ``around``. ``finish`` waits for the coroutine of one that is ``async def``.

        Without ``finish`` such a handler is not called.
        """
        is_async = finish is not None and job is not None and job.policy.is_async
        arguments = reports.arguments_of(job, self.start, is_async=is_async)
        if isinstance(arguments, Report):
            return arguments
        assert job is not None
        try:
            with around:
                try:
                    self.is_at_work = True
                    if finish is not None and is_async:
                        value = finish(self._await(job, arguments))
                    else:
                        function = tracing.traced(middleware.wrapped(job.function), self.start)
                        value = function(self._context(), **arguments)
                        if self.own is not None:
                            self.own.close(value)
                finally:
                    # From here on SIGTERM must not interrupt: an incomplete report would be an invalid frame.
                    self.is_at_work = False
        except BaseException as error:  # noqa: BLE001 - sys.exit() ends the attempt, not the child
            return reports.ending(error, job, self.start)
        return reports.returned(value, self.start)

    async def run_async(self, job: Job[Any, Any] | None, around: AbstractAsyncContextManager[object]) -> Report:
        """As ``run``, for an ``async def`` handler in the event loop of the caller."""
        arguments = reports.arguments_of(job, self.start, is_async=True)
        if isinstance(arguments, Report):
            return arguments
        assert job is not None
        try:
            async with around:
                value = await self._await(job, arguments)
        except BaseException as error:  # noqa: BLE001 - as above
            return reports.ending(error, job, self.start, was_cancelled=self._was_cancelled_by(error))
        return reports.returned(value, self.start)

    async def _await(self, job: Job[Any, Any], arguments: Mapping[str, Any]) -> Any:
        function = tracing.traced_async(middleware.wrapped_async(job.function), self.start)
        value = await function(self._context(), **arguments)
        if self.own is not None:
            await self.own.close_async(value)
        return value

    def _context(self) -> Context:
        return reports.context_of(self.start, self.progress, self.checkpoints, lambda: self.was_asked_to_stop, self.own)

    def flush(self) -> None:
        """Send what the handler has reported and was not sent yet. Call it at the end, before the report."""
        self.progress.flush()
        self.checkpoints.close()

    def _was_cancelled_by(self, error: BaseException) -> bool:
        # A child of plain handlers never imports asyncio.
        from asyncio import CancelledError

        return self.was_asked_to_stop and isinstance(error, CancelledError)
