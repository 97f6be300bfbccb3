"""Turns a schedule and a time zone into slots: the instants, in UTC, at which it fires.

The rule is Debian's cron's (docs/adr/0007-debian-cron-instants.md). The method: between two changes of its
offset, a zone's clock is an ordinary clock, so cronsim is asked on local readings without a zone, one stretch
of constant offset at a time. Only the seams between stretches know about daylight saving. Nothing is kept
from question to question: a tick that asks once a minute and one that asks once a month see the same slots.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

from jobrunner.cronfields import SOME_MIDNIGHT, Fields, quoted, read
from jobrunner.errors import BadSchedule

HORIZON_DAYS = 366 * 50

# A shift of the clock up to this size is daylight saving; a larger one is a correction, and moves nothing.
_SMALL_SHIFT = timedelta(hours=3)
# Far enough back to see the shift whose repeated hours still hold `after`.
_LOOK_BACK = timedelta(hours=4)
# No zone is further from UTC than this, so a slot lies within it of the reading that named it.
_REACH = timedelta(days=2)
# Two changes of one zone's offset have never been less than six days apart.
_PROBE = timedelta(days=1)
_WINDOW = timedelta(days=100)
_INSTANT_BEFORE = timedelta(microseconds=1)
# Room for the look back, for the reach and for local clocks at both ends of the calendar.
_EARLIEST = datetime(1, 1, 10, tzinfo=UTC)
_LATEST = datetime(9999, 12, 20, tzinfo=UTC)

_ZONE_NAME = re.compile(r"[A-Za-z0-9_+\-]{1,40}(/[A-Za-z0-9_+\-]{1,40}){0,3}")
# Readable as zones, but not names of zones: they differ from host to host, or count leap seconds.
_NOT_A_ZONE = re.compile(r"(posixrules|localtime|(posix|right)/.*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Slots:
    """The slots of a span of time, without a list. `first` and `last` are UTC, None when count is 0."""

    first: datetime | None
    last: datetime | None
    count: int


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A schedule in a time zone. An instance is always valid: creating one raises BadSchedule otherwise."""

    expression: str
    timezone: str = "UTC"

    def __post_init__(self) -> None:
        read(self.expression)
        _zone(self.timezone)

    @classmethod
    def parse(cls, expression: str, timezone: str = "UTC") -> Recurrence:
        """The schedule, its blanks made single. Raises BadSchedule: one line, with field and remedy."""
        read(expression)
        return cls(" ".join(expression.split()), timezone)

    def next_after(self, after: datetime) -> datetime | None:
        """The first slot later than `after`, in UTC; None when none comes within fifty years.

        `after` is an aware datetime; a naive one raises ValueError.
        """
        fields, zone, after = (read(self.expression), _zone(self.timezone), _bounded(after))
        horizon = min(after, _LATEST - timedelta(days=HORIZON_DAYS)) + timedelta(days=HORIZON_DAYS)
        while after < horizon:
            reading = next(_readings(fields.text, _clock(after, -_REACH), _clock(horizon, _REACH)), None)
            if reading is None:
                return None
            # Most schedules are sparse: jump near the next reading and look closely only there.
            begin = max(after, reading.replace(tzinfo=UTC) - _REACH)
            end = begin + 3 * _REACH
            for slot in _slots(fields, zone, begin, end):
                return slot
            after = end
        return None

    def slots(self, after: datetime, until: datetime) -> Iterator[datetime]:
        """Every slot later than `after` and not later than `until`, ascending, in UTC. Both must be aware."""
        return self._walk(_bounded(after), _bounded(until))

    def _walk(self, after: datetime, until: datetime) -> Iterator[datetime]:
        fields, zone = read(self.expression), _zone(self.timezone)
        while after < until:
            end = min(after + _WINDOW, until)
            yield from _slots(fields, zone, after, end)
            after = end

    def latest(self, after: datetime, until: datetime) -> Slots:
        """First, last and number of the slots in (after, until], in UTC, without walking through each.

        The cost grows with the days between the two, not with the slots: a year takes milliseconds.
        """
        fields, zone = read(self.expression), _zone(self.timezone)
        first = last = None
        count = 0
        for stretch in _stretches(fields.fixed_time, zone, _bounded(after), _bounded(until)):
            found = _tally(fields, stretch)
            if found.count:
                first, last, count = (first or found.first, found.last, count + found.count)
        return Slots(first, last, count)


