"""Writes sets of minutes, hours and days as the five fields of a schedule, and lengths of time. Pure.

Celery and APScheduler fire if the day of the month AND the day of the week match. Cron fires if one of them matches,
except if one of the two fields begins with a star.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from jobrunner.crontab.schedulers.records import NotExact

_UNITS = ((86400, "d"), (3600, "h"), (60, "m"))
MINUTES, HOURS, DAYS, MONTHS, WEEKDAYS = range(60), range(24), range(1, 32), range(1, 13), range(7)
"""The values of each field. A week begins with Sunday, which is 0."""


def expression(minutes: Collection[int], hours: Collection[int], months: Collection[int], days: tuple[str, str]) -> str:
    """The five fields; ``days`` are the fields of ``days_of_month_and_week``."""
    return " ".join((_field(minutes, MINUTES), _field(hours, HOURS), days[0], _field(months, MONTHS), days[1]))


def days_of_month_and_week(days: Collection[int], weekdays: Collection[int], is_last: bool = False) -> tuple[str, str]:
    """The two fields of days; with ``is_last`` the last day of each month, too.

    Raises NotExact if both are restricted, and cron would join them by OR.
    """
    last = ["L"] if is_last and len(days) < len(DAYS) else []
    day, weekday = ",".join([*([_field(days, DAYS)] if days else []), *last]), _field(weekdays, WEEKDAYS)
    if day.startswith("*") or weekday.startswith("*"):
        return day, weekday
    if not last and (starred := _starred(days, DAYS)):
        return starred, weekday
    if starred := _starred(weekdays, WEEKDAYS):
        return day, starred
    raise NotExact(
        f"it needs day of month {day} AND day of week {weekday}, but cron takes these two as OR; schedule one of them,"
        " and let the handler look at the other"
    )


def duration(seconds: float) -> str:
    """A length as a file has it. Raises NotExact for a length that is none."""
    if not seconds > 0:
        raise NotExact(f"{seconds} seconds are no length of time")
    unit, name = next(((unit, name) for unit, name in _UNITS if seconds % unit == 0), (1, "s"))
    return f"{seconds / unit:.3f}".rstrip("0").rstrip(".") + name


def _field(values: Collection[int], allowed: range) -> str:
    starred = _starred(values, allowed)
    # 0,30 is easier to read than */30.
    return starred if starred and len(values) > 2 else ",".join(_spans(sorted(values)))


def _starred(values: Collection[int], allowed: range) -> str:
    """The field with a star in front, if a step from the first value on gives all of the values; else ""."""
    for step in range(1, len(allowed)):
        if list(allowed[::step]) == sorted(values):
            return "*" if step == 1 else f"*/{step}"
    return ""


def _spans(wanted: Sequence[int]) -> list[str]:
    """``1-5``, ``10-50/20`` or single numbers."""
    spans, place = [], 0
    while place < len(wanted):
        end = place + 1
        step = wanted[end] - wanted[place] if end < len(wanted) else 0
        while end < len(wanted) and wanted[end] - wanted[end - 1] == step:
            end += 1
        if end - place < 3:
            spans.append(str(wanted[place]))
            place += 1
        else:
            spans.append(f"{wanted[place]}-{wanted[end - 1]}" + ("" if step == 1 else f"/{step}"))
            place = end
    return spans
