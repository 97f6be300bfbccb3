"""One attempt in the test's own process: the handler is called, and its end is made into what a child would report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from jobrunner import clock
from jobrunner.application.job import Job
from jobrunner.children.inside.attempt import Attempt
from jobrunner.children.messages import Checkpoint as CheckpointMessage
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
    checkpoint: Any = None,
    steps: Mapping[str, Any] | None = None,
) -> Context:
    """A ``Context`` to call a handler with, as in ``send_welcome(context(attempt=2), email="ada@example.com")``.

    What the handler reports by ``ctx.progress`` is appended to the list ``progress``. ``checkpoint`` and the results
    ``steps`` are what earlier attempts have kept; ``last_checkpoint`` of the context is afterwards what this one has.
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
        _kept={"value": checkpoint, "steps": steps or {}},
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
    checkpoint: Mapping[str, Any] | None
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
    sent: list[object] = []
    # Without the database through its context: the connection of the test is not one that a child would open.
    here = Attempt(start, sent.append, None)
    raised: list[BaseException] = []
    report = here.run(job, _undone(savepoint, raised), finish)
    here.flush()
    progress = next((each.progress for each in sent[::-1] if isinstance(each, ProgressMessage)), None)
    kept = next((each.checkpoint for each in sent[::-1] if isinstance(each, CheckpointMessage)), None)
    if report.error_type == "bad_payload" and not raised:
        return Called(report, progress, kept, PayloadMismatch(f"run {start.run_id}, {job.name}: {report.error}"))
    error = raised[0] if raised else None
    if error is not None and not isinstance(error, Exception | SystemExit):
        # It is meant for the test, such as the end of the test itself; a child reports the others.
        raise error
    return Called(report, progress, kept, None if isinstance(error, Retry | Discard | Snooze) else error)


@contextmanager
def _undone(savepoint: Callable[[], AbstractContextManager[Any]], raised: list[BaseException]) -> Iterator[None]:
    """Undo what the handler has written if it raises, as the end of its own transaction would do, and note what."""
    try:
        with savepoint():
            yield
    except BaseException as error:
        raised.append(error)
        raise
