"""A backend for Django's tasks: ``django.tasks`` of Django 6, or the backport ``django_tasks`` before.

A task is a run whose job type is the path of the task's function, with the payload ``{"args": [], "kwargs": {}}``.
"""

from __future__ import annotations

import re
import traceback
from asyncio import CancelledError
from collections.abc import Iterable, Mapping
from datetime import datetime
from importlib import import_module
from inspect import iscoroutinefunction
from typing import Any

import django
from asgiref.sync import sync_to_async
from django.apps import apps
from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.db import connections, transaction
from django.utils import timezone
from django.utils.module_loading import import_string

import jobrunner
from jobrunner.application.job import Job
from jobrunner.application.registry import registered
from jobrunner.contrib.django import conf
from jobrunner.errors import UsageError
from jobrunner.jobs.context import Context
from jobrunner.jobs.outcomes import Discard, HandlerStopped, Retry, Snooze
from jobrunner.jobs.policy import make_policy
from jobrunner.lifecycle import Outcome, Status
from jobrunner.store import queries
from jobrunner.store.callers_transaction import joined
from jobrunner.store.queries import Attempt, Run

_PACKAGE = "django.tasks" if django.VERSION >= (6, 0) else "django_tasks"
_base = import_module(f"{_PACKAGE}.base")
_signals = import_module(f"{_PACKAGE}.signals")
_exceptions = import_module(f"{_PACKAGE}.exceptions")
_BaseTaskBackend: Any = import_module(f"{_PACKAGE}.backends.base").BaseTaskBackend
TaskResultStatus = _base.TaskResultStatus

_POLICY = ("max_attempts", "timeout", "backoff", "kill_after", "concurrency", "max_waiting")
_STATUS = {
    Status.QUEUED: TaskResultStatus.READY,
    Status.FAILED: TaskResultStatus.READY,
    Status.RUNNING: TaskResultStatus.RUNNING,
    Status.SUCCEEDED: TaskResultStatus.SUCCESSFUL,
    Status.DEAD: TaskResultStatus.FAILED,
    Status.CANCELLED: TaskResultStatus.FAILED,
}
# The line with the exception stands behind the lines of its stack, which are indented.
_RAISED = re.compile(r"^(?=\S)(?!Traceback )([\w.]+)(?::|$)", re.MULTILINE)


class AttemptEnded(Exception):
    """Stands in ``TaskResult.errors`` for an attempt that ended without an exception: killed, cancelled, lost."""


class ReturnValueNotJson(TypeError):
    """The task has returned what JSON cannot hold. It is not tried again, because its work is done."""


