"""Durations in the form that people write: ``3s``, ``2m``, ``1h30m``, ``500ms`` or plain seconds."""

from __future__ import annotations

import re
from datetime import timedelta

from jobrunner.errors import UsageError
from jobrunner.text import shown
from jobrunner.untyped import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypeAlias

_UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
# Each is compiled when it is used first: an idle tick needs none of them.
_PART = r"(?a)(\d+(?:\.\d+)?)(ms|[smhdw])"
_WHOLE = r"(?a)(?:\d+(?:\.\d+)?(?:ms|[smhdw]))+"
_PLAIN = r"(?a)\d+(?:\.\d+)?"
_LONGEST = timedelta(days=3660)
_TOO_LONG = _LONGEST.total_seconds() + 1
_INFINITE = float("inf")

Duration: TypeAlias = timedelta | str | int | float
"""What the public functions accept: a timedelta, a text such as ``"90s"``, or a number of seconds (also as a text)."""


def parse_duration(value: Duration) -> timedelta:
    """Turn text, a number of seconds or a timedelta into a timedelta of zero or more.

    Raises UsageError for anything else, for negative values and for more than ten years.
    """
    if isinstance(value, timedelta):
        duration = value
    elif isinstance(value, str):
        duration = timedelta(seconds=_seconds(value))
    elif isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _INFINITE:
        duration = timedelta(seconds=min(value, _TOO_LONG))
    else:
        raise _no_duration(value)
    if not timedelta(0) <= duration <= _LONGEST:
        raise UsageError(f"the duration {_shown(value)} is out of range; it must lie between 0 and ten years")
    return duration


def _shown(value: object) -> str:
    return str(value) if isinstance(value, timedelta) else shown(value)


def _no_duration(value: object) -> UsageError:
    return UsageError(f"{shown(value)} is not a duration; write it as 30s, 5m or 1h30m, or as a number of seconds")


def _seconds(value: str) -> float:
    text = value.strip()
    if len(text) > 40:
        raise UsageError("a duration must have at most 40 characters; write it as 30s, 5m or 1h30m")
    unit = "ms" if text.endswith("ms") else text[-1:]
    amount = text.removesuffix(unit)
    if unit in _UNIT_SECONDS and amount.isascii() and amount.isdigit():
        seconds = float(amount) * _UNIT_SECONDS[unit]
    elif re.fullmatch(_PLAIN, text):
        seconds = float(text)
    elif re.fullmatch(_WHOLE, text):
        seconds = sum(float(part) * _UNIT_SECONDS[unit] for part, unit in re.findall(_PART, text))
    else:
        raise _no_duration(text)
    # The limit keeps timedelta from overflowing. The caller's range check then gives a better error.
    return min(seconds, _TOO_LONG)


def format_duration(duration: timedelta) -> str:
    """A text for people with the two largest units, such as ``1h30m``, ``45s``, ``2d3h`` or ``250ms``."""
    seconds = duration.total_seconds()
    if seconds < 0:
        return "-" + format_duration(-duration)
    milliseconds = round(seconds * 1000)
    if milliseconds < 1000:
        return f"{milliseconds}ms" if seconds else "0s"
    rest = round(seconds)
    parts = []
    for unit in ("d", "h", "m", "s"):
        amount, rest = divmod(rest, int(_UNIT_SECONDS[unit]))
        if amount:
            parts.append(f"{amount}{unit}")
    return "".join(parts[:2])
