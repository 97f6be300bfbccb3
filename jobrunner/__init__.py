"""jobrunner: cron calls ``jobrunner tick``; the database you already have is the queue."""

from __future__ import annotations

from jobrunner.untyped import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from jobrunner.application.enqueueing import Enqueued, Entry, HandlerEntry, Payload, enqueue, enqueue_many
    from jobrunner.application.enqueueing_async import enqueue_async, enqueue_many_async
    from jobrunner.application.grouping import Group, group
    from jobrunner.application.handler_options import JobOptions
    from jobrunner.application.job import Job
    from jobrunner.application.middleware import after_run, around_run, before_run
    from jobrunner.application.migration import migrate
    from jobrunner.application.registry import Register, job
    from jobrunner.application.with_options import JobWithOptions
    from jobrunner.backoff import Backoff, exponential, fixed, polynomial, waits
    from jobrunner.durations import Duration
    from jobrunner.effects.files import write_file
    from jobrunner.effects.webhooks import post_webhook
    from jobrunner.errors import (
        BadPayload,
        CommitUnconfirmed,
        ConfigurationError,
        DatabaseUnavailable,
        JobrunnerError,
        KeyTaken,
        NotFoundError,
        PayloadMismatch,
        QueueFull,
        SchemaMismatch,
        TransactionTooLong,
        UsageError,
    )
    from jobrunner.jobs.context import Context
    from jobrunner.jobs.effect import Effect, EffectInProgress, NotApplied, OnUncertain, UncertainEffect
    from jobrunner.jobs.outcomes import Discard, HandlerStopped, Retry, Snooze
    from jobrunner.jobs.parents import After
    from jobrunner.jobs.run_options import EntryOptions, ManyOptions, RunOptions
    from jobrunner.jobs.transaction_block import TransactionBlock
    from jobrunner.model import KeyScope, Misfire, OnParentFailure, OnStop, Overlap, Taken, WhenFull
    from jobrunner.schedules.declare import Schedule, Schedules
    from jobrunner.store.callers.borrowed import Transaction
    from jobrunner.store.callers.borrowed_async import AsyncTransaction

__version__ = "0.2.0"
__all__ = [
    "After",
    "AsyncTransaction",
    "Backoff",
    "BadPayload",
    "CommitUnconfirmed",
    "ConfigurationError",
    "Context",
    "DatabaseUnavailable",
    "Discard",
    "Duration",
    "Effect",
    "EffectInProgress",
    "Enqueued",
    "Entry",
    "EntryOptions",
    "Group",
    "HandlerEntry",
    "HandlerStopped",
    "Job",
    "JobOptions",
    "JobWithOptions",
    "JobrunnerError",
    "KeyScope",
    "KeyTaken",
    "ManyOptions",
    "Misfire",
    "NotApplied",
    "NotFoundError",
    "OnParentFailure",
    "OnStop",
    "OnUncertain",
    "Overlap",
    "Payload",
    "PayloadMismatch",
    "QueueFull",
    "Register",
    "Retry",
    "RunOptions",
    "Schedule",
    "Schedules",
    "SchemaMismatch",
    "Snooze",
    "Taken",
    "Transaction",
    "TransactionBlock",
    "TransactionTooLong",
    "UncertainEffect",
    "UsageError",
    "WhenFull",
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
    **dict.fromkeys(
        ("Enqueued", "Entry", "HandlerEntry", "Payload", "enqueue", "enqueue_many"), "application.enqueueing"
    ),
    **dict.fromkeys(("enqueue_async", "enqueue_many_async"), "application.enqueueing_async"),
    **dict.fromkeys(("Group", "group"), "application.grouping"),
    "JobOptions": "application.handler_options",
    "Job": "application.job",
    **dict.fromkeys(("after_run", "around_run", "before_run"), "application.middleware"),
    "migrate": "application.migration",
    **dict.fromkeys(("Register", "job"), "application.registry"),
    "JobWithOptions": "application.with_options",
    **dict.fromkeys(("Backoff", "exponential", "fixed", "polynomial", "waits"), "backoff"),
    "Duration": "durations",
    "write_file": "effects.files",
    "post_webhook": "effects.webhooks",
    **dict.fromkeys(
        (
            "BadPayload",
            "CommitUnconfirmed",
            "ConfigurationError",
            "DatabaseUnavailable",
            "JobrunnerError",
            "KeyTaken",
            "NotFoundError",
            "PayloadMismatch",
            "QueueFull",
            "SchemaMismatch",
            "TransactionTooLong",
            "UsageError",
        ),
        "errors",
    ),
    "TransactionBlock": "jobs.transaction_block",
    "Context": "jobs.context",
    **dict.fromkeys(("Effect", "EffectInProgress", "NotApplied", "OnUncertain", "UncertainEffect"), "jobs.effect"),
    **dict.fromkeys(("Discard", "HandlerStopped", "Retry", "Snooze"), "jobs.outcomes"),
    "After": "jobs.parents",
    **dict.fromkeys(("EntryOptions", "ManyOptions", "RunOptions"), "jobs.run_options"),
    **dict.fromkeys(("KeyScope", "Misfire", "OnParentFailure", "OnStop", "Overlap", "Taken", "WhenFull"), "model"),
    **dict.fromkeys(("Schedule", "Schedules"), "schedules.declare"),
    "Transaction": "store.callers.borrowed",
    "AsyncTransaction": "store.callers.borrowed_async",
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