class JobrunnerBackend(_BaseTaskBackend):
    """Enqueues tasks as runs, in the transaction that is open on Django's connection.

    ``OPTIONS`` may hold ``DATABASE`` and what ``@job`` takes: max_attempts, timeout, backoff, kill_after, concurrency,
    max_waiting. They are those of all tasks of the backend.
    """

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: Mapping[str, Any]) -> None:
        super().__init__(alias, params)
        self.policy = {name: self.options[name] for name in _POLICY if name in self.options}

    @property
    def connection(self) -> Any:
        """Django's connection to the database that holds jobrunner's tables."""
        return connections[self.options.get("DATABASE", conf.alias())]

    def validate_task(self, task: Any) -> None:
        """Raise InvalidTask, as Django says; a valid task becomes a handler of this process."""
        super().validate_task(task)
        # When the task is declared, so that a child that has imported its module knows it.
        if task.module_path not in registered():
            jobrunner.job(task.module_path, discard_on=ReturnValueNotJson, **self.policy)(_handler_of(task))

    def enqueue(self, task: Any, args: Any, kwargs: Any) -> Any:
        """Enqueue a run. It appears if and only if the open transaction commits; without one, at once."""
        self.validate_task(task)
        # This normalizes the arguments, and refuses what JSON does not know.
        result = self._result(task, "", TaskResultStatus.READY, args, kwargs)
        payload: dict[str, Any] = {"args": result.args, "kwargs": result.kwargs}
        payload |= {name: value for name, value in _chosen(task, self.alias).items() if value is not None}
        used = self.connection
        # A savepoint, or a transaction of its own: on_commit would lose the run of a process that dies in between.
        with transaction.atomic(using=used.alias):
            run_at = None if task.run_after is None else _aware(task.run_after)
            run = jobrunner.enqueue(used, task.module_path, payload, run_at=run_at, priority=int(task.priority))
        object.__setattr__(result, "id", str(run.id))
        object.__setattr__(result, "enqueued_at", timezone.now())
        _signals.task_enqueued.send(type(self), task_result=result)
        return result

    def get_result(self, result_id: str) -> Any:
        """The task of this id. Raises TaskResultDoesNotExist."""
        run = self._find(result_id)
        task = None if run is None else _task_of(run)
        if run is None or task is None:
            raise _exceptions.TaskResultDoesNotExist(result_id)
        chosen = {name: run.payload[name] for name in ("queue_name", "backend") if name in run.payload}
        task = task.using(**{"backend": self.alias, **chosen}, priority=run.priority, run_after=_run_after(run))
        result = self._result(task, str(run.id), _STATUS[Status(run.status)], *_arguments(run))
        at_work = [] if run.locked_by is None else [run.locked_by]
        began = [each.started_at for each in run.attempt_log] + ([run.started_at] if run.started_at else [])
        known = {
            "enqueued_at": _as_django_has_it(run.created_at),
            "started_at": _as_django_has_it(min(began, default=None)),
            "last_attempted_at": _as_django_has_it(max(began, default=None)),
            "finished_at": _as_django_has_it(run.finished_at),
            "errors": [_error_of(each) for each in run.attempt_log if each.outcome != Outcome.SUCCEEDED],
            "worker_ids": [each.worker for each in run.attempt_log] + at_work,
            "_return_value": run.result,
        }
        for name, value in known.items():
            object.__setattr__(result, name, value)
        return result

    def check(self, **_: Any) -> Iterable[CheckMessage]:
        """What ``manage.py check`` says of the settings of this backend."""
        if not apps.is_installed("jobrunner.contrib.django"):
            yield Error('add "jobrunner.contrib.django" to INSTALLED_APPS', id="jobrunner.E004")
        if unknown := sorted(set(self.options) - {"DATABASE", *_POLICY}):
            problem = f"unknown in OPTIONS: {unknown[0]}; there are: {', '.join(('DATABASE', *_POLICY))}"
            yield Error(f"TASKS[{self.alias!r}]: {problem}", id="jobrunner.E005")
        try:
            make_policy("check", **self.policy)
        except UsageError as error:
            yield Error(f"TASKS[{self.alias!r}]: {error}", id="jobrunner.E006")

    def _result(self, task: Any, result_id: str, status: Any, args: Any, kwargs: Any) -> Any:
        return _base.TaskResult(
            task=task, id=result_id, status=status, enqueued_at=None, started_at=None, finished_at=None,
            last_attempted_at=None, args=args, kwargs=kwargs, backend=self.alias, errors=[], worker_ids=[],
        )  # fmt: skip

    def _find(self, result_id: str) -> Run | None:
        if not (isinstance(result_id, str) and result_id.isdecimal() and len(result_id) < 19):
            return None
        with joined(self.connection) as connection:
            return queries.show(connection, int(result_id))


def _handler_of(task: Any) -> Any:
    def run_task(ctx: Context, **payload: Any) -> Any:
        attempt = _TaskAttempt(ctx, _backend_of(task, payload).get_result(str(ctx.run_id)))
        attempt.begin()
        try:
            return attempt.succeed(task.func(*attempt.arguments, **attempt.result.kwargs))
        except BaseException as error:
            attempt.fail(error)
            raise

    async def run_coroutine(ctx: Context, **payload: Any) -> Any:
        attempt = _TaskAttempt(ctx, await _backend_of(task, payload).aget_result(str(ctx.run_id)))
        # In Django's thread, because receivers of signals may use the database.
        await sync_to_async(attempt.begin)()
        try:
            value = await task.func(*attempt.arguments, **attempt.result.kwargs)
            return await sync_to_async(attempt.succeed)(value)
        except BaseException as error:
            await sync_to_async(attempt.fail)(error)
            raise

    return run_coroutine if iscoroutinefunction(task.func) else run_task


