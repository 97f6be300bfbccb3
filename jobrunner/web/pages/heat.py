"""The heat map of a schedule: a week of its slots by the hour, with the worst that became of the slots of each hour.

It is in the zone of the schedule, so that a slot at half past six stands in the same column also after a clock change.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from urllib.parse import urlencode

from jobrunner.errors import UsageError
from jobrunner.schedules import timezones
from jobrunner.schedules.recurrence import Recurrence
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions import calendar
from jobrunner.store.questions.calendar import HourRuns
from jobrunner.store.questions.definitions import ListedDefinition
from jobrunner.text import iso_instant, whole_number
from jobrunner.web import fields
from jobrunner.web.pages.slots import Known, Range, Slot, ranges

_DAYS, _HOURS = 7, 24
_HOUR = timedelta(hours=1)
_FARTHEST = timedelta(days=366 * 5)
MOST_LISTED = 400
"""Slots of one hour that are listed. A schedule of each minute has sixty."""
SIGNS = {
    "failed": "×",
    "skipped": "–",
    "late": "!",
    "failing": "~",
    "due": "…",
    "unknown": "?",
    "running": "›",
    "queued": "›",
    "paused": "=",
    "cancelled": "/",
    "ran": "✓",
    "coming": "·",
}
"""What may have become of a slot, the worst first, with a sign: a colour alone says nothing to many people."""
_AHEAD = ("coming", "paused")


@dataclass(frozen=True)
class Hour:
    """What became of the slots of one hour. ``run_id`` is the run of a slot that is alone in it."""

    begin: datetime
    end: datetime
    counts: dict[str, int]
    run_id: int | None


@dataclass(frozen=True)
class Cell:
    """One hour of a day: its worst state, the sign of it with a number if it has several slots, and what is behind it.

    ``link`` is an address below the mount; "" for slots that are still to come.
    """

    state: str
    sign: str
    title: str
    link: str


@dataclass(frozen=True)
class Heat:
    """The days, each with a cell for each hour, or None where it has no slot; and the states that are in it."""

    days: list[tuple[datetime, list[Cell | None]]]
    states: list[str]


def read(connection: Connection, found: ListedDefinition, at: datetime) -> list[Hour]:
    """The hours of six days and of today that have any slots. Expects a read transaction."""
    recurrence, zone = _rule_of(found), zone_of(found)
    begin = _midnight(at.astimezone(zone), zone, 1 - _DAYS)
    count = (_midnight(at.astimezone(zone), zone, 1) - begin) // _HOUR
    by_hour = defaultdict[int, list[HourRuns]](list)
    for each in calendar.by_hour(connection, found.id, begin, begin + count * _HOUR):
        by_hour[each.day].append(each)
    skipped = _by_hour(ranges(calendar.newest_skips(connection, found.id, begin)).get(found.id, []), begin, count)
    hours = []
    for number in range(count):
        runs, start = by_hour[number], begin + number * _HOUR
        known = Known(found, recurrence, at, None, [replace(each, day=0) for each in runs], skipped[number])
        (hour,) = known.days([start, start + _HOUR])
        if hour.total:
            alone = runs[0].run_id if hour.total == 1 and len(runs) == 1 else None
            hours.append(Hour(hour.begin, hour.end, dict(hour.counts), alone))
    return hours


def _rule_of(found: ListedDefinition) -> Recurrence:
    return Recurrence.parse(found.schedule or "", found.timezone)


def zone_of(found: ListedDefinition) -> tzinfo:
    """The zone in which the slots of a schedule stand."""
    return timezones.find(found.timezone)


def _midnight(at: datetime, zone: tzinfo, days: int) -> datetime:
    day = at.date() + timedelta(days=days)
    return datetime.combine(day, datetime.min.time(), zone).astimezone(timezones.find("UTC"))


def _by_hour(skipped: Sequence[Range], begin: datetime, count: int) -> defaultdict[int, list[Range]]:
    by_hour = defaultdict[int, list[Range]](list)
    for each in skipped:
        first, last = ((instant - begin) // _HOUR for instant in (each.first, each.last))
        for number in range(max(0, first), min(count - 1, last) + 1):
            by_hour[number].append(each)
    return by_hour


def drawn(hours: Sequence[Hour], found: ListedDefinition, at: datetime) -> Heat:
    """The cells. An hour that a day has twice, when clocks go back, is one cell."""
    zone = zone_of(found)
    together = defaultdict[tuple[object, int], list[Hour]](list)
    for each in hours:
        local = each.begin.astimezone(zone)
        together[local.date(), local.hour].append(each)
    days = [_midnight(at.astimezone(zone), zone, number - _DAYS + 1).astimezone(zone) for number in range(_DAYS)]
    rows = [(day, [_cell(together[day.date(), hour], found.name, zone) for hour in range(_HOURS)]) for day in days]
    states = {cell.state for _, cells in rows for cell in cells if cell is not None}
    return Heat(rows, [state for state in SIGNS if state in states])


def _cell(hours: Sequence[Hour], name: str, zone: tzinfo) -> Cell | None:
    if not hours:
        return None
    counts = sum((Counter(each.counts) for each in hours), Counter[str]())
    states = Counter[str]()
    for words, number in counts.items():
        states[words.partition(":")[0]] += number
    state = next(each for each in SIGNS if states[each])
    begin, end, total = hours[0].begin, hours[-1].end, counts.total()
    local = begin.astimezone(zone)
    sign = SIGNS[state] + (str(states[state]) if total > 1 else "")
    return Cell(state, sign, f"{local:%a %m-%d %H:%M}: {_in_words(counts)}", _link(hours, name, begin, end, states))


def _in_words(counts: Mapping[str, int]) -> str:
    ordered = sorted(counts, key=lambda words: list(SIGNS).index(words.partition(":")[0]))
    return ", ".join(f"{counts[words]} {words.replace('_', ' ')}" for words in ordered)


def _link(hours: Sequence[Hour], name: str, begin: datetime, end: datetime, states: Mapping[str, int]) -> str:
    if states.keys() <= set(_AHEAD):
        return ""
    if len(hours) == 1 and hours[0].run_id is not None:
        return f"runs/{hours[0].run_id}"
    return (
        "schedule?" + urlencode({"name": name, "hour": iso_instant(begin), "hours": (end - begin) // _HOUR}) + "#slots"
    )


@dataclass(frozen=True)
class Asked:
    """An hour of which the address of a page wants each slot."""

    begin: datetime
    end: datetime


def asked(query: Mapping[str, str]) -> Asked | None:
    """None: the address asks for none. Raises UsageError."""
    if not query.get("hour"):
        return None
    try:
        begin = fields.instant(query["hour"])
        return Asked(begin, begin + _HOUR * whole_number(query.get("hours", "1"), least=1, most=2))
    except (UsageError, OverflowError):
        raise UsageError(f"{query['hour'][:40]!r} is no hour; follow a link of the heat map") from None


def slots(connection: Connection, found: ListedDefinition, at: datetime, hour: Asked) -> list[Slot]:
    """Each slot of an hour, with its run or with what is known instead. Expects a read transaction."""
    if abs(hour.begin - at) > _FARTHEST:
        raise UsageError("the slots of an hour are shown of five years before and after now")
    borders = [hour.begin, hour.end]
    runs = calendar.runs(connection, [found.id], borders)
    skipped = ranges(calendar.newest_skips(connection, found.id, hour.begin)).get(found.id, [])
    (day,) = Known(found, _rule_of(found), at, runs, [], skipped).days(borders)
    return day.slots[:MOST_LISTED]
