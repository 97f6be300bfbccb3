"""Finds the local times of a schedule that a clock change skips or repeats, and says what happens to their slots."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from jobrunner.schedules import cron_fields, cron_slots, intervals, timezones
from jobrunner.schedules.recurrence import Recurrence, bounded
from jobrunner.schedules.timezones import Change

DstEffect = Literal["moved", "first pass", "real time", "correction"]


@dataclass(frozen=True, slots=True)
class AffectedTimes:
    """The local times of a schedule that one clock change skips or repeats: ``first``, ``last`` and their ``count``.

    With the effect "moved" they get one slot right after the gap, with "first pass" no slot in the second pass. With
    "real time" and "correction" (the change is too large for daylight saving) they fire as often as the clock shows
    them.
    """

    change: Change
    first: datetime
    last: datetime
    count: int
    effect: DstEffect

    @property
    def shown_before(self) -> datetime:
        """What the clock would show at the instant of the change without it."""
        return timezones.reading(self.change.at, self.change.old)

    @property
    def shown_after(self) -> datetime:
        """What it shows instead."""
        return timezones.reading(self.change.at, self.change.new)


def affected_times(recurrence: Recurrence, after: datetime, span: timedelta) -> Iterator[AffectedTimes]:
    """The local times that each change within ``span`` after ``after`` affects. An interval has no local times."""
    if intervals.is_interval(recurrence.expression):
        return
    fields, after = cron_fields.read(recurrence.expression), bounded(after)
    until = after + min(span, cron_slots.LATEST - after)
    for change in timezones.changes(timezones.find(recurrence.timezone), after, until):
        low, high = sorted((timezones.reading(change.at, change.old), timezones.reading(change.at, change.new)))
        instant = timedelta.resolution
        named = list(cron_slots.readings(fields.text, low - instant, high - instant))
        if named:
            yield AffectedTimes(change, named[0], named[-1], len(named), _effect(change, fields.fixed_time))


def in_words(affected: AffectedTimes) -> str:
    """What happens to the local times that one clock change skips or repeats."""
    change, first, is_one = affected.change, affected.first, affected.count == 1
    times = f"{first:%H:%M}" if is_one else f"{first:%H:%M} to {affected.last:%H:%M} ({affected.count} times)"
    what = (
        ("does" if is_one else "do") + " not exist" if change.is_forward else "comes twice" if is_one else "come twice"
    )
    effects = {
        "moved": f"{'it fires' if is_one else 'they fire'} once, right after the gap, at {affected.shown_after:%H:%M}",
        "first pass": f"{'it fires' if is_one else 'each fires'} once, in the first pass",
        "real time": "the schedule follows real time, because its minute or hour begins with a star",
        "correction": "so large a change is a correction of the clock, and moves no slot",
    }
    to = "%H:%M" if affected.shown_after.date() == affected.shown_before.date() else "%H:%M on %Y-%m-%d"
    shift = f"the clock goes from {affected.shown_before:%H:%M} to {affected.shown_after:{to}}"
    return f"{first:%Y-%m-%d}: {shift}; {times} {what}: {effects[affected.effect]}"


def _effect(change: Change, fixed_time: bool) -> DstEffect:
    if not fixed_time:
        return "real time"
    if change.skips:
        return "moved"
    return "first pass" if change.repeats else "correction"
