"""What the end of a handler means, as the report that its child sends; and what a handler may tell before it."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from jobrunner import clock
from jobrunner.children.frames import NOT_BEGUN, Frame
from jobrunner.errors import BadPayload, PayloadMismatch
from jobrunner.jobs import payload
from jobrunner.jobs.context import Context
from jobrunner.jobs.outcomes import Discard, Retry, Snooze
from jobrunner.registry import Job

_TRACEBACK_CHARACTERS = 32_000
_MESSAGE_CHARACTERS = 10_000
_PROGRESS_EVERY_SECONDS = 0.1
_CLOSED = re.compile(
    r"connection (is|was|has been|already|is already) closed|closed (the )?(connection|database)|server has gone away"
    r"|(lost|terminating) connection",
    re.IGNORECASE,
)
"""In the words of psycopg, sqlite3, SQLAlchemy, Django and the drivers of MySQL."""

Send = Callable[[Frame], None]


class Progress:
    """The progress of one run. A handler may tell a million times; the parent hears it ten times a second at most."""

    def __init__(self, run_id: int, send: Send) -> None:
        self._run_id = run_id
        self._send = send
        self._latest: Frame | None = None
        self._sent_at = 0.0

    def tell(self, progress: Mapping[str, Any]) -> None:
        """Note how far the work is. Raises BadPayload for what no database can hold."""
        self._latest = {"kind": "progress", "run_id": self._run_id, "progress": payload.check_payload(progress)}
        if clock.elapsed() - self._sent_at >= _PROGRESS_EVERY_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Send what was told last, if it was not sent."""
        if self._latest is not None:
            self._sent_at = clock.elapsed()
            self._send(self._latest)
            self._latest = None


def context_of(frame: Frame, progress: Progress, was_asked_to_stop: Callable[[], bool]) -> Context:
    """What the handler is given, from what the parent has sent."""
    timeout = frame["timeout_seconds"]
    started_at = datetime.fromisoformat(frame["started_at"])
    slot = frame["scheduled_for"]
    return Context(
        run_id=frame["run_id"],
        job_type=frame["job_type"],
        attempt=frame["attempt"],
        max_attempts=frame["max_attempts"],
        scheduled_for=None if slot is None else datetime.fromisoformat(slot),
        lateness=timedelta(seconds=frame["lateness_seconds"]),
        deadline=None if timeout is None else started_at + timedelta(seconds=timeout),
        _ends_at=None if timeout is None else clock.elapsed() + timeout,
        _tell=progress.tell,
        _was_asked_to_stop=was_asked_to_stop,
    )


def not_begun(run_id: int) -> Frame:
    """The run was not begun, and will not be."""
    return {"kind": "report", "run_id": run_id, "outcome": NOT_BEGUN}


def refused(job: Job[Any, Any] | None, frame: Frame, *, is_async: bool) -> Frame | None:
    """Why the handler is not even called; None: it is.

    What another version of the code could do is ``incompatible``: perhaps a deploy is under way.
    """
    if job is None or job.policy.is_async != is_async:
        return {"outcome": "incompatible", "error_type": "unknown_type", "error": "no handler of this name and kind"}
    try:
        job.check(frame["payload"])
    except PayloadMismatch as error:
        return {"outcome": "incompatible", "error_type": "bad_payload", "error": str(error)}
    except BadPayload as error:
        return {"outcome": "discarded", "error_type": "bad_payload", "error": str(error)}
    return None


def returned(value: object, job: Job[Any, Any], frame: Frame) -> Frame:
    """The handler came to its end."""
    if isinstance(value, Retry | Discard | Snooze):
        return asked(value, job, frame)
    return {"outcome": "succeeded", "result": _kept(value, frame["result_limit"])}


def asked(signal_: Retry | Discard | Snooze, job: Job[Any, Any], frame: Frame) -> Frame:
    """The handler has said itself how its run goes on."""
    if isinstance(signal_, Snooze):
        return {"outcome": "snoozed", "wait_seconds": signal_.wait.total_seconds(), "error": text_of(signal_)}
    named = {"error_type": type(signal_).__name__, "error": text_of(signal_)}
    if isinstance(signal_, Discard):
        return {"outcome": "discarded", **named}
    wait = job.policy.backoff.wait(frame["attempt"]) if signal_.after is None else signal_.after
    return {"outcome": "failed", "wait_seconds": wait.total_seconds(), **named}


def failed(error: BaseException, job: Job[Any, Any], frame: Frame) -> Frame:
    """The handler has raised. To be called while the exception is being handled."""
    return {
        "outcome": "discarded" if job.is_permanent(error) else "failed",
        "error_type": type(error).__name__,
        "error": text_of(error) or type(error).__name__,
        "traceback": stack(),
        "wait_seconds": job.policy.backoff.wait(frame["attempt"]).total_seconds(),
    }


def tells_of_a_closed_connection(report: Frame) -> bool:
    """Whether the run has failed because a connection that its process keeps is gone."""
    error = report.get("error")
    return isinstance(error, str) and _CLOSED.search(error) is not None


def stopped(error: BaseException) -> Frame:
    """The handler was interrupted. The parent, if it asked for this, knows better why."""
    return {"outcome": "stopped", "error_type": "stopped", "error": text_of(error), "traceback": stack()}


def _kept(value: object, limit_bytes: int) -> object:
    """The result as far as both databases can hold it: a return value is a courtesy, never a reason to fail."""
    if value is None:
        return None
    try:
        return payload.check_payload({"result": value}, limit_bytes)["result"]
    except Exception as error:  # noqa: BLE001 - the value may be of a class of the handler's own
        with suppress(Exception):
            sys.stderr.write(f"jobrunner: the return value was not kept: {text_of(error)}\n")
        return None


def text_of(error: BaseException) -> str:
    """The message of an exception, whatever its class does."""
    try:
        # Cut here: a message of many megabytes would make a frame that the parent takes for nonsense.
        return str(error)[:_MESSAGE_CHARACTERS]
    except BaseException:  # noqa: BLE001 - the handler's own __str__ may fail in any way
        return "(its message cannot be read)"


def stack() -> str:
    """The traceback of the exception that is being handled; its end, if it is long."""
    try:
        text = traceback.format_exc()
    except BaseException:  # noqa: BLE001 - as above: formatting runs the handler's code
        return "(the traceback cannot be formatted)"
    return text if len(text) <= _TRACEBACK_CHARACTERS else "…" + text[-_TRACEBACK_CHARACTERS:]
