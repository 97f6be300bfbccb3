"""Debian's cron, simulated from its documented rules: how it reads a line, how its loop wakes each minute.

It shares nothing with jobrunner.schedules.recurrence, cronsim included, so that an error has to be made twice to pass.
Two things differ from the daemon: every change of the zone's offset is noticed (the daemon looks only
when the daylight saving flag turns), and jobs take no time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

MINUTE = timedelta(minutes=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat", "sun"]
LIMITS: tuple[tuple[int, int, list[str]], ...] = (
    (0, 59, []),
    (0, 23, []),
    (1, 31, []),
    (1, 12, MONTHS),
    (0, 7, DAYS),
)
NICKNAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


class BadLineError(Exception):
    """The daemon would say so in its log."""


@dataclass(frozen=True)
class Line:
    """What the daemon keeps of a line: a set for each field, and which fields began with a star."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    clock_star: bool
    day_star: bool

    def on_day(self, day: date) -> bool:
        by_date = day.day in self.days
        by_name = day.isoweekday() % 7 in self.weekdays
        matches = (by_date and by_name) if self.day_star else (by_date or by_name)
        return matches and day.month in self.months


def read(text: str) -> Line:
    """Read a line as the daemon does, its silent misreadings included: what follows a number it drops."""
    parts = NICKNAMES.get(text, text).split()[:5]
    if len(parts) < 5:
        raise BadLineError(text)
    sets = [_field(part, *limits) for part, limits in zip(parts, LIMITS, strict=True)]
    weekdays = {day % 7 for day in sets[4]}
    stars = [part.startswith("*") for part in parts]
    minutes, hours, days, months = map(frozenset, sets[:4])
    return Line(minutes, hours, days, months, frozenset(weekdays), stars[0] or stars[1], stars[2] or stars[4])


def _field(text: str, low: int, high: int, names: list[str]) -> set[int]:
    found: set[int] = set()
    rest = text
    while True:
        rest = _range(rest, low, high, names, found)
        if not rest.startswith(","):
            return found  # the daemon skips to the next blank, whatever stands there
        rest = rest[1:]


def _range(rest: str, low: int, high: int, names: list[str], found: set[int]) -> str:
    step = 1
    if rest.startswith("*"):
        first, last, rest = low, high, rest[1:]
    else:
        first, rest = _number(rest, names, low)
        last = first
        if rest.startswith("-"):
            last, rest = _number(rest[1:], names, low)
        elif rest.startswith("/"):
            raise BadLineError("a step without a range")
    if not (low <= first <= high and low <= last <= high):
        raise BadLineError("out of range")
    if rest.startswith("/"):
        step, rest = _number(rest[1:], [], 0)
        if step < 1:
            raise BadLineError("a step of nothing")
    found.update(range(first, last + 1, step))
    return rest


def _number(rest: str, names: list[str], low: int) -> tuple[int, str]:
    length = 0
    while length < len(rest) and rest[length].isalnum():
        length += 1
    word, rest = rest[:length], rest[length:]
    if word.isdecimal():
        return int(word), rest
    if word.lower() in names:
        return names.index(word.lower()) + low, rest
    raise BadLineError(word)


@dataclass(frozen=True)
class Look:
    """One look of the daemon through its crontab: when it was, and which local minute it looked for."""

    instant: datetime
    day: date
    minute_of_day: int
    wild: bool
    fixed: bool


def looks(zone: ZoneInfo, start: datetime, end: datetime) -> list[Look]:
    """The daemon's loop in `zone`, from just after `start` to `end`, with a wake-up at each minute."""
    made: list[Look] = []
    virtual = _clock(zone, start)
    instant = start
    while instant < end:
        instant += MINUTE
        running = _clock(zone, instant)

        def look(minute: int, wild: bool, fixed: bool, instant: datetime = instant) -> None:
            shown = EPOCH + minute * MINUTE
            made.append(Look(instant, shown.date(), shown.hour * 60 + shown.minute, wild, fixed))

        virtual = _wake(look, virtual, running)
    return made


def _wake(look: Callable[[int, bool, bool], None], virtual: int, running: int) -> int:
    """One turn of the loop: from the minute reached, and the one on the clock, to the minute reached next."""
    difference = running - virtual
    if difference == 1:
        look(running, True, True)
        return running
    if 0 < difference <= 5:  # woke late: every minute in turn
        for minute in range(virtual + 1, running + 1):
            look(minute, True, True)
        return running
    if 5 < difference <= 3 * 60:  # put forward: wild jobs for now, fixed ones for each minute missed
        look(running, True, False)
        for minute in range(virtual + 1, running + 1):
            look(minute, False, True)
        return running
    if -3 * 60 < difference <= 0:  # put back: fixed jobs wait until the clock has caught up
        look(running, True, False)
        return virtual
    look(running, True, True)  # a correction: begin anew from here
    return running


def _clock(zone: ZoneInfo, instant: datetime) -> int:
    offset = instant.astimezone(zone).utcoffset()
    assert offset is not None
    return (instant - EPOCH + offset) // MINUTE


def fired(line: Line, made: Iterable[Look]) -> list[datetime]:
    """The instants at which the daemon starts the line's job at least once."""
    times = {hour * 60 + minute for hour in line.hours for minute in line.minutes}
    on_day = lru_cache(maxsize=None)(line.on_day)
    instants = {
        look.instant
        for look in made
        if (look.wild if line.clock_star else look.fixed) and look.minute_of_day in times and on_day(look.day)
    }
    return sorted(instants)
