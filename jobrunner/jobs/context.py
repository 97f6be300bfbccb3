"""What a handler knows about its run, and how it reports progress and keeps its place. Standard library only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

from jobrunner import clock
from jobrunner.errors import UsageError
from jobrunner.text import shown

if TYPE_CHECKING:
    from jobrunner.jobs.checkpoint import Checkpoint
    from jobrunner.jobs.effect import Effect, OnUncertain
    from jobrunner.jobs.transaction_block import TransactionBlock


class Context:
    """The first argument of every handler.

    ``scheduled_for`` is the slot of the schedule for which the run was made (UTC); None means that no schedule made it.
    ``lateness`` is the time from its slot, or without a slot from its run_at, to the start of the attempt. ``deadline``
    is the instant (UTC, by the database's clock) at which the attempt times out; None means no limit. ``result`` is
    stored with the run if it is set before the end of ``transaction``.
    """

    __slots__ = (
        "_checkpoint", "_ends_at", "_keep", "_kept", "_log", "_own", "_report", "_was_asked_to_stop", "attempt",
        "deadline", "job_type", "lateness", "max_attempts", "result", "run_id", "scheduled_for",
    )  # fmt: skip

    def __init__(
        self,
        run_id: int,
        job_type: str,
        attempt: int,
        max_attempts: int,
        scheduled_for: datetime | None,
        lateness: timedelta,
        deadline: datetime | None,
        *,
        _ends_at: float | None = None,
        _report: Callable[[Mapping[str, Any]], None] = lambda _: None,
        _was_asked_to_stop: Callable[[], bool] = lambda: False,
        _log: Any = None,
        _own: Any = None,
        _kept: object = None,
        _keep: Callable[..., None] = lambda *_: None,
    ) -> None:
        self.run_id = run_id
        self.job_type = job_type
        self.attempt = attempt
        self.max_attempts = max_attempts
        self.scheduled_for = scheduled_for
        self.lateness = lateness
        self.deadline = deadline
        self.result: Any = None
        self._ends_at = _ends_at
        self._report = _report
        self._was_asked_to_stop = _was_asked_to_stop
        self._log = _log
        self._own = _own
        self._kept = _kept
        self._keep = _keep
        self._checkpoint: Checkpoint | None = None

    def __repr__(self) -> str:
        return f"Context(run_id={self.run_id!r}, job_type={self.job_type!r}, attempt={self.attempt!r})"

    @property
    def time_left(self) -> timedelta | None:
        """The time until the attempt times out, never below zero. None means no limit."""
        if self._ends_at is None:
            return None
        return timedelta(seconds=max(0.0, self._ends_at - clock.elapsed()))

    @property
    def cancelled(self) -> bool:
        """Whether the attempt was asked to stop (cancelled, timed out, or the tick is shutting down).

        A handler that checks this can end cleanly. A handler that does not is interrupted with ``HandlerStopped``
        after half of ``kill_after``, and killed after the whole of it. A handler that returns has succeeded, even
        after it was asked to stop: raise an exception if work is left to do.
        """
        return self._was_asked_to_stop()

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Report how far the work is. This is cheap: the next heartbeat writes it to the run.

        ``done`` is how much is done, of ``total`` if that is known: ``progress(3, 10)``, or ``progress(150)`` if
        nobody knows of how many. Both are numbers of 0 or more. Raises UsageError for anything else.
        """
        for name, value in (("done", done), ("total", total)):
            if value is not None or name == "done":
                _check_amount(name, value)
        self._report({"done": done, "total": total, "message": str(message)[:500]})

    def checkpoint(self, value: Any) -> None:
        """Keep this value for the attempts that follow, in place of the one before: they begin where this one ended.

        It is JSON; with the results of all steps a run keeps 65,536 bytes. This is cheap, also for each row. The tick
        has it a tenth of a second later at the latest, whatever becomes of this process; the database has it with the
        next heartbeat, and with the end of the attempt. Raises UsageError for a value that cannot be kept.
        """
        self._place().write(value)

    @property
    def last_checkpoint(self) -> Any:
        """The newest value of ``checkpoint``, by whichever attempt of the run. None means that there is none."""
        return self._place().value

    def step(self, name: str, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call ``function(*args, **kwargs)`` once over all attempts of the run, and return what it returned, as JSON.

        A later attempt that comes to the step gets the kept result, and the function is not called. What it raises is
        raised, and nothing is kept. The tick has the result before this returns, and the database as for
        ``checkpoint``; if the whole host is lost before that, the function is called again. An effect that must not
        happen twice belongs into ``once``. Raises UsageError for a name that this attempt has used, and for a result
        that cannot be kept.
        """
        return self._place().step(name, function, *args, **kwargs)

    async def step_async(self, name: str, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """As ``step``, for async handlers: what the function returns is awaited if it can be."""
        return await self._place().step_async(name, function, *args, **kwargs)

    def _place(self) -> Checkpoint:
        if self._checkpoint is None:
            from jobrunner.jobs.checkpoint import Checkpoint

            self._checkpoint = Checkpoint(self._kept, self._keep)
        return self._checkpoint

    def once(
        self, key: str, send: Callable[..., Any], /, *args: Any, on_uncertain: OnUncertain = "raise", **kwargs: Any
    ) -> Effect:
        """Call ``send(*args, **kwargs)`` at most once for this key, forever; its return value is the stored outcome.

        A second call with the key, in whatever run, returns what is stored. If ``send`` raises ``NotApplied``, the key
        can be used again. After any other exception, or a crash, nobody knows whether the effect was applied: then
        ``on_uncertain`` decides at the next call. ``"raise"`` raises UncertainEffect, ``"skip"`` returns the uncertain
        effect, ``"repeat"`` calls ``send`` again. A function gets the effect and asks the other system: it returns the
        outcome if the effect was applied, and raises NotApplied if not; then ``send`` is called again. Raises
        EffectInProgress while another run makes the call.
        """
        return cast("Effect", self._database().once(key, send, on_uncertain, *args, **kwargs))

    async def once_async(
        self, key: str, send: Callable[..., Any], /, *args: Any, on_uncertain: OnUncertain = "raise", **kwargs: Any
    ) -> Effect:
        """As ``once``, for async handlers: what ``send`` or ``on_uncertain`` returns is awaited if it can be."""
        return cast("Effect", await self._database().once_async(key, send, on_uncertain, *args, **kwargs))

    def transaction(self, connection: Any = None) -> TransactionBlock:
        """A transaction in which the handler's writes and the run's own end commit together.

        ``with`` it, and give an engine, connection or session of SQLAlchemy, a connection of psycopg or sqlite3, or
        Django's. In an async handler ``async with`` it, and give an AsyncEngine, AsyncConnection or AsyncSession of
        SQLAlchemy, or a connection of psycopg, asyncpg or aiosqlite for await. It must lead to the database of
        jobrunner; None: a connection of SQLAlchemy of jobrunner's own. The block gets it, but for an engine a
        connection of it.

        When the block ends, the run is succeeded, with ``result``; if it raises, all is rolled back. If the run has
        lost its lease, all is rolled back and HandlerStopped is raised. On SQLite the block may take a quarter of the
        lease. A run has one such transaction.
        """
        block: TransactionBlock = self._database().transaction(connection, lambda: self.result)
        return block

    def _database(self) -> Any:
        if self._own is None:
            raise UsageError("this context belongs to no run: only a handler that a tick runs has the database")
        return self._own

    @property
    def log(self) -> Any:
        """A structlog logger that adds the run's id, type and attempt. Its lines are part of the run's output."""
        if self._log is None:
            self._log = _bound_log(self.run_id, self.job_type, self.attempt)
        return self._log


def _check_amount(name: str, value: object) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (is_number and 0 <= cast("float", value) < float("inf")):
        raise UsageError(
            f"ctx.progress: {name} must be a number of 0 or more, not {shown(value)}; write ctx.progress(3, 10) for 3"
            ' of 10, and words as its message="…"'
        )


def _bound_log(run_id: int, job_type: str, attempt: int) -> Any:
    import structlog

    if not structlog.is_configured():
        # Plain lines, because `jobrunner show` would print colours as escape codes.
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
