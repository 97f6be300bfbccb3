"""The slots of five fields in a zone, by the rule of Debian's cron (docs/adr/0007-debian-cron-instants.md).

Between two clock changes the UTC offset of a zone is constant. For each range of constant offset, cronsim gets local
times without a zone; only the code at the borders of the ranges handles daylight saving. No state is kept between two
calls, so a tick that asks once a minute and one that asks once a month get the same slots.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from itertools import islice, pairwise

from jobrunner.schedules import timezones
from jobrunner.schedules.cron_fields import SOME_MIDNIGHT, Fields

HORIZON = timedelta(days=366 * 50)

# Far enough back to find the clock change whose repeated hours contain `after`.
_LOOK_BACK = timedelta(hours=4)
# No zone is further from UTC than this, so a slot and its local time never differ by more.
_REACH = timedelta(days=2)
_WINDOW = timedelta(days=100)
_INSTANT_BEFORE = timedelta(microseconds=1)
_DAY, _YEAR = timedelta(days=1), timedelta(days=366)
# These leave space for _LOOK_BACK, _REACH and local times at both ends of the calendar.
EARLIEST = datetime(1, 1, 10, tzinfo=UTC)
LATEST = datetime(9999, 12, 20, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class CronSlots:
    """The slots of five fields in a zone. All instants are in UTC, between EARLIEST and LATEST."""

    fields: Fields
    zone: tzinfo

    def next_after(self, after: datetime) -> datetime | None:
        """The first slot later than `after`; None when none comes within fifty years."""
        horizon = min(after, LATEST - HORIZON) + HORIZON
        while after < horizon:
            low, high = timezones.reading(after, -_REACH), timezones.reading(horizon, _REACH)
            reading = next(readings(self.fields.text, low, high), None)
            if reading is None:
                return None
            # Most schedules are sparse: jump near the next local time and search only around it.
            begin = max(after, reading.replace(tzinfo=UTC) - _REACH)
            end = begin + 3 * _REACH
            for slot in self._each(begin, end):
                return slot
            after = end
        return None

    def previous_before(self, before: datetime) -> datetime | None:
        """The last slot earlier than `before`; None when none came within fifty years."""
        until = before - _INSTANT_BEFORE
        horizon = max(until, EARLIEST + HORIZON) - HORIZON
        while until > horizon:
            reading = _reading_before(self.fields.text, timezones.reading(until, _REACH))
            if reading is None or reading < timezones.reading(horizon, -_REACH):
                return None
            end = min(until, reading.replace(tzinfo=UTC) + _REACH)
            begin = max(end, EARLIEST + 3 * _REACH) - 3 * _REACH
            found = self.tally(begin, end)
            if found is not None:
                return found[1]
            until = begin
        return None

    def walk(self, after: datetime, until: datetime) -> Iterator[datetime]:
        """Every slot in (after, until], ascending."""
        while after < until:
            end = min(after + _WINDOW, until)
            yield from self._each(after, end)
            after = end

    def tally(self, after: datetime, until: datetime) -> tuple[datetime, datetime, int] | None:
        """First, last and number of the slots in (after, until]; None where there is none."""
        first = last = None
        count = 0
        for local in _ranges(self.fields.fixed_time, self.zone, after, until):
            found = _tally(self.fields, local)
            if found is not None:
                first, last, count = (first or found[0], found[1], count + found[2])
        return None if first is None or last is None else (first, last, count)

    def shortest_interval(self) -> timedelta:
        """The least time from one slot to the next, without clock changes; at most a year."""
        return _shortest_interval(self.fields)

    def _each(self, after: datetime, until: datetime) -> Iterator[datetime]:
        for local in _ranges(self.fields.fixed_time, self.zone, after, until):
            for reading in readings(self.fields.text, local.low, local.high):
                yield local.instant(reading)
                if local.all_at:
                    break


@dataclass(frozen=True, slots=True)
class _Range:
    """Local times in (low, high] on a clock `offset` ahead of UTC. With `all_at`, all together fire once, then."""

    low: datetime
    high: datetime
    offset: timedelta
    all_at: datetime | None = None

    def instant(self, reading: datetime) -> datetime:
        return self.all_at or (reading - self.offset).replace(tzinfo=UTC)


def _ranges(fixed_time: bool, zone: tzinfo, after: datetime, until: datetime) -> Iterator[_Range]:
    """The local times that belong to (after, until], in order, cut where the offset changes."""
    begin = min(after, until) - _LOOK_BACK
    offset = timezones.offset_at(zone, begin)
    low = timezones.reading(begin, offset)
    for change in timezones.changes(zone, begin, until):
        yield from _clipped(low, change.at - _INSTANT_BEFORE, offset, after)
        offset = change.new
        low = timezones.reading(change.at, change.new) - _INSTANT_BEFORE
        if fixed_time and change.repeats:
            # Nothing fires in the second pass: go on with the first local time that the first pass did not reach.
            low = timezones.reading(change.at, change.old) - _INSTANT_BEFORE
        elif fixed_time and change.skips:
            skipped, low = timezones.reading(change.at, change.old), timezones.reading(change.at, change.new)
            if change.at > after:
                yield _Range(skipped - _INSTANT_BEFORE, low, offset, all_at=change.at)
    yield from _clipped(low, until, offset, after)


def _clipped(low: datetime, end: datetime, offset: timedelta, after: datetime) -> Iterator[_Range]:
    low, high = max(low, timezones.reading(after, offset)), timezones.reading(end, offset)
    if low < high:
        yield _Range(low, high, offset)


def readings(text: str, low: datetime, high: datetime) -> Iterator[datetime]:
    """The local times in (low, high] that match five fields, on a clock without changes."""
    from cronsim import CronSim

    try:
        for reading in CronSim(text, low):
            if reading > high:
                return
            yield reading
    except OverflowError:  # the search ran past the year 9999
        return


def _reading_before(text: str, high: datetime) -> datetime | None:
    """The last local time earlier than `high` that matches five fields."""
    from cronsim import CronSim

    try:
        return next(CronSim(text, high, reverse=True), None)
    except OverflowError:  # the search ran past the year 1
        return None


def _tally(fields: Fields, local: _Range) -> tuple[datetime, datetime, int] | None:
    first = last = None
    count = 0
    times = _times_of_day(fields.minute, fields.hour)
    midnight = local.low.replace(hour=0, minute=0, second=0, microsecond=0)
    for day in readings(fields.days_only, midnight - _INSTANT_BEFORE, local.high):
        begin, end = (bisect_right(times, local.low - day), bisect_right(times, local.high - day))
        if begin < end:
            first, last, count = (first or day + times[begin], day + times[end - 1], count + end - begin)
    if first is None or last is None:
        return None
    return local.instant(first), local.instant(last), 1 if local.all_at else count


@lru_cache(maxsize=256)
def _shortest_interval(fields: Fields) -> timedelta:
    times = _times_of_day(fields.minute, fields.hour)
    within = min((later - time for time, later in pairwise(times)), default=_YEAR)
    over_midnight = times[0] + _DAY - times[-1]
    if within <= over_midnight:
        return within
    nearest = _YEAR
    # 60 days are enough to find the shortest distance between two days of any rule.
    some_days = islice(readings(fields.days_only, SOME_MIDNIGHT, SOME_MIDNIGHT + 5 * _YEAR), 60)
    for day, later in pairwise(some_days):
        nearest = min(nearest, later - day)
        if nearest == _DAY:
            break
    return min(within, nearest - _DAY + over_midnight)


@lru_cache(maxsize=256)
def _times_of_day(minute: str, hour: str) -> tuple[timedelta, ...]:
    start, before = SOME_MIDNIGHT, SOME_MIDNIGHT - _INSTANT_BEFORE
    hours = readings(f"0 {hour} * * *", before, start + timedelta(hours=23))
    minutes = tuple(readings(f"{minute} 0 * * *", before, start + timedelta(minutes=59)))
    return tuple((h - start) + (m - start) for h in hours for m in minutes)
