"""The calendar: seven days of each schedule, with what became of past slots, and warnings about clock changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from typing import TypeVar

from jobrunner.errors import BadSchedule, UsageError
from jobrunner.schedules import dst, timezones
from jobrunner.schedules.recurrence import Recurrence
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions import calendar as store
from jobrunner.store.questions import definitions
from jobrunner.store.questions.calendar import SlotRun, SlotRuns
from jobrunner.store.questions.definitions import ListedDefinition
from jobrunner.store.queue.ticks import tallies
from jobrunner.text import whole_number
from jobrunner.web.call import Call, Page
from jobrunner.web.pages.slots import MOST_A_DAY, Day, Known, has_many, ranges

T = TypeVar("T", SlotRun, SlotRuns)
A_PAGE = 25
_DAYS, _BEFORE = 7, 2
_FARTHEST = timedelta(days=366 * 5)
_MOST_PAGES = 1000


@dataclass(frozen=True)
class Row:
    """The week of one schedule, and what clock changes do to its slots: each, or their numbers by day."""

    name: str
    timezone: str
    warnings: list[str]
    days: list[Day]
    is_paused: bool

    @property
    def zone(self) -> tzinfo:
        """Its own time zone; UTC if it names none."""
        try:
            return timezones.find(self.timezone)
        except BadSchedule:
            return timezones.find("UTC")


@dataclass(frozen=True)
class Week:
    """The schedules of a page, whether more schedules follow, and whether all notes about skipped slots were read."""

    schedules: list[Row]
    has_more: bool
    has_all_notes: bool


def calendar(call: Call) -> Page:
    """Seven days, from the day before yesterday, or from the day that the address names."""
    number = whole_number(call.query.get("page", "1"), least=1, most=_MOST_PAGES)
    zone = call.zone
    at, (begin, week) = call.read(lambda connection: _read(connection, call.query.get("from", ""), zone, number))
    days = [day.begin.astimezone(zone) for day in week.schedules[0].days] if week.schedules else []
    today = at.astimezone(zone).date()
    earlier, later = (begin + timedelta(days=days) for days in (-_DAYS, _DAYS))
    values = {
        "at": at,
        "week": week,
        "days": days,
        "today": today,
        "most": MOST_A_DAY,
        "number": number,
        "begin": begin,
        # A page has no link to what is refused.
        "earlier": earlier if abs(earlier - today) <= _FARTHEST else None,
        "later": later if abs(later - today) <= _FARTHEST else None,
        "has_next": week.has_more and number < _MOST_PAGES,
    }
    return Page("calendar.html", values, {"from": begin.isoformat(), **vars(week)})


def _read(connection: Connection, asked: str, zone: tzinfo, number: int) -> tuple[date, Week]:
    found = definitions.listed(connection)
    at = tallies.now(connection)
    begin = _first_day(asked, at.astimezone(zone).date())
    days = [datetime.combine(begin + timedelta(days=day), datetime.min.time(), zone) for day in range(_DAYS + 1)]
    days = [day.astimezone(timezones.find("UTC")) for day in days]
    first = (number - 1) * A_PAGE
    shown, has_more = found[first : first + A_PAGE], len(found) > first + A_PAGE
    if not shown:
        return begin, Week([], has_more=False, has_all_notes=True)
    ids = [each.id for each in shown]
    recurrences = {each.id: _recurrence(each) for each in shown}
    counted, notes = _by_schedule(store.counted(connection, ids, days)), store.skips(connection, ids, days[0])
    few = [each for each in ids if not has_many(recurrences[each], counted[each], days)]
    runs, skipped = _by_schedule(store.runs(connection, few, days)), ranges(notes)
    rows = []
    for each in shown:
        recurrence, of_each = recurrences[each.id], runs[each.id] if each.id in few else None
        known = Known(each, recurrence, at, of_each, counted[each.id], skipped.get(each.id, []))
        warnings, is_paused = _warnings(recurrence, days), each.paused_at is not None
        rows.append(Row(each.name, each.timezone, warnings, known.days(days), is_paused))
    return begin, Week(rows, has_more, len(notes) < store.MOST_SKIPS)


def _by_schedule(found: Iterable[T]) -> defaultdict[int, list[T]]:
    by_schedule = defaultdict[int, list[T]](list)
    for each in found:
        by_schedule[each.definition_id].append(each)
    return by_schedule


def _first_day(asked: str, today: date) -> date:
    if not asked:
        return today - timedelta(days=_BEFORE)
    try:
        begin = date.fromisoformat(asked)
    except ValueError:
        raise UsageError(f"{asked[:40]!r} is no day; write 2026-01-31") from None
    if abs(begin - today) > _FARTHEST:
        raise UsageError("the calendar shows five years before and after today")
    return begin


def _recurrence(found: ListedDefinition) -> Recurrence | None:
    try:
        return None if found.schedule is None else Recurrence.parse(found.schedule, found.timezone)
    except BadSchedule:
        return None


def _warnings(recurrence: Recurrence | None, days: list[datetime]) -> list[str]:
    if recurrence is None:
        return []
    return [dst.in_words(each) for each in dst.affected_times(recurrence, days[0], days[-1] - days[0])]
