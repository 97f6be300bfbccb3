"""Runs in a child process: imports an application, and writes down its schedules as JSON.

``python -m jobrunner.crontab.schedulers.inside SCHEDULER MODULE[:NAME] DESCRIPTOR``. It needs the library of that
scheduler, which jobrunner itself does not depend on. It says what it has found, and judges nothing.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from types import ModuleType
from typing import Any

from jobrunner import clock

_NAMELESS = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.POSITIONAL_ONLY)
_BEATS_OWN = "celery.beat:PersistentScheduler"


class _NoSchedules(Exception):
    """The module has none that can be read. Its message says what to give instead."""


def _main(scheduler: str, target: str, descriptor: int) -> None:
    answer: dict[str, Any]
    # What the application starts must not keep the pipe open.
    os.set_inheritable(descriptor, False)
    try:
        answer = {"entries": list(_READERS[scheduler](target))}
    except _NoSchedules as error:
        answer = {"error": str(error)}
    except (Exception, SystemExit) as error:  # noqa: BLE001 - an application may raise anything while it is imported
        answer = {"error": f"{target} cannot be imported: {type(error).__name__}: {error}"}
    # The parent ends this process when it has the answer, since threads of an application could keep it.
    sys.stdout.flush()
    with os.fdopen(descriptor, "w", encoding="utf-8") as pipe:
        json.dump(answer, pipe)
    os._exit(0)


def _celery(target: str) -> Iterator[dict[str, Any]]:
    celery = _library("celery", "celery.schedules")
    app = _object(target, celery.Celery, "an app of Celery")
    # Both can add periodic tasks by a signal.
    app.finalize()
    app.loader.import_default_modules()
    if (keeper := app.conf.beat_scheduler) != _BEATS_OWN:
        yield {"name": "beat_scheduler", "problem": f"it is {keeper}, and what that keeps elsewhere is not read"}
    zone = app.conf.timezone or ("UTC" if app.conf.enable_utc else None)
    for name, entry in app.conf.beat_schedule.items():
        task = app.tasks.get(entry["task"])
        yield {
            "name": str(name),
            "job_type": entry["task"],
            "timezone": None if zone is None else _zone(zone),
            "options": {key: _plain(value) for key, value in (entry.get("options") or {}).items()},
            "starting_deadline": app.conf.get("beat_cron_starting_deadline"),
            **_payload(entry.get("args"), entry.get("kwargs"), None if task is None else task.run),
            **_of_celery(celery.schedules, entry),
        }


def _of_celery(schedules: Any, entry: Mapping[str, Any]) -> dict[str, Any]:
    schedule = entry["schedule"]
    if isinstance(schedule, int | float):
        schedule = timedelta(seconds=schedule)
    is_relative = bool(entry.get("relative"))
    if isinstance(schedule, timedelta):
        return {"kind": "interval", "seconds": schedule.total_seconds(), "relative": is_relative}
    if type(schedule) is schedules.schedule:
        is_relative = is_relative or bool(schedule.relative)
        return {"kind": "interval", "seconds": schedule.run_every.total_seconds(), "relative": is_relative}
    if type(schedule) is schedules.crontab and schedule.nowfun is None:
        names = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
        return {"kind": "crontab", **{name: sorted(getattr(schedule, name)) for name in names}}
    return {"kind": f"of a kind of its own ({type(schedule).__name__})"}


def _apscheduler(target: str) -> Iterator[dict[str, Any]]:
    base = _library("apscheduler.schedulers.base").BaseScheduler
    # A module may start its scheduler when it is imported: then jobs would run here.
    started: list[Any] = []
    for each in (base, *_scheduler_classes()):
        each.start = lambda scheduler, *_, **__: started.append(scheduler)
    scheduler = _object(target, base, "a scheduler of APScheduler 3")
    defaults = {"misfire_grace_time": 1, "coalesce": True, "max_instances": 1}
    defaults |= {key: value for key, value in scheduler._job_defaults.items() if key in defaults}
    for name, store in scheduler._jobstores.items():
        if type(store).__name__ != "MemoryJobStore":
            kind = type(store).__name__
            yield {"name": f"job store {name}", "problem": f"it is a {kind}, and the jobs that it keeps are not read"}
    for job in scheduler.get_jobs():
        if job.func_ref is None:
            yield {"name": job.id, "problem": "its function has no name by which a module has it; give it one"}
            continue
        is_named = not (len(job.id) == 32 and all(letter in "0123456789abcdef" for letter in job.id))
        yield {
            "name": job.id if is_named else job.name,
            "job_type": job.func_ref.replace(":", "."),
            **{name: getattr(job, name, default) for name, default in defaults.items()},
            **_payload(job.args, job.kwargs, job.func),
            **_of_trigger(job.trigger),
        }


def _scheduler_classes() -> Iterator[Any]:
    for name in ("background.BackgroundScheduler", "blocking.BlockingScheduler", "asyncio.AsyncIOScheduler"):
        module, _, of = name.partition(".")
        yield getattr(importlib.import_module(f"apscheduler.schedulers.{module}"), of)


def _of_trigger(trigger: Any) -> dict[str, Any]:
    kind = type(trigger).__name__
    common = {
        "kind": kind.removesuffix("Trigger").lower(),
        "end": _instant(getattr(trigger, "end_date", None)),
        "jitter": getattr(trigger, "jitter", None),
    }
    if kind == "IntervalTrigger":
        start = trigger.start_date
        # Without a start_date it is the instant of the import: nobody writes microseconds.
        is_given = not start.microsecond
        return {**common, "seconds": trigger.interval.total_seconds(), "start": _instant(start) if is_given else None}
    if kind == "CronTrigger":
        start = trigger.start_date
        starts_later = start is not None and start.astimezone(UTC) > clock.utc_now()
        texts = {field.name: str(field) for field in trigger.fields}
        return {**common, "fields": texts, "timezone": _zone(trigger.timezone), "starts_later": starts_later}
    return common


def _django(target: str) -> Iterator[dict[str, Any]]:
    settings = _module(target)
    if not hasattr(settings, "CRONJOBS"):
        raise _NoSchedules(
            f"{target} has no CRONJOBS; give the settings module of the project, such as mysite.settings"
        )
    after = getattr(settings, "CRONTAB_COMMAND_SUFFIX", "")
    for schedule, function, *rest in settings.CRONJOBS:
        # Either a suffix, or arguments, named arguments and a suffix.
        is_short = bool(rest) and isinstance(rest[0], str)
        args, kwargs, suffix = ((), {}, rest[0]) if is_short else (*rest, *((), {}, "")[len(rest) :])
        is_command = function == "django.core.management.call_command"
        yield {
            "name": function.rpartition(".")[2],
            "job_type": function,
            "schedule": schedule,
            "prefix": getattr(settings, "CRONTAB_COMMAND_PREFIX", ""),
            "suffixes": [suffix, after],
            "is_locked": bool(getattr(settings, "CRONTAB_LOCK_JOBS", False)),
            "management_command": [str(each) for each in args] if is_command else None,
            **_payload(
                () if is_command else args,
                {} if is_command else kwargs,
                _function_of_django(target, function) if args and not is_command else None,
            ),
        }


def _function_of_django(settings: str, path: str) -> Callable[..., Any] | None:
    """The function, whose signature names its arguments; None if the project cannot be set up here."""
    try:
        os.environ["DJANGO_SETTINGS_MODULE"] = settings
        importlib.import_module("django").setup()
        module, _, name = path.rpartition(".")
        found: Callable[..., Any] = getattr(importlib.import_module(module), name)
        return found
    except Exception:  # noqa: BLE001 - a project may raise anything while it is set up
        return None


_READERS: Mapping[str, Callable[[str], Iterator[dict[str, Any]]]] = {
    "celery-beat": _celery,
    "apscheduler": _apscheduler,
    "django-crontab": _django,
}


def _library(name: str, *others: str) -> Any:
    try:
        for each in others:
            importlib.import_module(each)
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise _NoSchedules(
            f"{error.name} is not installed beside jobrunner; install jobrunner into the environment of the application"
        ) from None


def _module(target: str) -> ModuleType:
    if not target.endswith(".py"):
        return importlib.import_module(target)
    name = os.path.basename(target).removesuffix(".py")
    spec = importlib.util.spec_from_file_location(name, target)
    if spec is None or spec.loader is None:
        raise _NoSchedules(f"{target} is no file of Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, os.path.dirname(os.path.abspath(target)))
    spec.loader.exec_module(module)
    return module


def _object(target: str, kind: type, what: str) -> Any:
    """The object that the target names, or the only one of its kind in the module."""
    name, _, attribute = target.partition(":")
    module = _module(name)
    if attribute:
        found = getattr(module, attribute, None)
        if not isinstance(found, kind):
            raise _NoSchedules(f"{attribute} in {name} is not {what}")
        return found
    there = {id(each): (key, each) for key, each in vars(module).items() if isinstance(each, kind)}
    if len(there) != 1:
        named = ", ".join(f"{name}:{key}" for key, _ in there.values()) or "none"
        raise _NoSchedules(f"{name} must have {what}, and it has {named}; give MODULE:NAME")
    ((_, one),) = there.values()
    return one


def _payload(
    args: Iterable[Any] | None, kwargs: Mapping[str, Any] | None, function: Callable[..., Any] | None
) -> dict[str, Any]:
    """The arguments by their names, as the payload of a run has them; or why there are no names."""
    positional = list(args or ())
    named = dict(kwargs or {})
    if positional:
        problem = "its positional arguments have no names, because its function cannot be imported here"
        if function is None:
            return {"payload": {}, "problem": problem}
        try:
            signature = inspect.signature(function)
            bound = signature.bind_partial(*positional)
        except (TypeError, ValueError) as error:
            return {"payload": {}, "problem": f"its arguments do not fit its function: {error}"}
        if any(signature.parameters[name].kind in _NAMELESS for name in bound.arguments):
            return {"payload": {}, "problem": "its function takes arguments that have no names of their own (*args)"}
        named = {**bound.arguments, **named}
    try:
        return {"payload": json.loads(json.dumps(named, allow_nan=False)), "problem": None}
    except (TypeError, ValueError) as error:
        return {"payload": {}, "problem": f"its arguments are no JSON: {error}"}


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float | str) else str(value)


def _zone(zone: Any) -> str:
    """The name of a time zone of zoneinfo or pytz."""
    return str(getattr(zone, "key", None) or getattr(zone, "zone", None) or zone)


def _instant(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
