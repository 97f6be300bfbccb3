"""Limits what a handler has reported before it is stored.

The child applies the same limits and tells the handler. But a handler can write to its child's channel itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobrunner.errors import BadPayload
from jobrunner.jobs.payload import check_payload
from jobrunner.jobs.payload_limits import CHECKPOINT_BYTES, LARGEST_LIMIT_BYTES
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.text import one_line, storable

_BLOCK_CHARACTERS = 32_000
_PROGRESS_BYTES = 4096
_CLASS_CHARACTERS = 300


def fit(result: AttemptResult) -> AttemptResult:
    """The result in a form that both databases can store, so that no report of a handler can prevent its finalize."""
    if result.error_type is result.error is result.traceback is result.output is result.result is None:
        return result
    return result._replace(
        error_type=None if result.error_type is None else one_line(result.error_type, 200),
        error=None if result.error is None else one_line(result.error),
        error_class=_class_path(result.error_class),
        traceback=_block(result.traceback),
        output=_block(result.output),
        result=_within({"result": result.result}, LARGEST_LIMIT_BYTES).get("result"),
    )


def fit_after_commit(result: AttemptResult) -> str | None:
    """The output of an attempt whose handler's own transaction has ended it, and the error after that."""
    if result.outcome is Outcome.SUCCEEDED:
        return _block(result.output)
    error = ": ".join(part for part in (result.error_type, result.error) if part)
    parts = (result.output, f"after its own transaction: {error or result.outcome}", result.traceback)
    return _block("\n".join(part.rstrip("\n") for part in parts if part))


def fit_report(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The same for the report of a run at work: ``progress``, and the tail of its ``output``."""
    fitted: dict[str, Any] = {"output": _block(columns["output"])} if "output" in columns else {}
    if progress := _within(columns.get("progress"), _PROGRESS_BYTES):
        fitted["progress"] = progress
    return fitted


def fit_checkpoint(checkpoint: object) -> dict[str, Any] | None:
    """The same for what a run keeps for its next attempt. None: it cannot be stored."""
    return _within(checkpoint, CHECKPOINT_BYTES) or None


def _class_path(path: str | None) -> str | None:
    # A part of a path would name another class.
    return None if path is None or len(path) > _CLASS_CHARACTERS else storable(path)


def _block(text: str | None) -> str | None:
    if text is None:
        return None
    # Keep the end, which is the most useful part.
    return storable(text if len(text) <= _BLOCK_CHARACTERS + 1 else "…" + text[-_BLOCK_CHARACTERS:])


def _within(value: object, limit_bytes: int) -> dict[str, Any]:
    try:
        return check_payload(value, limit_bytes)
    except (BadPayload, RecursionError):
        return {}
