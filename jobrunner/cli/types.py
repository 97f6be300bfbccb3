"""What a user types: ids, times, payloads. A mistake is told in one line, before anything is opened."""

from __future__ import annotations

import re
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jobrunner.durations import parse_duration
from jobrunner.errors import BadPayload, UsageError

_ID = re.compile(r"[1-9]\d{0,18}", re.ASCII)
_LARGEST_ID = 2**63 - 1
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:?\d{2})?", re.ASCII)


if TYPE_CHECKING:
    _IdType = click.ParamType[int]
else:
    _IdType = click.ParamType  # generic only in the newest versions of click


class JobId(_IdType):
    """The id of a run: a positive whole number."""

    name = "job_id"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Raises click's usage error for anything else."""
        text = str(value)
        if not _ID.fullmatch(text) or int(text) > _LARGEST_ID:
            self.fail(f"{text[:40]!r} is not the id of a run; it is a positive whole number", param, ctx)
        return int(text)


def parse_run_at(text: str | None) -> datetime | timedelta | None:
    """An instant with its offset, or ``+5m`` from now. None: now. Raises UsageError."""
    if text is None:
        return None
    if text.startswith("+"):
        return parse_duration(text[1:])
    if not _ISO.fullmatch(text):
        raise UsageError(f"--run-at {text[:60]!r} is not a time; write 2026-01-31T09:00:00Z, or +5m from now")
    try:
        instant = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"--run-at {text!r} is not a time: {error}") from None
    if instant.tzinfo is None:
        raise UsageError(f"--run-at {text!r} has no offset; write {text}Z for UTC, or {text}+01:00")
    return instant


def read_payload(argument: str, limit_bytes: int) -> str:
    """The payload's text: JSON itself, ``@FILE``, or ``-`` for standard input. Reads no more than the limit."""
    if argument == "-":
        data = sys.stdin.buffer.read(limit_bytes + 1)
    elif argument.startswith("@"):
        data = _read_file(Path(argument[1:]), limit_bytes)
    else:
        return argument
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        if len(data) > limit_bytes:
            raise BadPayload(f"the payload is larger than {limit_bytes} bytes") from None
        raise BadPayload("the payload is not UTF-8") from None


def _read_file(path: Path, limit_bytes: int) -> bytes:
    try:
        # A FIFO would hang until somebody writes.
        if path.exists() and not path.is_file():
            raise BadPayload(f"--payload @{path}: that is not a regular file")
        with path.open("rb") as file:
            return file.read(limit_bytes + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise BadPayload(f"--payload @{path}: {reason}") from None
