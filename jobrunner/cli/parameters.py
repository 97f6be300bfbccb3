"""Checks what a user types: ids, times, payloads. A mistake is one line on stderr, before anything is opened."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jobrunner.durations import parse_duration
from jobrunner.errors import BadPayload, UsageError
from jobrunner.jobs.options import Number
from jobrunner.settings.files import read_file
from jobrunner.text import whole_number

_ID = re.compile(r"[1-9]\d{0,18}", re.ASCII)
_LARGEST_ID = 2**63 - 1
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:?\d{2})?", re.ASCII)


if TYPE_CHECKING:
    _TextType = click.ParamType[Any]
else:
    _TextType = click.ParamType  # generic only in the newest versions of click


class Checked(_TextType):
    """A value that one of our own checks accepts. Its error names the option, like an error of click."""

    name = "text"

    def __init__(self, check: Callable[[str], Any], bounds: tuple[int, int] | None = None) -> None:
        self._check = check
        self._bounds = bounds

    @property
    def bounds(self) -> tuple[int, int] | None:
        """The least and the most of a whole number. None: the value is of another kind."""
        if self._check is job_id:
            return 1, _LARGEST_ID
        if isinstance(self._check, partial) and self._check.func is whole_number:
            return self._check.keywords["least"], self._check.keywords["most"]
        number = getattr(self._check, "__self__", None)
        return (number.least, number.most) if isinstance(number, Number) else self._bounds

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Raises click's usage error with the text of the check."""
        if not isinstance(value, str):
            return value
        try:
            return self._check(value)
        except UsageError as error:
            self.fail(str(error), param, ctx)


def job_id(text: str) -> int:
    """The id of a run. Raises UsageError."""
    if not _ID.fullmatch(text) or int(text) > _LARGEST_ID:
        raise UsageError(f"{text[:40]!r} is not the id of a run; it is a positive whole number")
    return int(text)


def timeout_of_a_run(text: str) -> timedelta | str:
    """A duration, or "none". Raises UsageError."""
    return text if text == "none" else parse_duration(text)


def parse_run_at(text: str) -> datetime | timedelta:
    """An instant with its offset, or ``+5m`` from now. Raises UsageError."""
    return parse_duration(text[1:]) if text.startswith("+") else parse_instant(text, ", or +5m from now")


def instant_or_ago(text: str) -> datetime | timedelta:
    """An instant with its offset, or a duration back from now, such as 2h. Raises UsageError."""
    if "-" not in text:
        try:
            return parse_duration(text)
        except UsageError:
            pass
    return parse_instant(text, ", or 2h for two hours ago")


def instant_or_later(text: str) -> datetime | timedelta:
    """An instant with its offset, or a duration from now, such as 2h or +2h. Raises UsageError."""
    if "-" not in text:
        try:
            return parse_duration(text.removeprefix("+"))
        except UsageError:
            pass
    return parse_instant(text, ", or 2h from now")


def parse_instant(text: str, or_else: str = "") -> datetime:
    """An instant with its offset. ``or_else`` names what the user could write instead. Raises UsageError."""
    if not _ISO.fullmatch(text):
        raise UsageError(f"{text[:60]!r} is not a time; write 2026-01-31T09:00:00Z{or_else}")
    try:
        instant = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"{text!r} is not a time: {error}") from None
    if instant.tzinfo is None:
        raise UsageError(f"{text!r} has no offset; write {text}Z for UTC, or {text}+01:00")
    return instant


def read_payload(argument: str, limit_bytes: int, name: str = "--payload ") -> str:
    """The text of the payload: the JSON itself, ``@FILE``, or ``-`` for standard input. Reads up to the limit.

    Errors about the argument begin with ``name``.
    """
    if argument == "-":
        if sys.stdin is None:
            raise BadPayload(f"{name}-: standard input is closed")
        data = sys.stdin.buffer.read(limit_bytes + 1)
    elif argument == "@":
        raise BadPayload(f"{name}@ names no file; write @FILE, or - for standard input")
    elif argument.startswith("@"):
        data = _read_file(Path(argument[1:]), limit_bytes, name)
    else:
        return argument
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        if len(data) > limit_bytes:
            raise BadPayload(f"the payload is larger than {limit_bytes} bytes") from None
        raise BadPayload("the payload is not UTF-8") from None


def _read_file(path: Path, limit_bytes: int, name: str) -> bytes:
    try:
        return read_file(path, limit_bytes)
    except UsageError as error:
        # The path is cut, so that the reason after it is visible.
        raise BadPayload(f"{name}@{str(path)[:200]}: {error}") from None
