"""What a child may say, checked once, where it comes in: everything after it works with typed values.

A handler can write any frame into the channel of its child. What makes no sense is dropped, or that part of it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeAlias

from jobrunner.backoff import Backoff
from jobrunner.children.frames import Frame
from jobrunner.children.messages import NOT_BEGUN, Heard, ImportFailed, Importing, Output, Progress, Report
from jobrunner.children.output import TAIL_BYTES
from jobrunner.errors import BadPayload, JobrunnerError
from jobrunner.jobs.payload import check_payload
from jobrunner.jobs.policy import make_policy
from jobrunner.model import Policy

OUTCOMES = frozenset({"succeeded", "failed", "discarded", "snoozed", "stopped", "incompatible", NOT_BEGUN})
PROGRESS_BYTES = 4096
_LONGEST_WAIT_SECONDS = 10 * 365 * 86400
_LARGEST_ID = 2**63 - 1
_TYPE_CHARACTERS = 200
_MESSAGE_CHARACTERS = 10_000
_TRACEBACK_CHARACTERS = 33_000
_MODULE_CHARACTERS = 1_000


class Handshake(NamedTuple):
    """What a child has said that is ready, checked. The fields are those of ``messages.Ready``."""

    policies: list[Policy]
    schedules: list[dict[str, Any]]
    misfits: list[str | None]


OfRun: TypeAlias = Progress | Output | Heard | Report
OfChild: TypeAlias = Importing | ImportFailed | Handshake


def of_child(frame: Frame) -> OfChild | None:
    """What a child says while it starts; None: nothing to go by."""
    kind = frame.get("kind")
    if kind == "importing":
        module = _text(frame.get("module"), _MODULE_CHARACTERS)
        return None if module is None else Importing(module)
    if kind == "import_failed":
        return ImportFailed(_text(frame.get("error"), _MESSAGE_CHARACTERS) or "it did not say why")
    if kind == "ready":
        return _handshake(frame)
    return None


def of_run(frame: Frame, result_limit: int) -> OfRun | None:
    """What a child says of a run; None: nothing to go by. ``result_limit`` is how many bytes a result may have.

    Whether the run is that child's is for the caller to look up: here no runs are known.
    """
    run_id = frame.get("run_id")
    if type(run_id) is not int or not 0 < run_id <= _LARGEST_ID:
        return None
    kind = frame.get("kind")
    if kind == "report":
        return _report(run_id, frame, result_limit)
    if kind == "progress":
        try:
            return Progress(run_id, check_payload(frame.get("progress"), PROGRESS_BYTES))
        except (BadPayload, RecursionError):
            return None
    if kind == "output":
        text = frame.get("text")
        # More than its tail nobody keeps.
        return Output(run_id, text[-TAIL_BYTES:]) if isinstance(text, str) else None
    return Heard(run_id) if kind == "heard" else None


def _handshake(frame: Frame) -> Handshake | ImportFailed:
    try:
        policies = [_policy(data) for data in frame["policies"]]
        schedules = [dict(data) for data in frame.get("schedules", ())]
        misfits = [None if each is None else str(each) for each in frame.get("misfits", ())]
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, JobrunnerError):
        return ImportFailed("its handshake makes no sense")
    return Handshake(policies, schedules, misfits)


def _policy(data: dict[str, Any]) -> Policy:
    told = Policy.from_data(data)
    if not isinstance(told.job_type, str) or type(told.is_async) is not bool:
        raise ValueError(told)
    # By the rules that it came from: its handler's decorator has gone by them, too.
    return make_policy(
        told.job_type,
        max_attempts=told.max_attempts,
        timeout="none" if told.timeout is None else told.timeout,
        backoff=_backoff(told.backoff),
        kill_after=told.kill_after,
        concurrency=told.concurrency,
        is_async=told.is_async,
        max_waiting=told.max_waiting,
        when_full=told.when_full,
        on_stop=told.on_stop,
    )


def _backoff(told: Backoff) -> Backoff:
    numbers = [_number(each) for each in (*told.seconds, told.exponent, told.cap_seconds, told.jitter)]
    if told.shape not in ("fixed", "exponential", "waits", "polynomial") or not told.seconds:
        raise ValueError(told)
    if any(number is None or not 0 <= number <= _LONGEST_WAIT_SECONDS for number in numbers):
        raise ValueError(told)
    if told.jitter > 1 or told.exponent > 1000:
        raise ValueError(told)
    return told


def _report(run_id: int, frame: Frame, result_limit: int) -> Report:
    outcome = frame.get("outcome")
    ended_at = _number(frame.get("ended_at"))
    was_told, is_last = frame.get("was_told") is True, frame.get("is_last") is True
    if outcome == "succeeded":
        result = _result(frame.get("result"), result_limit)
        return Report(run_id, outcome, ended_at, result=result, was_told=was_told, is_last=is_last)
    if not isinstance(outcome, str) or outcome not in OUTCOMES:
        return Report(run_id, "failed", ended_at, error_type="bad_report", error="its child's report makes no sense")
    wait_seconds = _number(frame.get("wait_seconds"))
    if wait_seconds is not None and not 0 <= wait_seconds <= _LONGEST_WAIT_SECONDS:
        wait_seconds = None
    return Report(
        run_id,
        outcome,
        ended_at,
        wait_seconds,
        _text(frame.get("error_type"), _TYPE_CHARACTERS),
        _text(frame.get("error"), _MESSAGE_CHARACTERS),
        _text(frame.get("traceback"), _TRACEBACK_CHARACTERS),
        was_told=was_told,
        is_last=is_last,
    )


def _result(value: object, limit_bytes: int) -> object:
    if value is None:
        return None
    # The child has checked it; but what comes through the channel is a handler's to forge.
    try:
        return check_payload({"result": value}, limit_bytes)["result"]
    except (BadPayload, RecursionError):
        return None


def _text(value: object, most: int) -> str | None:
    return value[:most] if isinstance(value, str) else None


def _number(value: object) -> float | None:
    if type(value) is int:
        try:
            return float(value)
        except OverflowError:
            return None
    return value if type(value) is float and math.isfinite(value) else None
