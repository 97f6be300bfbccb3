"""Bounds what a handler has said before it is stored, whatever came through its child's channel.

The child keeps the same limits, and tells the handler; but the channel is within the handler's reach.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from jobrunner.errors import BadPayload
from jobrunner.jobs.payload import LARGEST_LIMIT_BYTES, check_payload
from jobrunner.lifecycle import AttemptResult
from jobrunner.text import one_line, storable

_BLOCK_CHARACTERS = 32_000
_PROGRESS_BYTES = 4096


def fit(ending: AttemptResult) -> AttemptResult:
    """As both databases can hold it: what a handler has said must never be what keeps its run from being finalized."""
    if ending.error_type is ending.error is ending.traceback is ending.output is ending.result is None:
        return ending
    return replace(
        ending,
        error_type=None if ending.error_type is None else one_line(ending.error_type, 200),
        error=None if ending.error is None else one_line(ending.error),
        traceback=_block(ending.traceback),
        output=_block(ending.output),
        result=_within({"result": ending.result}, LARGEST_LIMIT_BYTES).get("result"),
    )


def fit_report(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The same for what a run at work tells about itself: ``progress``, and the tail of its ``output``."""
    fitted: dict[str, Any] = {"output": _block(columns["output"])} if "output" in columns else {}
    if progress := _within(columns.get("progress"), _PROGRESS_BYTES):
        fitted["progress"] = progress
    return fitted


def _block(text: str | None) -> str | None:
    if text is None:
        return None
    # The end tells most.
    return storable(text if len(text) <= _BLOCK_CHARACTERS + 1 else "…" + text[-_BLOCK_CHARACTERS:])


def _within(value: object, limit_bytes: int) -> dict[str, Any]:
    try:
        return check_payload(value, limit_bytes)
    except (BadPayload, RecursionError):
        return {}
