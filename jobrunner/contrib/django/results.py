"""What Django is told of a run: a ``TaskResult``, as the row of the run has it.

A row that exists can always be read. What the settings allow today is asked when a task is enqueued, and never again: a
person may have given the run another priority, and a queue or a backend may have been taken out of the settings.
"""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from typing import Any

from django.conf import settings
from django.utils import timezone
from django.utils.module_loading import import_string

from jobrunner.contrib.django import package
from jobrunner.lifecycle import Outcome, Status
from jobrunner.store.questions.runs.run_details import Attempt, Run

TaskResultStatus = package.base.TaskResultStatus
_DEFAULT_ALIAS = package.base.DEFAULT_TASK_BACKEND_ALIAS
_DEFAULT_QUEUE = package.base.DEFAULT_TASK_QUEUE_NAME
_STATUS = {
    Status.QUEUED: TaskResultStatus.READY,
    Status.FAILED: TaskResultStatus.READY,
    Status.RUNNING: TaskResultStatus.RUNNING,
    Status.SUCCEEDED: TaskResultStatus.SUCCESSFUL,
    Status.DEAD: TaskResultStatus.FAILED,
    Status.CANCELLED: TaskResultStatus.FAILED,
}


class AttemptEnded(Exception):
    """Stands in ``TaskResult.errors`` for an attempt that ended without an exception: killed, cancelled, lost."""


class ReturnValueNotJson(TypeError):
    """The task has returned what JSON or the database cannot hold. It is not tried again, because its work is done.

    In ``TaskResult.errors`` it is a TypeError, as Django's own backends have it.
    """


def chosen(task: Any, alias: str) -> dict[str, Any]:
    """What a payload must hold besides the arguments, to tell later how the task was enqueued."""
    given = {
        "backend": None if alias == _DEFAULT_ALIAS else alias,
        "queue_name": None if task.queue_name == _DEFAULT_QUEUE else task.queue_name,
        "run_after": None if task.run_after is None else aware(task.run_after).isoformat(),
    }
    return {name: value for name, value in given.items() if value is not None}


def empty(task: Any, alias: str, args: Any, kwargs: Any) -> Any:
    """The result of a task that was not begun. Raises TypeError for arguments that JSON does not know."""
    return package.base.TaskResult(
        task=task, id="", status=TaskResultStatus.READY, enqueued_at=None, started_at=None, finished_at=None,
        last_attempted_at=None, args=args, kwargs=kwargs, backend=alias, errors=[], worker_ids=[],
    )  # fmt: skip


def of_run(run: Run, asked: str) -> Any:
    """The result of the task that a run is of. None means that the run is of no task.

    ``asked`` is the alias of a backend of ours, for a run of a backend that is in the settings no more.
    """
    payload = run.payload
    task = _task_of(run)
    if task is None:
        return None
    alias = str(payload.get("backend", _DEFAULT_ALIAS))
    if package.backend_of_ours(alias) is None:
        alias = asked
    queue_name = str(payload.get("queue_name", _DEFAULT_QUEUE))
    made = _unchecked(task, backend=alias, queue_name=queue_name, priority=run.priority, run_after=_run_after(run))
    result = empty(made, alias, payload.get("args", []), payload.get("kwargs", {}))
    at_work = [] if run.locked_by is None else [run.locked_by]
    began = [each.started_at for each in run.attempt_log] + ([run.started_at] if run.started_at else [])
    put(
        result,
        id=str(run.id),
        status=_STATUS[Status(run.status)],
        enqueued_at=as_django_has_it(run.created_at),
        started_at=as_django_has_it(min(began, default=None)),
        last_attempted_at=as_django_has_it(max(began, default=None)),
        finished_at=as_django_has_it(run.finished_at),
        errors=[_error_of(each) for each in run.attempt_log if each.outcome != Outcome.SUCCEEDED],
        worker_ids=[each.worker for each in run.attempt_log] + at_work,
        _return_value=run.result,
    )
    return result


def put(record: Any, **values: Any) -> None:
    """Set fields of one of Django's frozen records."""
    for name, value in values.items():
        object.__setattr__(record, name, value)


def class_path(path: str) -> str:
    """The path of the class of an exception, as Django is told it."""
    return "builtins.TypeError" if path == f"{__name__}.{ReturnValueNotJson.__name__}" else path


def aware(instant: datetime) -> datetime:
    """The instant with a time zone."""
    return instant if timezone.is_aware(instant) else timezone.make_aware(instant)


def as_django_has_it(instant: datetime | None) -> datetime | None:
    """The instant as the settings want it: without a time zone if USE_TZ is off."""
    return instant if instant is None or settings.USE_TZ else timezone.make_naive(instant)


def _unchecked(task: Any, **values: Any) -> Any:
    """What ``task.using`` makes, without a look at the settings: Django has one in each way to make or copy a task."""
    made = object.__new__(type(task))
    put(made, **{each.name: getattr(task, each.name) for each in fields(task)} | values)
    return made


def _task_of(run: Run) -> Any:
    if not isinstance(run.payload, dict):
        return None
    args, kwargs = run.payload.get("args", []), run.payload.get("kwargs", {})
    if not isinstance(args, list) or not isinstance(kwargs, dict):
        return None
    try:
        found = import_string(run.job_type)
    except ImportError:
        return None
    return found if isinstance(found, package.base.Task) else None


def _run_after(run: Run) -> datetime | None:
    given = run.payload.get("run_after")
    try:
        return None if given is None else as_django_has_it(datetime.fromisoformat(given))
    except (TypeError, ValueError):
        # Written by hand.
        return None


def _error_of(attempt: Attempt) -> Any:
    return package.base.TaskError(
        exception_class_path=_class_of(attempt), traceback=attempt.traceback or attempt.error or attempt.outcome
    )


def _class_of(attempt: Attempt) -> str:
    # As the child has stored it. A text may name any class, and Django imports the module of the class.
    if attempt.error_class is not None:
        return class_path(attempt.error_class)
    if attempt.outcome == Outcome.TIMED_OUT:
        return "builtins.TimeoutError"
    return f"{__name__}.{AttemptEnded.__name__}"
