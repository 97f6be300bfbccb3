"""Reads the five fields of a schedule. It refuses what cron would silently misread, and says what to write instead.

The grammar is Debian's, plus extensions for days: `L` and `LW` in day-of-month, `5L` and `mon#2` in day-of-week.
docs/adr/0007-debian-cron-instants.md gives the reason for each refusal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from jobrunner.errors import BadSchedule

_MAX_LENGTH = 1000

# A fixed start for searches, so that no result depends on today's date.
SOME_MIDNIGHT = datetime.fromisoformat("2000-01-01")

ALIASES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}

# Spelled out: the names in Python's calendar module depend on the locale.
_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = {name: n for n, name in enumerate(_MONTH_NAMES, 1)}
_WEEKDAYS = {name: n for n, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}

_ITEM = re.compile(r"(?:\*|(?P<first>\w+)(?:-(?P<last>\w+))?)(?:/(?P<step>\d+))?", re.ASCII)
_DIGITS = re.compile(r"[0-9]+")
_WEEKDAY_EXTENSIONS = re.compile(rf"[0-7]L|([0-7]|{'|'.join(_WEEKDAYS)})#[1-5]", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class _Kind:
    """What one of the five fields may hold."""

    title: str
    low: int
    high: int
    wraps_at: int  # the last value before the field wraps: 6 for weekdays, where 7 means 0
    names: dict[str, int]
    extensions: re.Pattern[str] | None = None


_KINDS = (
    _Kind("minute", 0, 59, 59, {}),
    _Kind("hour", 0, 23, 23, {}),
    _Kind("day-of-month", 1, 31, 31, {}, re.compile(r"LW?", re.IGNORECASE | re.ASCII)),
    _Kind("month", 1, 12, 12, _MONTHS),
    _Kind("day-of-week", 0, 7, 6, _WEEKDAYS, _WEEKDAY_EXTENSIONS),
)
_ORDER = " ".join(kind.title for kind in _KINDS)


@dataclass(frozen=True, slots=True)
class Fields:
    """Five well-formed fields; an alias is already replaced by its fields."""

    minute: str
    hour: str
    day: str
    month: str
    weekday: str

    @property
    def text(self) -> str:
        return f"{self.minute} {self.hour} {self.day} {self.month} {self.weekday}"

    @property
    def days_only(self) -> str:
        """The same days, at midnight. The days depend on the last three fields only."""
        return f"0 0 {self.day} {self.month} {self.weekday}"

    @property
    def fixed_time(self) -> bool:
        """Whether the job has a time of day, which daylight saving may move; the others follow real time."""
        return not (self.minute.startswith("*") or self.hour.startswith("*"))


def read(expression: str) -> Fields:
    """The fields of `expression`. Raises BadSchedule, in one line, when it is not a schedule."""
    # Checked before the cache, which cannot hash a list or a dict.
    if not isinstance(expression, str):
        raise refusal(expression, f"it must be text, not {type(expression).__name__}")
    return _read(expression)


@lru_cache(maxsize=1024)
def _read(expression: str) -> Fields:
    parts = _split(expression)
    for kind, part in zip(_KINDS, parts, strict=True):
        for item in part.split(","):
            complaint = _complaint(kind, item)
            if complaint:
                raise refusal(expression, f"the {kind.title} field {quoted(part)}: {complaint}")
    fields = Fields(*map(_without_idle_steps, _KINDS, parts))
    _must_fire(expression, fields)
    return fields


def _without_idle_steps(kind: _Kind, part: str) -> str:
    """The same field with `5-5/2` written as `5`: cronsim would read that as `5-59/2`."""
    items = part.split(",")
    for place, item in enumerate(items):
        match = _ITEM.fullmatch(item)
        if match and match["last"] and _number(kind, match["first"]) == _number(kind, match["last"]):
            items[place] = match["first"]
    return ",".join(items)


def extension_in(expression: str) -> str | None:
    """The first item that cron does not know, such as ``6#1`` or ``L``; None if there is none."""
    fields = read(expression)
    for kind, part in zip(_KINDS, (fields.minute, fields.hour, fields.day, fields.month, fields.weekday), strict=True):
        if kind.extensions and (found := next(filter(kind.extensions.fullmatch, part.split(",")), None)):
            return found
    return None


def quoted(text: object) -> str:
    """`text` for one line of an error message: control characters are escaped, long text is cut."""
    shown = ascii(text)
    return shown if len(shown) <= 80 else f"{shown[:76]}..."


def refusal(expression: object, reason: str) -> BadSchedule:
    """The error of a schedule, for the caller to raise."""
    return BadSchedule(f"bad schedule {quoted(expression)}: {reason}")


