"""Makes the report that a child sends when a handler ends, and sends the progress of a run before that."""

from __future__ import annotations

import re
import sys
import traceback
import types
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from jobrunner import clock
from jobrunner.application.job import Job
from jobrunner.children.frames import framed
from jobrunner.children.inside.checkpoints import Checkpoints
from jobrunner.children.inside.own_work import OwnWork
from jobrunner.children.messages import NOT_BEGUN, FromChild, Report, StartRun
from jobrunner.children.messages import Progress as ProgressMessage
from jobrunner.errors import BadPayload, PayloadMismatch
from jobrunner.jobs import payload
from jobrunner.jobs.context import Context
from jobrunner.jobs.outcomes import Discard, HandlerStopped, Retry, Snooze

_TRACEBACK_CHARACTERS = 32_000
_MESSAGE_CHARACTERS = 10_000
_PROGRESS_EVERY_SECONDS = 0.1
_CLOSED = re.compile(
    r"connection (is|was|has been|already|is already) closed|closed (the )?(connection|database)|server has gone away"
    r"|(lost|terminating) connection|can't reconnect until invalid transaction",
    re.IGNORECASE,
)
"""Error messages of psycopg, sqlite3, SQLAlchemy, Django and the drivers of MySQL."""

_NEVER_RUN = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)
_REQUESTS = (Retry, Discard, Snooze)
Send = Callable[[FromChild], None]


class Progress:
    """The progress of one run. It is sent to the parent ten times a second at most, however often it is noted."""

    def __init__(self, run_id: int, send: Send) -> None:
        self._run_id = run_id
        self._send = send
        self._latest: ProgressMessage | None = None
        self._sent_at = 0.0

    def note(self, progress: Mapping[str, Any]) -> None:
        """Note how far the work is. Raises BadPayload for a value that a database cannot hold."""
        self._latest = ProgressMessage(self._run_id, payload.check_payload(progress))
        if clock.elapsed() - self._sent_at >= _PROGRESS_EVERY_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Send the last noted progress, if it was not sent yet."""
        if self._latest is not None:
            self._sent_at = clock.elapsed()
            self._send(self._latest)
            self._latest = None


def context_of(
    start: StartRun,
    progress: Progress,
    checkpoints: Checkpoints,
    was_asked_to_stop: Callable[[], bool],
    own: OwnWork | None = None,
) -> Context:
    """The context for the handler, made from the parent's message."""
    timeout = start.timeout_seconds
    slot = start.scheduled_for
    return Context(
        run_id=start.run_id,
        job_type=start.job_type,
        attempt=start.attempt,
        max_attempts=start.max_attempts,
        scheduled_for=None if slot is None else datetime.fromisoformat(slot),
        lateness=timedelta(seconds=start.lateness_seconds),
        deadline=None if timeout is None else _deadline(start.started_at, timeout),
        _ends_at=None if timeout is None else clock.elapsed() + timeout,
        _report=progress.note,
        _was_asked_to_stop=was_asked_to_stop,
        _own=own,
        _kept=start.checkpoint,
        _keep=checkpoints.note,
    )


# The runs of a claim have started at the same instant.
@lru_cache(maxsize=8)
def _deadline(started_at: float, timeout_seconds: float) -> datetime:
    return datetime.fromtimestamp(started_at, UTC) + timedelta(seconds=timeout_seconds)


def not_begun(start: StartRun) -> Report:
    """The report of a run that the child has not begun and will not begin."""
    return Report(start.run_id, NOT_BEGUN)


def arguments_of(job: Job[Any, Any] | None, start: StartRun, *, is_async: bool) -> Mapping[str, Any] | Report:
    """The arguments that a run's handler is called with, or the report of a run whose handler cannot be called.

    The outcome is ``incompatible`` if another version of the code may run it: perhaps a deploy is under way.
    """
    if job is None or job.policy.is_async != is_async:
        error = "no handler of this name and kind"
        return Report(start.run_id, "incompatible", error_type="unknown_type", error=error)
    try:
        return job.arguments(start.payload)
    except PayloadMismatch as error:
        return Report(start.run_id, "incompatible", error_type="bad_payload", error=str(error))
    except BadPayload as error:
        return Report(start.run_id, "discarded", error_type="bad_payload", error=str(error))


def returned(value: object, start: StartRun) -> Report:
    """The report of a handler that has returned."""
    if value is None:
        return Report(start.run_id, "succeeded")
    if isinstance(value, _REQUESTS):
        return _requested(value, start)
    if isinstance(value, _NEVER_RUN):
        return _never_run(value, start)
    return Report(start.run_id, "succeeded", result=_kept(value, start.result_limit))


