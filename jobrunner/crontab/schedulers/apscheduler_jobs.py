"""Converts a job of APScheduler 3. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from jobrunner.crontab.schedulers import fields
from jobrunner.crontab.schedulers.records import NotExact, When

_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ITEM = re.compile(r"(?:\*|(?P<first>\w+)(?:-(?P<last>\w+))?)(?:/(?P<step>\d+))?", re.ASCII)
_NTH = re.compile(r"(1st|2nd|3rd|4th|5th|last) (\w+)")
_GRACE_OF_TICKS_SECONDS = 120


def when(job: Mapping[str, Any], timezone: str | None) -> When:
    """When the job fires. ``timezone`` is the one of the command line. Raises NotExact."""
    options, notes = _of_job(job)
    if job["kind"] not in ("cron", "interval"):
        raise NotExact(
            f"its trigger is {job['kind']}; only cron and interval can be imported"
            + ("; enqueue it once: jobrunner enqueue TYPE --run-at TIME" if job["kind"] == "date" else "")
        )
    if job["end"] is not None:
        options["ends_at"] = job["end"]
    if job["jitter"]:
        options["jitter"] = fields.duration(job["jitter"])
        notes.append("the delay by its jitter is always the same one, from the name of the schedule")
    if job["kind"] == "interval":
        start = job["start"]
        if start is None:
            notes.insert(0, "counted from 1970-01-01T00:00Z and not from the start of the scheduler")
        text = f"every {fields.duration(job['seconds'])}" + ("" if start is None else f" from {start}")
        return When(text, "UTC", options, tuple(notes))
    if job["starts_later"]:
        raise NotExact("its start_date has not come yet; import it then")
    return When(_expression(job["fields"]), timezone or job["timezone"], options, tuple(notes))


def _of_job(job: Mapping[str, Any]) -> tuple[dict[str, str], list[str]]:
    """The options that its misfire_grace_time, coalesce and max_instances mean."""
    if job["max_instances"] != 1:
        raise NotExact(
            f'max_instances is {job["max_instances"]}: write the schedule by hand, with overlap = "allow", and give'
            f" the job type max_running = {job['max_instances']}"
        )
    grace, is_one = job["misfire_grace_time"], job["coalesce"]
    if grace is None:
        return ({} if is_one else {"misfire": "all"}), []
    if grace > _GRACE_OF_TICKS_SECONDS:
        return {"misfire_window": fields.duration(grace)} | ({} if is_one else {"misfire": "all"}), []
    # Ticks come once a minute: none of them is so early.
    return {"misfire": "skip"}, [f"misfire_grace_time {grace}s became misfire = skip: up to two minutes are in time"]


def _expression(given: Mapping[str, str]) -> str:
    for name, plain in (("year", "*"), ("week", "*"), ("second", "0")):
        if given[name] != plain:
            raise NotExact(f"its {name} is {given[name]}, and a schedule has five fields, without {name}")
    return fields.expression(
        _values(given["minute"], fields.MINUTES),
        _values(given["hour"], fields.HOURS),
        _values(given["month"], fields.MONTHS, _MONTHS),
        _days(given["day"], given["day_of_week"]),
    )


def _days(day: str, weekday: str) -> tuple[str, str]:
    parts = day.split(",")
    if any(map(_NTH.fullmatch, parts)):
        if weekday != "*" or not all(map(_NTH.fullmatch, parts)):
            raise NotExact(f"its day is {day}, and cron takes a day of week beside another day as OR")
        return "*", ",".join(map(_nth, parts))
    numbers = [part for part in parts if part != "last"]
    days = _values(",".join(numbers), fields.DAYS) if numbers else set()
    # The week of APScheduler begins with Monday, which is 0; that of cron with Sunday.
    weekdays = {(value + 1) % 7 for value in _values(weekday, range(7), _WEEKDAYS)}
    return fields.days_of_month_and_week(days, weekdays, "last" in parts)


def _nth(part: str) -> str:
    found = _NTH.fullmatch(part)
    assert found is not None
    number = (_WEEKDAYS.index(found[2]) + 1) % 7
    return f"{number}L" if found[1] == "last" else f"{number}#{found[1][0]}"


def _values(text: str, allowed: range, names: tuple[str, ...] = ()) -> set[int]:
    """The values of a field as APScheduler prints it."""
    found: set[int] = set()
    for item in text.split(","):
        match = _ITEM.fullmatch(item)
        if match is None:
            raise NotExact(f"{item!r} is not understood")
        step = int(match["step"] or 1)
        first = allowed[0] if match["first"] is None else _number(match["first"], allowed, names)
        if match["last"] is not None:
            last = _number(match["last"], allowed, names)
        else:
            last = allowed[-1] if match["first"] is None or match["step"] else first
        found.update(range(first, last + 1, step))
    return found


def _number(word: str, allowed: range, names: tuple[str, ...]) -> int:
    return names.index(word) + allowed[0] if word in names else int(word)
