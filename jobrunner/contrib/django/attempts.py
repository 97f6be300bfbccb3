"""An attempt at a task of Django in its child: the call of the function, Django's signals, and the task's context."""

from __future__ import annotations

import os
import traceback
from asyncio import CancelledError
from inspect import iscoroutinefunction
from typing import Any

from asgiref.sync import sync_to_async
from django.utils import timezone

from jobrunner.application.job import Job
from jobrunner.application.registry import serving
from jobrunner.children.inside.reports import path_of
from jobrunner.contrib.django import package
from jobrunner.contrib.django.results import ReturnValueNotJson, TaskResultStatus, class_path, put
from jobrunner.errors import BadPayload, ConfigurationError
from jobrunner.jobs.context import Context
from jobrunner.jobs.outcomes import Discard, HandlerStopped, Retry, Snooze
from jobrunner.jobs.payload import check_payload
from jobrunner.settings import config


def handler_of(task: Any, backend: Any) -> Any:
    """A handler that calls the function of a task. ``backend`` is the one with which the task was declared."""

    def run_task(ctx: Context, **payload: Any) -> Any:
        attempt = _TaskAttempt(ctx, backend.find(ctx.run_id), payload)
        attempt.begin()
        try:
            return attempt.succeed(task.func(*attempt.arguments, **attempt.result.kwargs))
        except BaseException as error:
            attempt.fail(error)
            raise

    async def run_coroutine(ctx: Context, **payload: Any) -> Any:
        # In Django's thread, because receivers of signals may use the database.
        attempt = _TaskAttempt(ctx, await sync_to_async(backend.find)(ctx.run_id), payload)
        await sync_to_async(attempt.begin)()
        try:
            value = await task.func(*attempt.arguments, **attempt.result.kwargs)
            return await sync_to_async(attempt.succeed)(value)
        except BaseException as error:
            await sync_to_async(attempt.fail)(error)
            raise

    return run_coroutine if iscoroutinefunction(task.func) else run_task


class _TaskAttempt:
    def __init__(self, ctx: Context, result: Any, payload: dict[str, Any]) -> None:
        if result is None or result.task.module_path != ctx.job_type:
            raise ConfigurationError(
                f"run {ctx.run_id} is not in the database of Django's settings: JOBRUNNER_DATABASE_URL names another"
            )
        # Those of the tick: a row that was changed since the claim is for the next attempt.
        put(result, args=payload.get("args", []), kwargs=payload.get("kwargs", {}))
        self.result = result
        self._ctx = ctx
        self._sender = type(result.task.get_backend())

    @property
    def arguments(self) -> list[Any]:
        """The positional arguments, the task's context included."""
        context = [package.base.TaskContext(task_result=self.result)] if self.result.task.takes_context else []
        return [*context, *self.result.args]

    def begin(self) -> None:
        """Tell that the task begins."""
        package.signals.task_started.send_robust(sender=self._sender, task_result=self.result)

    def succeed(self, value: Any) -> Any:
        """Tell that the task has succeeded. Returns the value as JSON."""
        if isinstance(value, Retry | Discard | Snooze):
            raise value
        try:
            kept = package.normalized(value)
            # What JSON has no word for, and what a database cannot hold, fails the task, too: it would be lost.
            check_payload({"result": kept}, config.for_enqueue(os.environ).payload_limit)
        except (TypeError, ValueError, BadPayload, RecursionError) as error:
            raise ReturnValueNotJson(f"the return value of the task cannot be kept: {error}") from None
        put(self.result, _return_value=kept)
        self._finish(TaskResultStatus.SUCCESSFUL)
        return kept

    def fail(self, error: BaseException) -> None:
        """Tell that the task has failed, unless it will be tried again. Called while the exception is handled."""
        if isinstance(error, Snooze | HandlerStopped | CancelledError) or not self._is_last(error):
            return
        path = class_path(path_of(type(error)))
        text = "".join(traceback.format_exception(error))
        self.result.errors.append(package.base.TaskError(exception_class_path=path, traceback=text))
        self._finish(TaskResultStatus.FAILED)

    def _is_last(self, error: BaseException) -> bool:
        if self._ctx.attempt >= self._ctx.max_attempts or isinstance(error, Discard):
            return True
        handler: Job[Any, Any] = serving()[self._ctx.job_type]
        return not isinstance(error, Retry) and handler.is_permanent(error)

    def _finish(self, status: Any) -> None:
        put(self.result, status=status, finished_at=timezone.now())
        # Robust, because the work is done, whatever a receiver does.
        package.signals.task_finished.send_robust(sender=self._sender, task_result=self.result)