def ending(error: BaseException, job: Job[Any, Any], start: StartRun, *, was_cancelled: bool = False) -> Report:
    """The report of a handler that has raised. ``was_cancelled``: its event loop has cancelled it to stop it."""
    if was_cancelled or isinstance(error, HandlerStopped):
        return _stopped(error, start)
    if isinstance(error, _REQUESTS):
        return _requested(error, start)
    return _failed(error, job, start)


def _never_run(value: object, start: StartRun) -> Report:
    # Otherwise the run would have succeeded, and done nothing.
    kind = type(value).__name__
    return Report(
        start.run_id,
        "failed",
        error_type="TypeError",
        error_class="builtins.TypeError",
        error=f"the handler returned a {kind} that nobody has run; await it, or loop over it, in the handler",
    )


def encode_success(
    run_id: int, ended_at: float, peak_memory_bytes: int | None = None, processor_seconds: float | None = None
) -> bytes:
    """The frame of a success without a result: what ``frames.encode`` would make of it, in a tenth of the time."""
    peak = b"" if peak_memory_bytes is None else b',"peak_memory_bytes":%d' % peak_memory_bytes
    processor = b"" if processor_seconds is None else b',"processor_seconds":%a' % processor_seconds
    values = (run_id, ended_at, peak, processor)
    return framed(b'{"kind":"report","run_id":%d,"outcome":"succeeded","ended_at":%a%b%b}' % values)


def _requested(outcome: Retry | Discard | Snooze, start: StartRun) -> Report:
    """What a handler has returned or raised to ask for it."""
    run_id, error = start.run_id, text_of(outcome)
    if isinstance(outcome, Snooze):
        return Report(run_id, "snoozed", wait_seconds=outcome.wait.total_seconds(), error=error)
    error_type = type(outcome).__name__
    error_class = f"jobrunner.{error_type}"
    if isinstance(outcome, Discard):
        return Report(run_id, "discarded", error_type=error_type, error=error, error_class=error_class)
    return Report(
        run_id,
        "failed",
        wait_seconds=None if outcome.after is None else outcome.after.total_seconds(),
        error_type=error_type,
        error=error,
        error_class=error_class,
    )


def _failed(error: BaseException, job: Job[Any, Any], start: StartRun) -> Report:
    return Report(
        start.run_id,
        "discarded" if job.is_permanent(error) else "failed",
        error_type=type(error).__name__,
        error=text_of(error) or type(error).__name__,
        traceback=stack(error),
        error_class=path_of(type(error)),
    )


def path_of(kind: type) -> str:
    """Where a class can be imported from, if it stands in a module."""
    module = kind.__module__
    # A class may have whatever its author has put there.
    return f"{module if isinstance(module, str) else 'builtins'}.{kind.__qualname__}"


def shows_closed_connection(report: Report) -> bool:
    """Whether the run has failed because a connection that its process keeps was closed."""
    return report.error is not None and _CLOSED.search(report.error) is not None


def _stopped(error: BaseException, start: StartRun) -> Report:
    # If the parent has stopped it, the parent knows the reason.
    return Report(start.run_id, "stopped", error_type="stopped", error=text_of(error), traceback=stack(error))


def _kept(value: object, limit_bytes: int) -> object:
    """The return value, or None if a database cannot hold it: a return value is never a reason to fail a run."""
    try:
        return payload.check_payload({"result": value}, limit_bytes)["result"]
    except Exception as error:  # noqa: BLE001 - the value may be of a class of the handler's own
        with suppress(Exception):
            sys.stderr.write(f"jobrunner: the return value was not kept: {text_of(error)}\n")
        return None


def text_of(error: BaseException) -> str:
    """The message of an exception, whatever its class does."""
    try:
        # Cut here, because a message of many megabytes would make a frame that is too long.
        return str(error)[:_MESSAGE_CHARACTERS]
    except BaseException:  # noqa: BLE001 - the handler's own __str__ may fail in any way
        return "(its message cannot be read)"


def stack(error: BaseException) -> str:
    """The traceback from the user's own code on, or only its end if it is long."""
    try:
        trace = traceback.TracebackException.from_exception(error, compact=True)
        with suppress(Exception):
            # Imported here, because most runs succeed. It cannot be if the handler has left no file descriptor.
            from jobrunner.jobs.user_code import cut_above

            cut_above(trace)
        text = "".join(trace.format())
    except BaseException:  # noqa: BLE001 - as above: formatting runs the handler's code
        return "(the traceback cannot be formatted)"
    return text if len(text) <= _TRACEBACK_CHARACTERS else "…" + text[-_TRACEBACK_CHARACTERS:]
