"""Describes a schedule in plain English.

cronsim writes the sentence. Where it would be unclear or wrong, the fields are simplified first: a step with few values
becomes a list, a field with every value becomes a star, and two day fields say whether one or both must match.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from datetime import timedelta

from jobrunner.schedules import cron_fields, intervals
from jobrunner.schedules.cron_fields import SOME_MIDNIGHT, Fields
from jobrunner.text import iso_instant

# A step with at most this many values becomes a list, so that the reader need not count.
_FEW = 7
_EVERY_DAY = range(1, 32)
# cronsim writes 21th.
_ODD_ORDINAL = re.compile(r"(?<=[2-5])(1th|2th|3th)\b")
_ORDINALS = {"1th": "1st", "2th": "2nd", "3th": "3rd"}
_UNITS = (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1))


def describe(expression: str) -> str:
    """One sentence without a full stop. Raises BadSchedule for what is no schedule."""
    if intervals.is_interval(expression):
        interval = intervals.read(expression)
        return f"Every {_length(interval.length)} of real time, counted from {iso_instant(interval.anchor)}"
    return _sentence(cron_fields.read(expression))


def _sentence(fields: Fields) -> str:
    from cronsim import CronSim

    named = CronSim(fields.text, SOME_MIDNIGHT)
    minute = _plain(fields.minute, named.minutes, range(60))
    hour = _plain(fields.hour, named.hours, range(24))
    month = _spans(named.months) if len(named.months) < 12 else "*"
    day = _plain(fields.day, named.days, _EVERY_DAY)
    weekday = _weekdays(fields.weekday, {each % 7 for each in named.weekdays if isinstance(each, int)})
    both_must_match = fields.day.startswith("*") or fields.weekday.startswith("*")
    if not both_must_match and "*" in (day, weekday):
        # One match is enough, and 1-31 or 0-6 matches every day although it does not begin with a star.
        day = weekday = "*"
    text = CronSim(f"{minute} {hour} {day} {month} {weekday}", SOME_MIDNIGHT).explain()
    # cronsim joins the two day fields by "and", also if one match is enough. Only there does it write " and on ".
    text = text.replace(" and on ", ", but only on " if both_must_match else " or on ", 1)
    return _ODD_ORDINAL.sub(lambda match: _ORDINALS[match[1]], text)


def _plain(text: str, named: Collection[int], whole: range) -> str:
    """A simpler field with the same values. In ``named``, `L` and `LW` are negative."""
    numbers = sorted(number for number in named if number >= 0)
    if len(numbers) == len(whole):
        return "*"
    if len(numbers) == len(named) and (len(numbers) == 1 or ("/" in text and len(numbers) <= _FEW)):
        return ",".join(map(str, numbers))
    # The sentence already says whether both days must match. Without the star, cronsim does not repeat it.
    return text.replace("*", f"{whole[0]}-{whole[-1]}") if whole == _EVERY_DAY else text


def _weekdays(text: str, numbers: Collection[int]) -> str:
    if len(numbers) == 7:
        return "*"
    ours = [item for item in text.split(",") if "#" in item or item[-1:] in "lL"]
    # The week begins on Monday, so that fri-sun is one range.
    return ",".join([*filter(None, [_spans([number or 7 for number in numbers])]), *ours])


def _spans(numbers: Collection[int]) -> str:
    """A list of numbers; three or more in a row become a range."""
    return ",".join(
        f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in _runs(sorted(numbers))
    )


def _runs(numbers: list[int]) -> Iterator[list[int]]:
    while numbers:
        length = next((n for n, each in enumerate(numbers) if each != numbers[0] + n), len(numbers))
        yield numbers[:length]
        numbers = numbers[length:]


def _length(length: timedelta) -> str:
    rest = int(length.total_seconds())
    if rest == _UNITS[0][1]:
        # In a zone with daylight saving, a day can be longer or shorter.
        return "24 hours"
    parts = []
    for name, seconds in _UNITS:
        amount, rest = divmod(rest, seconds)
        if amount:
            parts.append(f"{amount} {name}{'s' if amount > 1 else ''}")
    return parts[0].removeprefix("1 ") if len(parts) == 1 else " and ".join(parts)
