"""jobrunner: cron calls ``jobrunner tick``; the database you already have is the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jobrunner.backoff import exponential, fixed, polynomial, waits
from jobrunner.context import Context
from jobrunner.errors import QueueFull
from jobrunner.registry import job
from jobrunner.signals import Discard, HandlerStopped, Retry, Snooze

if TYPE_CHECKING:
    from jobrunner.enqueueing import Enqueued, enqueue

__version__ = "0.1.0"
__all__ = [
    "Context",
    "Discard",
    "Enqueued",
    "HandlerStopped",
    "QueueFull",
    "Retry",
    "Snooze",
    "enqueue",
    "exponential",
    "fixed",
    "job",
    "polynomial",
    "waits",
]


def __getattr__(name: str) -> Any:
    # On demand: a handler module that enqueues nothing must not cost its child the import of SQLAlchemy.
    if name in ("Enqueued", "enqueue"):
        from jobrunner import enqueueing

        globals().update(Enqueued=enqueueing.Enqueued, enqueue=enqueueing.enqueue)
        return globals()[name]
    raise AttributeError(f"module 'jobrunner' has no attribute {name!r}")
