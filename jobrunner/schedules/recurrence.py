"""Turns a schedule and a time zone into slots: the instants, in UTC, at which it fires.

A schedule is either five fields as in a crontab (cron_slots) or a plain interval (intervals).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from jobrunner.schedules import cron_fields, intervals, timezones
from jobrunner.schedules.cron_slots import EARLIEST, LATEST, CronSlots
from jobrunner.schedules.intervals import Interval


@dataclass(frozen=True, slots=True)
class Slots:
    """First, last and number of the slots in a span of time. `first` and `last` are UTC, None when count is 0."""

    first: datetime | None
    last: datetime | None
    count: int


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A schedule in a time zone. Creating an invalid one raises BadSchedule.

    All methods take aware datetimes and raise ValueError for naive ones; all results are in UTC.
    """

    expression: str
    timezone: str = "UTC"

    def __post_init__(self) -> None:
        self._rule()

    @classmethod
    def parse(cls, expression: str, timezone: str = "UTC") -> Recurrence:
        """Read a schedule, and make its blanks single. Raises BadSchedule: one line, with field and remedy."""
        _read(expression)
        return cls(" ".join(expression.split()), timezone)

    def next_after(self, after: datetime) -> datetime | None:
        """The first slot later than `after`; None when none comes within fifty years."""
        return self._rule().next_after(bounded(after))

    def previous_before(self, before: datetime) -> datetime | None:
        """The last slot earlier than `before`; None when none came within fifty years."""
        return self._rule().previous_before(bounded(before))

    def slots(self, after: datetime, until: datetime) -> Iterator[datetime]:
        """Every slot later than `after` and not later than `until`, ascending."""
        return self._rule().walk(bounded(after), bounded(until))

    def shortest_interval(self) -> timedelta:
        """The least time from one slot to the next, without clock changes."""
        return self._rule().shortest_interval()

    @property
    def is_on_minutes(self) -> bool:
        """Whether all slots are full minutes, at which cron starts a tick."""
        rule = self._rule()
        return not isinstance(rule, Interval) or rule.is_on_minutes

    def latest(self, after: datetime, until: datetime) -> Slots:
        """First, last and number of the slots in (after, until].

        The cost grows with the number of days, not of slots: a year takes milliseconds.
        """
        found = self._rule().tally(bounded(after), bounded(until))
        return Slots(None, None, 0) if found is None else Slots(*found)

    def _rule(self) -> CronSlots | Interval:
        rule, zone = _read(self.expression), timezones.find(self.timezone)
        return rule if isinstance(rule, Interval) else CronSlots(rule, zone)


def _read(expression: str) -> cron_fields.Fields | Interval:
    return intervals.read(expression) if intervals.is_interval(expression) else cron_fields.read(expression)


def bounded(instant: datetime) -> datetime:
    """The instant in UTC, moved between EARLIEST and LATEST, where every local time can be computed."""
    if instant.utcoffset() is None:
        raise ValueError(f"an instant must have a time zone: {instant!r}")
    # Compare first: an instant at the end of the calendar cannot be converted to another zone.
    return max(EARLIEST, min(instant, LATEST)).astimezone(UTC)
