"""The records of the state of everything: ``overview`` reads them, ``status`` and the dashboard show them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, ClassVar

from jobrunner.store.questions.definitions import ListedDefinition
from jobrunner.store.questions.explain.explanation import Brief
from jobrunner.store.questions.shown_error import ERROR
from jobrunner.store.questions.uncertain import OpenEffect
from jobrunner.store.queue.pauses import Pause
from jobrunner.store.queue.set_limits import SetLimit, describe_limits


@dataclass(frozen=True)
class RunningRun:
    """A run that is running, or whose owner was killed."""

    id: int
    job_type: str
    host: str | None
    locked_by: str
    started_at: datetime | None
    heartbeat_at: datetime | None
    locked_until: datetime
    max_attempts: int | None
    progress: Any
    cancel_requested_at: datetime | None
    attempt: int
    COLUMNS: ClassVar = (
        "id, type=job_type, host, since=started_at, last beat=heartbeat_at, attempt=tries, progress=doing"
    )
    AGES: ClassVar = ("started_at", "heartbeat_at")
    tries = property(lambda self: _of(self.attempt, self.max_attempts))
    doing = property(lambda self: progress_in_words(self.progress))


def _of(made: int, most: int | None) -> str:
    # A row that no code of ours has written may have no limit.
    return str(made) if most is None else f"{made} of {most}"


def progress_in_words(progress: Any) -> str | None:
    """The progress of a run in words. A handler may report any value; to show it must not fail."""
    if not isinstance(progress, dict):
        return None if progress is None else str(progress)[:40]
    total = "" if progress.get("total") is None else f"/{_number(progress['total'])}"
    return f"{_number(progress.get('done', 0))}{total} {progress.get('message', '')}".strip()


def _number(value: object) -> str:
    if not isinstance(value, int | float):
        return str(value)[:40]
    try:
        return f"{value:g}"
    except OverflowError:
        return f"{Decimal(value):.6g}"


@dataclass(frozen=True)
class FailingRun:
    """A run that has failed and will be tried again."""

    id: int
    job_type: str
    attempts: int
    max_attempts: int | None
    error_type: str | None
    last_error: str | None
    next_try_at: datetime
    COLUMNS: ClassVar = "id, type=job_type, attempts=tries, next try=next_try_at, error"
    tries = property(lambda self: _of(self.attempts, self.max_attempts))
    error = ERROR


@dataclass(frozen=True)
class DeadRun:
    """A run that will not be tried again."""

    id: int
    job_type: str
    attempts: int
    finished_at: datetime
    error_type: str | None
    last_error: str | None
    COLUMNS: ClassVar = "id, type=job_type, attempts, since=finished_at, error"
    error = ERROR


@dataclass(frozen=True)
class UnknownType:
    """Waiting runs of a type that this host does not know."""

    job_type: str
    waiting: int
    oldest_run_at: datetime
    COLUMNS: ClassVar = "type=job_type, runs=waiting, oldest=oldest_run_at"


@dataclass(frozen=True)
class LimitedType:
    """A type with a limit of waiting runs."""

    job_type: str
    max_waiting: int
    when_full: str
    dropped: int
    dropped_at: datetime | None
    waiting: int
    COLUMNS: ClassVar = (
        "type=job_type, waiting, most=max_waiting, when full=when_full, dropped, last dropped=dropped_at"
    )


@dataclass(frozen=True)
class RunningLimit:
    """The limits of a type over all hosts that hold now, how many of its runs are running, and how many wait.

    ``opens_at`` is when its rate allows the next run, if not now.
    """

    job_type: str
    max_running: int | None
    rate: str | None
    burst: int | None
    concurrency_key: str | None
    max_running_per_key: int | None
    rate_per_key: str | None
    burst_per_key: int | None
    fair_by: str | None
    opens_at: datetime | None
    running: int
    waiting: int
    COLUMNS: ClassVar = "type=job_type, running, waiting, limits, rate opens=opens_at"

    @property
    def limits(self) -> str:
        """Its limits in words."""
        of_type = [each for each in [describe_limits(self.max_running, self.rate)] if each]
        of_key = [f"{self.max_running_per_key} running"] if self.max_running_per_key is not None else []
        of_key += [self.rate_per_key] if self.rate_per_key is not None else []
        per_key = [f"{' and '.join(of_key)} per {self.concurrency_key}"] * bool(of_key)
        return ", ".join(of_type + per_key + [f"fair by {self.fair_by}"] * (self.fair_by is not None))


@dataclass(frozen=True)
class Tick:
    """A tick. ``finished_at`` None: it is at work, or was killed."""

    host: str
    worker: str
    version: str
    started_at: datetime
    application: str | None
    listening_at: datetime | None
    types: str | None
    finished_at: datetime | None
    counts: Any
    error: str | None
    COLUMNS: ClassVar = "host, started=started_at, ended, done, error"
    ended = property(lambda self: self.finished_at or "at work, or killed")

    @property
    def done(self) -> str:
        """What it has done, in the order of the steps of a tick: the database keeps no order."""
        counts = self.counts
        if not isinstance(counts, dict):
            return "nothing" if counts is None else str(counts)[:40]
        known = {name: index for index, name in enumerate(_COUNTED)}
        names = sorted(counts, key=lambda name: (known.get(name, len(known)), name))
        return " ".join(f"{name} {counts[name]}" for name in names) or "nothing"


_COUNTED = (
    "recovered", "expanded", "skipped", "pruned", "kept", "claimed", "succeeded", "failed", "postponed", "dead",
    "cancelled",
)  # fmt: skip


@dataclass(frozen=True)
class Unsent:
    """A notification that was not sent, and why."""

    at: datetime
    event: str
    job_type: str
    schedule: str
    receiver: str
    runs: int
    outcome: str
    error: str | None
    COLUMNS: ClassVar = "at, event, of, runs, receiver, outcome, error"
    of = property(lambda self: self.schedule or self.job_type)


@dataclass(frozen=True)
class State:
    """The state of everything. ``runs`` maps each status to its number of runs; ``ticks`` has the last of each host.

    ``oldest_due`` says why the run that is due for the longest time does not run: see ``Explanation.brief``.

    No more than ``MOST_COUNTED`` are counted: of the statuses ``runs_at_least`` there are more. ``due_at_least``: there
    are more due runs than the ``MOST_DUE`` that are counted.
    """

    at: datetime
    runs: dict[str, int]
    runs_at_least: list[str]
    due: int
    due_at_least: bool
    oldest_due_seconds: float | None
    oldest_due: Brief | None
    running: list[RunningRun]
    failing: list[FailingRun]
    dead: list[DeadRun]
    pauses: list[Pause]
    set_limits: list[SetLimit]
    schedules: list[ListedDefinition]
    unknown_types: list[UnknownType]
    limits: list[LimitedType]
    running_limits: list[RunningLimit]
    uncertain: int
    uncertain_effects: list[OpenEffect]
    ticks: list[Tick]
    unsent_notifications: list[Unsent]

    def tables(self) -> list[tuple[str, list[Any]]]:
        """The records that people see as tables, each list with its title."""
        return [(title.format(**vars(self)), getattr(self, name)) for name, title in _TABLES.items()]


_TABLES = {
    "pauses": "paused (jobrunner resume)",
    "set_limits": "limits set at run time (jobrunner unlimit)",
    "running": "running",
    "ticks": "last tick per host",
    "failing": "failing",
    "dead": "dead",
    "unknown_types": "waiting, but unknown on this host",
    "schedules": "schedules",
    "uncertain_effects": "uncertain effects: {uncertain} (jobrunner effects list)",
    "limits": "limited",
    "running_limits": "limited on all hosts together",
    "unsent_notifications": "notifications that were not sent (docs/howto/notifications.md)",
}
"""In the order of the first page of the dashboard: a test compares them."""
