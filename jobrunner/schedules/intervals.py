"""Intervals such as ``every 10m``: counted in real time from a fixed instant, so clock changes do not move them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from jobrunner.durations import format_duration, parse_duration
from jobrunner.errors import UsageError
from jobrunner.schedules.cron_fields import must_be_plain, quoted, refusal

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SHORTEST, LONGEST = timedelta(minutes=1), timedelta(days=366)

_NUMBER = re.compile(r"[0-9.]+")
_LENGTH = re.compile(r"([0-9]+(\.[0-9]+)?(ms|[smhdw]))+")
_SECOND, _MINUTE = timedelta(seconds=1), timedelta(minutes=1)
_INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2})?(Z|[+-]\d{2}:?\d{2})?", re.ASCII)
_EXAMPLE = "'every 10m', or 'every 10m from 2026-01-01T09:00:00Z'"


@dataclass(frozen=True, slots=True)
class Interval:
    """Slots at ``anchor`` and every ``length`` after it, none before it. All instants are in UTC."""

    length: timedelta
    anchor: datetime = EPOCH

    @property
    def is_on_minutes(self) -> bool:
        """Whether all slots are full minutes, at which cron starts a tick."""
        return not (self.length % _MINUTE or (self.anchor - EPOCH) % _MINUTE)

    def next_after(self, after: datetime) -> datetime | None:
        """The first slot later than ``after``; None after the end of the calendar."""
        try:
            return self.anchor + max(0, (after - self.anchor) // self.length + 1) * self.length
        except OverflowError:
            return None

    def previous_before(self, before: datetime) -> datetime | None:
        """The last slot earlier than ``before``; None where that is not later than the anchor."""
        passed = -((self.anchor - before) // self.length) - 1
        return self.anchor + passed * self.length if passed >= 0 else None

    def walk(self, after: datetime, until: datetime) -> Iterator[datetime]:
        """Every slot in (after, until], ascending."""
        slot = self.next_after(after)
        while slot is not None and slot <= until:
            yield slot
            slot = self.next_after(slot)

    def shortest_interval(self) -> timedelta:
        """The time from one slot to the next."""
        return self.length

    def tally(self, after: datetime, until: datetime) -> tuple[datetime, datetime, int] | None:
        """First, last and number of the slots in (after, until]; None where there is none."""
        first, last = self.next_after(after), self.previous_before(until + timedelta.resolution)
        if first is None or last is None or last < first:
            return None
        return first, last, (last - first) // self.length + 1


def is_interval(expression: object) -> bool:
    """Whether the text begins like an interval, valid or not."""
    return isinstance(expression, str) and expression.lower().split(maxsplit=1)[:1] == ["every"]


@lru_cache(maxsize=1024)
def read(expression: str) -> Interval:
    """Read a text for which ``is_interval`` is true. Raises BadSchedule, in one line, if it is invalid."""
    must_be_plain(expression)
    words = expression.split()[1:]
    if len(words) == 1:
        return Interval(_length(expression, words[0]))
    if len(words) == 3 and words[1] == "from":
        return Interval(_length(expression, words[0]), _anchor(expression, words[2]))
    raise refusal(
        expression, f"after 'every' comes one length, then optionally 'from' and one instant; write {_EXAMPLE}"
    )


def _length(expression: str, word: str) -> timedelta:
    if _NUMBER.fullmatch(word):
        raise refusal(
            expression, f"{quoted(word)} has no unit; write {word[:9]}m for minutes, or {word[:9]}h for hours"
        )
    if not _LENGTH.fullmatch(word):
        raise refusal(expression, f"{quoted(word)} is not a length; write 10m, 1h30m or 2d")
    try:
        length = parse_duration(word)
    except UsageError:  # more than any duration may be
        length = timedelta.max
    if not SHORTEST <= length <= LONGEST:
        allowed = f"an interval lies between {format_duration(SHORTEST)} and {format_duration(LONGEST)}"
        raise refusal(expression, f"{quoted(word)} is too {'short' if length < SHORTEST else 'long'}; {allowed}")
    if length % _SECOND:
        raise refusal(expression, f"{quoted(word)} has a fraction of a second; write whole seconds")
    return length


def _anchor(expression: str, word: str) -> datetime:
    try:
        anchor = datetime.fromisoformat(word) if _INSTANT.fullmatch(word) else None
    except ValueError:
        anchor = None
    if anchor is None or not EPOCH.year <= anchor.year < 9999:
        raise refusal(expression, f"{quoted(word)} is not an instant; write 2026-01-01T09:00:00Z")
    if anchor.tzinfo is None:
        raise refusal(expression, f"{quoted(word)} has no offset; write {word}Z for UTC, or {word}+01:00")
    return anchor.astimezone(UTC)