@dataclass(frozen=True, slots=True)
class _Change:
    """The instant at which a zone's clock is put forward or back."""

    at: datetime
    old: timedelta
    new: timedelta

    @property
    def skips(self) -> bool:
        return timedelta() < self.new - self.old < _SMALL_SHIFT

    @property
    def repeats(self) -> bool:
        # Debian counts from the minute before, so that exactly three hours back still are a repetition.
        return timedelta() < self.old - self.new <= _SMALL_SHIFT


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Local readings in (low, high] on a clock `offset` ahead of UTC. If `all_at`, all fire then, once."""

    low: datetime
    high: datetime
    offset: timedelta
    all_at: datetime | None = None

    def instant(self, reading: datetime) -> datetime:
        return self.all_at or (reading - self.offset).replace(tzinfo=UTC)


def _slots(fields: Fields, zone: tzinfo, after: datetime, until: datetime) -> Iterator[datetime]:
    for stretch in _stretches(fields.fixed_time, zone, after, until):
        for reading in _readings(fields.text, stretch.low, stretch.high):
            yield stretch.instant(reading)
            if stretch.all_at:
                break


def _stretches(fixed_time: bool, zone: tzinfo, after: datetime, until: datetime) -> Iterator[_Stretch]:
    """The readings that belong to (after, until], in order, cut where the offset changes."""
    begin = min(after, until) - _LOOK_BACK
    offset = _offset(zone, begin)
    low = _clock(begin, offset)
    for change in _changes(zone, begin, until):
        yield from _clipped(low, change.at - _INSTANT_BEFORE, offset, after)
        offset = change.new
        low = _clock(change.at, change.new) - _INSTANT_BEFORE
        if fixed_time and change.repeats:
            # The second pass is silent: what counts next is the reading that the first pass had not reached.
            low = _clock(change.at, change.old) - _INSTANT_BEFORE
        elif fixed_time and change.skips:
            skipped, low = _clock(change.at, change.old), _clock(change.at, change.new)
            if change.at > after:
                yield _Stretch(skipped - _INSTANT_BEFORE, low, offset, all_at=change.at)
    yield from _clipped(low, until, offset, after)


def _clipped(low: datetime, end: datetime, offset: timedelta, after: datetime) -> Iterator[_Stretch]:
    low, high = max(low, _clock(after, offset)), _clock(end, offset)
    if low < high:
        yield _Stretch(low, high, offset)


def _changes(zone: tzinfo, begin: datetime, end: datetime) -> Iterator[_Change]:
    """The changes of the offset in (begin, end]."""
    at = begin.replace(microsecond=0)
    offset = _offset(zone, at)
    while at < end:
        probe = min(at + _PROBE, end)
        if _offset(zone, probe) == offset:
            at = probe
            continue
        # The first second with another offset; zones change at whole seconds.
        lower, upper = 0, -((at - probe) // timedelta(seconds=1))
        while upper - lower > 1:
            middle = (lower + upper) // 2
            same = _offset(zone, at + timedelta(seconds=middle)) == offset
            lower, upper = (middle, upper) if same else (lower, middle)
        at += timedelta(seconds=upper)
        yield _Change(at, offset, _offset(zone, at))
        offset = _offset(zone, at)


def _readings(text: str, low: datetime, high: datetime) -> Iterator[datetime]:
    """The local readings in (low, high] that five fields name, on a clock that never shifts."""
    from cronsim import CronSim

    try:
        for reading in CronSim(text, low):
            if reading > high:
                return
            yield reading
    except OverflowError:  # the search ran past the year 9999
        return


def _tally(fields: Fields, stretch: _Stretch) -> Slots:
    first = last = None
    count = 0
    times = _times_of_day(fields.minute, fields.hour)
    midnight = stretch.low.replace(hour=0, minute=0, second=0, microsecond=0)
    for day in _readings(fields.days_only, midnight - _INSTANT_BEFORE, stretch.high):
        begin, end = (bisect_right(times, stretch.low - day), bisect_right(times, stretch.high - day))
        if begin < end:
            first, last, count = (first or day + times[begin], day + times[end - 1], count + end - begin)
    if first is None or last is None:
        return Slots(None, None, 0)
    return Slots(stretch.instant(first), stretch.instant(last), 1 if stretch.all_at else count)


@lru_cache(maxsize=256)
def _times_of_day(minute: str, hour: str) -> tuple[timedelta, ...]:
    start, before = SOME_MIDNIGHT, SOME_MIDNIGHT - _INSTANT_BEFORE
    hours = _readings(f"0 {hour} * * *", before, start + timedelta(hours=23))
    minutes = tuple(_readings(f"{minute} 0 * * *", before, start + timedelta(minutes=59)))
    return tuple((h - start) + (m - start) for h in hours for m in minutes)


def _offset(zone: tzinfo, instant: datetime) -> timedelta:
    return instant.astimezone(zone).utcoffset() or timedelta()


def _clock(instant: datetime, offset: timedelta) -> datetime:
    """What a clock `offset` ahead of UTC shows, as a naive datetime."""
    return instant.replace(tzinfo=None) + offset


def _bounded(instant: datetime) -> datetime:
    if instant.utcoffset() is None:
        raise ValueError(f"an instant must know its time zone: {instant!r}")
    # Compared before it is converted: the ends of the calendar cannot be moved to another zone.
    return max(_EARLIEST, min(instant, _LATEST)).astimezone(UTC)


def _zone(name: str) -> tzinfo:
    if name == "UTC":
        # Also on a host that has lost its time zone database.
        return UTC
    from zoneinfo import ZoneInfo

    if not isinstance(name, str):
        raise BadSchedule(f"bad time zone {quoted(name)}: it must be text, not {type(name).__name__}")
    if _ZONE_NAME.fullmatch(name) and not _NOT_A_ZONE.fullmatch(name):
        # KeyError: no such zone. ValueError: a file of another kind. OSError: a folder, or not readable.
        try:
            return ZoneInfo(name)
        except (KeyError, ValueError, OSError, ImportError):
            pass
    raise BadSchedule(f"bad time zone {quoted(name)}: not a known zone; {_suggestion(name)}")


def _suggestion(name: str) -> str:
    from difflib import get_close_matches
    from zoneinfo import available_timezones

    near = {zone.lower(): zone for zone in available_timezones() if not _NOT_A_ZONE.fullmatch(zone)}
    if not near:
        return "this host has no time zone database: install the package tzdata (of the system, or of Python)"
    found = get_close_matches(name.lower(), near, n=1, cutoff=0.75) if len(name) < 60 else []
    return f"did you mean {near[found[0]]}?" if found else "write an IANA name such as Europe/Berlin, or UTC"