class _TaskAttempt:
    """An attempt at a task in its child: Django's signals, and the context of the task."""

    def __init__(self, ctx: Context, result: Any) -> None:
        self.result = result
        self._ctx = ctx
        self._sender = type(result.task.get_backend())

    @property
    def arguments(self) -> list[Any]:
        """The positional arguments, the task's context included."""
        context = [_base.TaskContext(task_result=self.result)] if self.result.task.takes_context else []
        return [*context, *self.result.args]

    def begin(self) -> None:
        """Tell that the task begins."""
        _signals.task_started.send_robust(sender=self._sender, task_result=self.result)

    def succeed(self, value: Any) -> Any:
        """Tell that the task has succeeded. Returns the value as JSON."""
        if isinstance(value, Retry | Discard | Snooze):
            raise value
        try:
            kept = _normalize(value)
        except (TypeError, ValueError) as error:
            raise ReturnValueNotJson(f"the task has returned what JSON cannot hold: {error}") from None
        object.__setattr__(self.result, "_return_value", kept)
        self._finish(TaskResultStatus.SUCCESSFUL)
        return kept

    def fail(self, error: BaseException) -> None:
        """Tell that the task has failed, unless it will be tried again. Called while the exception is handled."""
        if isinstance(error, Snooze | HandlerStopped | CancelledError) or not self._is_last(error):
            return
        path = f"{type(error).__module__}.{type(error).__qualname__}"
        text = "".join(traceback.format_exception(error))
        self.result.errors.append(_base.TaskError(exception_class_path=path, traceback=text))
        self._finish(TaskResultStatus.FAILED)

    def _is_last(self, error: BaseException) -> bool:
        if self._ctx.attempt >= self._ctx.max_attempts or isinstance(error, Discard):
            return True
        handler: Job[Any, Any] = registered()[self._ctx.job_type]
        return not isinstance(error, Retry) and handler.is_permanent(error)

    def _finish(self, status: Any) -> None:
        object.__setattr__(self.result, "status", status)
        object.__setattr__(self.result, "finished_at", timezone.now())
        # Robust, because the work is done, whatever a receiver does.
        _signals.task_finished.send_robust(sender=self._sender, task_result=self.result)


def _backend_of(task: Any, payload: Mapping[str, Any]) -> Any:
    return import_module(_PACKAGE).task_backends[payload.get("backend", task.backend)]


def _chosen(task: Any, alias: str) -> dict[str, Any]:
    """What a run must hold besides the arguments, to tell later how the task was enqueued."""
    return {
        "backend": None if alias == _base.DEFAULT_TASK_BACKEND_ALIAS else alias,
        "queue_name": None if task.queue_name == _base.DEFAULT_TASK_QUEUE_NAME else task.queue_name,
        "run_after": None if task.run_after is None else _aware(task.run_after).isoformat(),
    }


def _task_of(run: Run) -> Any:
    """The task that a run is of. None means that the run is of no task."""
    if not isinstance(run.payload, dict) or not isinstance(run.payload.get("args", []), list):
        return None
    try:
        found = import_string(run.job_type)
    except ImportError:
        return None
    return found if isinstance(found, _base.Task) else None


def _arguments(run: Run) -> tuple[Any, Any]:
    return run.payload.get("args", []), run.payload.get("kwargs", {})


def _run_after(run: Run) -> datetime | None:
    given = run.payload.get("run_after")
    return None if given is None else _as_django_has_it(datetime.fromisoformat(given))


def _error_of(attempt: Attempt) -> Any:
    return _base.TaskError(
        exception_class_path=_class_path(attempt), traceback=attempt.traceback or attempt.error or attempt.outcome
    )


def _class_path(attempt: Attempt) -> str:
    if attempt.error_type in ("Retry", "Discard", "Snooze"):
        return f"jobrunner.{attempt.error_type}"
    if attempt.outcome == Outcome.TIMED_OUT:
        return "builtins.TimeoutError"
    raised = _RAISED.findall(attempt.traceback or "")
    # The last exception of a chain that has the type of the attempt.
    for path in reversed(raised):
        if path.rpartition(".")[2] == attempt.error_type:
            return path if "." in path else f"builtins.{path}"
    return f"{__name__}.AttemptEnded"


def _normalize(value: Any) -> Any:
    module = "django.utils.json" if _PACKAGE == "django.tasks" else "django_tasks.utils"
    return import_module(module).normalize_json(value)


def _aware(instant: datetime) -> datetime:
    return instant if timezone.is_aware(instant) else timezone.make_aware(instant)


def _as_django_has_it(instant: datetime | None) -> datetime | None:
    return instant if instant is None or settings.USE_TZ else timezone.make_naive(instant)
