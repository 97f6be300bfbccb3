"""One attempt in the test's own process: the handler is called, and its end is made into what a child would report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from jobrunner import clock
from jobrunner.application import middleware
from jobrunner.application.job import Job
from jobrunner.children.inside import reports
from jobrunner.children.inside.reports import Progress
from jobrunner.children.messages import Progress as ProgressMessage
from jobrunner.children.messages import Report, StartRun
from jobrunner.durations import Duration, parse_duration
from jobrunner.errors import PayloadMismatch
from jobrunner.jobs.context import Context
from jobrunner.jobs.outcomes import Discard, Retry, Snooze
from jobrunner.model import ClaimedRun


def context(
    *,
    run_id: int = 1,
    job_type: str = "test",
    attempt: int = 1,
    max_attempts: int = 5,
    scheduled_for: datetime | None = None,
    lateness: Duration = timedelta(0),
    deadline: datetime | None = None,
    time_left: Duration | None = None,
    cancelled: bool = False,
    progress: list[Mapping[str, Any]] | None = None,
) -> Context:
    """A ``Context`` to call a handler with, as in ``send_welcome(context(attempt=2), email="ada@example.com")``.

    What the handler reports by ``ctx.progress`` is appended to the list ``progress``.
    """
    reported = [] if progress is None else progress
    ends_at = None if time_left is None else clock.elapsed() + parse_duration(time_left).total_seconds()
    return Context(
        run_id=run_id,
        job_type=job_type,
        attempt=attempt,
        max_attempts=max_attempts,
        scheduled_for=scheduled_for,
        lateness=parse_duration(lateness),
        deadline=deadline,
        _ends_at=ends_at,
        _report=reported.append,
        _was_asked_to_stop=lambda: cancelled,
    )


@dataclass(frozen=True)
class Ended:
    """An attempt that has ended. ``status`` is that of the run afterwards, ``error`` what the handler raised."""

    run_id: int
    job_type: str
    attempt: int
    outcome: str
    status: str
    result: Any = None
    error: BaseException | None = None


@dataclass(frozen=True)
class Drained:
    """What ``drain`` has done: the attempts in their order, and how many of them ended how."""

    attempts: list[Ended] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.attempts)

    def __iter__(self) -> Iterator[Ended]:
        return iter(self.attempts)

    @property
    def counts(self) -> dict[str, int]:
        """How many attempts left their run in which status."""
        return dict(Counter(each.status for each in self.attempts))


class Called(NamedTuple):
    """The end of a handler in this process. ``error`` is what a test should see: not Retry, Discard or Snooze."""

    report: Report
    progress: Mapping[str, Any] | None
    error: BaseException | None


def attempt(
    run: ClaimedRun,
    job: Job[Any, Any],
    result_limit: int,
    savepoint: Callable[[], AbstractContextManager[Any]],
    finish: Callable[[Any], Any],
) -> Called:
    """Call the handler. ``finish`` gets what an ``async def`` handler returns, and returns what that returns."""
    start = StartRun.of(run, result_limit)
    arguments = reports.arguments_of(job, start, is_async=job.policy.is_async)
    if isinstance(arguments, Report):
        return Called(arguments, None, PayloadMismatch(f"run {start.run_id}, {job.name}: {arguments.error}"))
    noted: list[Mapping[str, Any]] = []
    progress = Progress(start.run_id, lambda message: _note(noted, message))
    given = reports.context_of(start, progress, lambda: False)
    error: BaseException | None = None
    try:
        # What the handler has written is undone if it raises, as the end of its own transaction would do.
        with savepoint():
            if job.policy.is_async:
                value = finish(middleware.wrapped_async(job.function)(given, **arguments))
            else:
                value = middleware.wrapped(job.function)(given, **arguments)
        report = reports.returned(value, job, start)
    except (Retry, Discard, Snooze) as asked:
        report = reports.requested(asked, job, start)
    except (Exception, SystemExit) as raised:  # noqa: BLE001 - a child reports these as the end of the attempt
        report, error = reports.failed(raised, job, start), raised
    progress.flush()
    return Called(report, noted[-1] if noted else None, error)


def _note(noted: list[Mapping[str, Any]], message: object) -> None:
    if isinstance(message, ProgressMessage):
        noted.append(message.progress)
