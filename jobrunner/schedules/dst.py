"""Which local times of a schedule a zone's clock leaves out or shows twice, and what becomes of their slots."""

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
class Caught:
    """What one change of the clock does to a schedule that names local times in its gap or its fold.

    ``first``, ``last`` and ``count`` are of those local times, as naive readings. ``fate``: one slot right after the
    gap ("moved"), none in the second pass ("first pass"), or as often as the clock shows them: since the schedule
    follows "real time", or since a "correction" of the clock moves nothing.
    """

    change: Change
    first: datetime
    last: datetime
    count: int
    fate: DstEffect

    @property
    def shown_before(self) -> datetime:
        """What the clock would have shown at the change."""
        return timezones.reading(self.change.at, self.change.old)

    @property
    def shown_after(self) -> datetime:
        """What it shows instead."""
        return timezones.reading(self.change.at, self.change.new)


def caught(recurrence: Recurrence, after: datetime, span: timedelta) -> Iterator[Caught]:
    """Every change later than ``after``, by no more than ``span``, that meets local times of the schedule.

    An interval names no local times, so none meets it.
    """
    if intervals.is_interval(recurrence.expression):
        return
    fields, after = cron_fields.read(recurrence.expression), bounded(after)
    until = after + min(span, cron_slots.LATEST - after)
    for change in timezones.changes(timezones.find(recurrence.timezone), after, until):
        low, high = sorted((timezones.reading(change.at, change.old), timezones.reading(change.at, change.new)))
        instant = timedelta.resolution
        named = list(cron_slots.readings(fields.text, low - instant, high - instant))
        if named:
            yield Caught(change, named[0], named[-1], len(named), _fate(change, fields.fixed_time))


def _fate(change: Change, fixed_time: bool) -> DstEffect:
    if not fixed_time:
        return "real time"
    if change.skips:
        return "moved"
    return "first pass" if change.repeats else "correction"
