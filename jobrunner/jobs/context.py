"""What a handler is told about its run, and what it may tell meanwhile. Standard library only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from jobrunner import clock


@dataclass(slots=True)
class Context:
    """Handed to a handler as its first argument.

    ``scheduled_for`` is the slot of the schedule that the run stands for (UTC), None for any other run;
    ``lateness`` is how long after its slot, or else its run_at, the attempt started. ``deadline`` is the instant
    (UTC, by the database's clock) at which the attempt times out; None: no limit.
    """

    run_id: int
    job_type: str
    attempt: int
    max_attempts: int
    scheduled_for: datetime | None
    lateness: timedelta
    deadline: datetime | None
    _ends_at: float | None = None
    _tell: Callable[[Mapping[str, Any]], None] = field(default=lambda _: None, repr=False)
    _was_asked_to_stop: Callable[[], bool] = field(default=lambda: False, repr=False)
    _log: Any = field(default=None, repr=False)

    @property
    def time_left(self) -> timedelta | None:
        """How long until the attempt times out, never below zero; None: no limit."""
        if self._ends_at is None:
            return None
        return timedelta(seconds=max(0.0, self._ends_at - clock.elapsed()))

    @property
    def cancelled(self) -> bool:
        """Whether the attempt was asked to stop (cancelled, timed out, or the tick is shutting down).

        A handler that looks at it can end in good order; one that does not is interrupted with
        ``HandlerStopped`` after half of ``kill_after``, and killed after the whole of it. A handler that returns has
        succeeded, also now: raise if work is left to do.
        """
        return self._was_asked_to_stop()

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Tell how far the work is. Cheap: it reaches the run with the next heartbeat."""
        self._tell({"done": done, "total": total, "message": str(message)[:500]})

    @property
    def log(self) -> Any:
        """A structlog logger with the run's id, type and attempt bound. Its lines are part of the run's output."""
        if self._log is None:
            self._log = _bound_log(self.run_id, self.job_type, self.attempt)
        return self._log


def _bound_log(run_id: int, job_type: str, attempt: int) -> Any:
    import structlog

    if not structlog.is_configured():
        # Plain lines: the output of a run is read with `jobrunner show`, where colours would be escapes.
        structlog.configure(
            processors=[
                structlog.contextvars.merge_contextvars,
                structlog.processors.add_log_level,
                structlog.processors.format_exc_info,
                structlog.processors.KeyValueRenderer(key_order=["level", "event"]),
            ],
            logger_factory=structlog.PrintLoggerFactory(),
        )
    return structlog.get_logger().bind(run_id=run_id, job_type=job_type, attempt=attempt)