def _split(expression: str) -> list[str]:
    must_be_plain(expression)
    parts = expression.split()
    if not parts:
        raise refusal(expression, "it is empty; write five fields such as '0 2 * * *', '@daily' or 'every 10m'")
    if parts[0].startswith("@"):
        return _alias(expression, parts)
    if "=" in parts[0]:
        raise refusal(expression, "a schedule has no variables; write the zone into timezone")
    if len(parts) != 5:
        raise refusal(
            expression,
            f"it needs 5 fields ({_ORDER}) and has {len(parts)};"
            " seconds, years and a command are not part of a schedule",
        )
    return parts


def must_be_plain(expression: str) -> None:
    """Raise BadSchedule unless the text is one line of plain ASCII characters."""
    if len(expression) > _MAX_LENGTH:
        raise refusal(expression, f"it has {len(expression)} characters; at most {_MAX_LENGTH} are allowed")
    for character in expression:
        if character in "\r\n":
            raise refusal(expression, "it must be one line; remove the line break")
        if not (character == "\t" or " " <= character <= "~"):
            raise refusal(expression, f"only plain ASCII characters are allowed; replace {quoted(character)}")


def _alias(expression: str, parts: list[str]) -> list[str]:
    name = parts[0].lower()
    if name == "@reboot":
        raise refusal(
            expression,
            "@reboot is not a time, and a tick cannot notice a restart;"
            " put '@reboot jobrunner enqueue TYPE' into the crontab itself",
        )
    if name == "@every":
        length = quoted(f"every {' '.join(parts[1:2]) or '10m'}")
        raise refusal(expression, f"an interval has no @; write {length}")
    if name not in ALIASES:
        raise refusal(expression, f"{quoted(parts[0])} is unknown; write 5 fields or {', '.join(ALIASES)}")
    if len(parts) > 1:
        raise refusal(expression, f"nothing may follow {name}; remove the rest")
    return ALIASES[name].split()


def _complaint(kind: _Kind, item: str) -> str | None:
    """Why `item` is refused, and what to write instead; None if it is correct."""
    if not item:
        return "a list has an empty item; remove the extra comma"
    if kind.extensions and kind.extensions.fullmatch(item):
        return None
    match = _ITEM.fullmatch(item)
    if match is None:
        return f"{quoted(item)} is not understood; {_forms(kind)}"
    first, last, step = match["first"], match["last"], match["step"]
    for value in (first, last):
        if value is not None and (wrong := _wrong_value(kind, value)):
            return wrong
    if last is not None and _number(kind, first) > _number(kind, last):
        return f"the range {quoted(item)} runs backwards; write {_wrapped(kind, first, last)}"
    if step is not None:
        return _wrong_step(kind, first, last, step)
    return None


def _wrong_value(kind: _Kind, value: str) -> str | None:
    if _DIGITS.fullmatch(value):
        if kind.low <= int(value) <= kind.high:
            return None
        return f"{value[:20]} is out of range; write {kind.low} to {kind.high}"
    if value.lower() in kind.names:
        return None
    return f"{quoted(value)} is not understood; {_forms(kind)}"


def _wrong_step(kind: _Kind, first: str | None, last: str | None, step: str) -> str | None:
    most = kind.wraps_at - kind.low + 1
    if int(step) == 0:
        return "a step cannot be 0; write a step of 1 or more"
    if first is not None and last is None:
        # Debian refuses 5/15, others read it as 5 and drop the rest, others again as 5-59/15.
        return f"a step needs a range; write {first}-{kind.wraps_at}/{step[:9]}"
    if int(step) > most:
        # */90 reads like "every 90 minutes" and would be minute 0 of every hour.
        return f"a step of {step[:9]} is longer than the field; write at most {most}"
    return None


def _number(kind: _Kind, value: str) -> int:
    return int(value) if _DIGITS.fullmatch(value) else kind.names[value.lower()]


def _wrapped(kind: _Kind, first: str, last: str) -> str:
    """The list that means what a backward range such as 22-2 was meant to say."""
    start, end = _number(kind, first), _number(kind, last)
    if kind.wraps_at == 6 and end == 0:
        return f"{start}-7"
    spans = ((start, kind.wraps_at), (kind.low, end))
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)


def _forms(kind: _Kind) -> str:
    low, high = kind.low, kind.high
    names = f" or names such as {next(iter(kind.names))}" if kind.names else ""
    extensions = {"day-of-month": ", L or LW", "day-of-week": ", mon#2 or 5L"}.get(kind.title, "")
    return f"write numbers {low} to {high}{names}, a list 1,3, a range 1-5, a step */2 or 1-5/2{extensions}"


def _must_fire(expression: str, fields: Fields) -> None:
    from cronsim import CronSim, CronSimError

    # Every weekday meets 29 February within 28 years of the start, and cronsim looks 50 years ahead.
    try:
        next(CronSim(fields.text, SOME_MIDNIGHT))
    except (CronSimError, StopIteration):
        raise refusal(
            expression,
            f"it can never fire: no day has day-of-month {quoted(fields.day)}, month {quoted(fields.month)}"
            f" and day-of-week {quoted(fields.weekday)}; write a day that exists",
        ) from None
