"""Checks every frame from a child once, on arrival, so that all other code works with typed values.

A handler can write any frame into the channel of its child. An invalid frame, or an invalid part of one, is dropped.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeAlias

from jobrunner.children.frames import Frame
from jobrunner.children.messages import (
    NOT_BEGUN,
    CancelReceived,
    Checkpoint,
    ImportFailed,
    Importing,
    Output,
    Progress,
    Report,
)
from jobrunner.children.output import TAIL_BYTES
from jobrunner.errors import BadPayload, JobrunnerError
from jobrunner.jobs import policy
from jobrunner.jobs.payload import check_payload
from jobrunner.jobs.payload_limits import CHECKPOINT_BYTES
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
    """The checked handshake of a child. The fields are those of ``messages.Ready``."""

    policies: list[Policy]
    schedules: list[dict[str, Any]]
    misfits: list[str | None]


OfRun: TypeAlias = Progress | Checkpoint | Output | CancelReceived | Report
OfChild: TypeAlias = Importing | ImportFailed | Handshake


def of_child(frame: Frame) -> OfChild | None:
    """The message of a child that starts. None means that the frame is invalid."""
    kind = frame.get("kind")
    if kind == "importing":
        module = _text(frame.get("module"), _MODULE_CHARACTERS)
        return None if module is None else Importing(module)
    if kind == "import_failed":
        error = _text(frame.get("error"), _MESSAGE_CHARACTERS) or "it gave no reason"
        return ImportFailed(error, _text(frame.get("traceback"), _TRACEBACK_CHARACTERS))
    if kind == "ready":
        return _handshake(frame)
    return None


def of_run(frame: Frame, result_limit: int) -> OfRun | None:
    """The message of a child about a run. None means that the frame is invalid.

    ``result_limit`` is how many bytes a result may have. The caller checks whether the child works on that run.
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
    if kind == "checkpoint":
        return _checkpoint(run_id, frame)
    if kind == "output":
        text = frame.get("text")
        # Only the tail of an output is kept.
        return Output(run_id, text[-TAIL_BYTES:]) if isinstance(text, str) else None
    return CancelReceived(run_id) if kind == "cancel_received" else None


def _checkpoint(run_id: int, frame: Frame) -> Checkpoint | None:
    try:
        kept = check_payload(frame.get("checkpoint"), CHECKPOINT_BYTES)
    except (BadPayload, RecursionError):
        return None
    return Checkpoint(run_id, kept) if kept.keys() == {"value", "steps"} and type(kept["steps"]) is dict else None


def _handshake(frame: Frame) -> Handshake | ImportFailed:
    try:
        # A former name is one more type, with the handler and the policy of the name of today.
        policies = [name for each in policy.all_from_data(frame["policies"]) for name in each.of_each_name()]
        schedules = [dict(data) for data in frame.get("schedules", ())]
        misfits = [None if each is None else str(each) for each in frame.get("misfits", ())]
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError, JobrunnerError):
        return ImportFailed("its handshake is invalid")
    return Handshake(policies, schedules, misfits)


def _report(run_id: int, frame: Frame, result_limit: int) -> Report:
    outcome = frame.get("outcome")
    ended_at = _number(frame.get("ended_at"))
    peak, processor = _cost(frame)
    was_asked_to_stop, is_last = frame.get("was_asked_to_stop") is True, frame.get("is_last") is True
    if outcome == "succeeded":
        result = _result(frame.get("result"), result_limit)
        # By position, because this is done for every run.
        more = (None, None, None, None, result, was_asked_to_stop, is_last, None, peak, processor)
        return Report(run_id, outcome, ended_at, *more)
    if not isinstance(outcome, str) or outcome not in OUTCOMES:
        return Report(run_id, "failed", ended_at, error_type="bad_report", error="the report of its child is invalid")
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
        was_asked_to_stop=was_asked_to_stop,
        is_last=is_last,
        error_class=_text(frame.get("error_class"), _MESSAGE_CHARACTERS),
        peak_memory_bytes=peak,
        processor_seconds=processor,
    )


def _cost(frame: Frame) -> tuple[int | None, float | None]:
    peak, processor = frame.get("peak_memory_bytes"), _number(frame.get("processor_seconds"))
    is_peak = type(peak) is int and 0 < peak <= _LARGEST_ID
    is_time = processor is not None and 0 <= processor <= _LONGEST_WAIT_SECONDS
    return peak if is_peak else None, processor if is_time else None


def _result(value: object, limit_bytes: int) -> object:
    if value is None:
        return None
    # The child has checked it, but a handler may have forged the frame.
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
