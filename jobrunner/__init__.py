"""jobrunner: cron calls ``jobrunner tick``; the database you already have is the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jobrunner.application.enqueueing import Enqueued, Entry, HandlerEntry, enqueue, enqueue_many
    from jobrunner.application.enqueueing_async import enqueue_async, enqueue_many_async
    from jobrunner.application.grouping import group
    from jobrunner.application.middleware import after_run, around_run, before_run
    from jobrunner.application.migration import migrate
    from jobrunner.application.registry import job
    from jobrunner.backoff import exponential, fixed, polynomial, waits
    from jobrunner.effects.files import write_file
    from jobrunner.effects.webhooks import post_webhook
    from jobrunner.errors import CommitUnconfirmed, KeyTaken, QueueFull, TransactionTooLong
    from jobrunner.jobs.context import Context
    from jobrunner.jobs.effect import Effect, EffectInProgress, NotApplied, UncertainEffect
    from jobrunner.jobs.outcomes import Discard, HandlerStopped, Retry, Snooze
    from jobrunner.jobs.run_options import EntryOptions, ManyOptions, RunOptions
    from jobrunner.schedules.declare import Schedule

__version__ = "0.1.0"
__all__ = [
    "CommitUnconfirmed",
    "Context",
    "Discard",
    "Effect",
    "EffectInProgress",
    "Enqueued",
    "Entry",
    "EntryOptions",
    "HandlerEntry",
    "HandlerStopped",
    "KeyTaken",
    "ManyOptions",
    "NotApplied",
    "QueueFull",
    "Retry",
    "RunOptions",
    "Schedule",
    "Snooze",
    "TransactionTooLong",
    "UncertainEffect",
    "after_run",
    "around_run",
    "before_run",
    "enqueue",
    "enqueue_async",
    "enqueue_many",
    "enqueue_many_async",
    "exponential",
    "fixed",
    "group",
    "job",
    "migrate",
    "polynomial",
    "post_webhook",
    "waits",
    "write_file",
]


_MODULES = {
    **dict.fromkeys(("exponential", "fixed", "polynomial", "waits"), "backoff"),
    "Context": "jobs.context",
    **dict.fromkeys(("Enqueued", "Entry", "HandlerEntry", "enqueue", "enqueue_many"), "application.enqueueing"),
    **dict.fromkeys(("enqueue_async", "enqueue_many_async"), "application.enqueueing_async"),
    **dict.fromkeys(("Effect", "EffectInProgress", "NotApplied", "UncertainEffect"), "jobs.effect"),
    **dict.fromkeys(("CommitUnconfirmed", "KeyTaken", "QueueFull", "TransactionTooLong"), "errors"),
    "group": "application.grouping",
    **dict.fromkeys(("after_run", "around_run", "before_run"), "application.middleware"),
    "job": "application.registry",
    "migrate": "application.migration",
    "post_webhook": "effects.webhooks",
    "write_file": "effects.files",
    **dict.fromkeys(("EntryOptions", "ManyOptions", "RunOptions"), "jobs.run_options"),
    "Schedule": "schedules.declare",
    **dict.fromkeys(("Discard", "HandlerStopped", "Retry", "Snooze"), "jobs.outcomes"),
}


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    # Imported on demand: an idle tick needs none of them, and a handler module that never enqueues needs no SQLAlchemy.
    if name not in _MODULES:
        raise AttributeError(f"module 'jobrunner' has no attribute {name!r}")
    from importlib import import_module

    globals()[name] = value = getattr(import_module(f"jobrunner.{_MODULES[name]}"), name)
    return value
