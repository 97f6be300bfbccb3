"""Finds a time zone by its name, and the clock changes of a zone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from jobrunner.errors import BadSchedule
from jobrunner.schedules.cron_fields import quoted
from jobrunner.text import nearest

# A shift of the clock up to this size is daylight saving; a larger one is a correction, and moves nothing.
_SMALL_SHIFT = timedelta(hours=3)
# Two changes of one zone's offset have never been less than six days apart.
_PROBE = timedelta(days=1)

_NAME = re.compile(r"[A-Za-z0-9_+\-]{1,40}(/[A-Za-z0-9_+\-]{1,40}){0,3}")
# zoneinfo can read these, but they are not zone names: they differ between hosts, count leap seconds, or mean no zone.
_NOT_A_ZONE = re.compile(r"(posixrules|localtime|Factory|(posix|right)/.*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Change:
    """The instant at which a zone's clock is put forward or back."""

    at: datetime
    old: timedelta
    new: timedelta

    @property
    def is_forward(self) -> bool:
        """Whether the change skips local times; otherwise it repeats some."""
        return self.new > self.old

    @property
    def skips(self) -> bool:
        """Whether a job whose time of day is skipped runs right after the gap."""
        return timedelta() < self.new - self.old < _SMALL_SHIFT

    @property
    def repeats(self) -> bool:
        """Whether a job whose time of day is repeated runs in the first pass only."""
        # Debian counts from the minute before, so exactly three hours back still are a repetition.
        return timedelta() < self.old - self.new <= _SMALL_SHIFT


def find(name: str) -> tzinfo:
    """The zone of an IANA name. Raises BadSchedule, in one line, when there is none."""
    if name == "UTC":
        # UTC also works on a host without a time zone database.
        return UTC
    from zoneinfo import ZoneInfo

    if not isinstance(name, str):
        raise BadSchedule(f"bad time zone {quoted(name)}: it must be text, not {type(name).__name__}")
    if _NAME.fullmatch(name) and not _NOT_A_ZONE.fullmatch(name):
        # KeyError: no such zone. ValueError: a file of another kind. OSError: a folder, or not readable.
        try:
            return ZoneInfo(name)
        except (KeyError, ValueError, OSError, ImportError):
            pass
    raise BadSchedule(f"bad time zone {quoted(name)}: not a known zone; {_suggestion(name)}")


def _suggestion(name: str) -> str:
    from zoneinfo import available_timezones

    near = {zone.lower(): zone for zone in available_timezones() if not _NOT_A_ZONE.fullmatch(zone)}
    if not near:
        return "this host has no time zone database: install the package tzdata (of the system, or of Python)"
    area, _, city = name.lower().rpartition("/")
    # The same city in another area; else a similar name in the same area.
    found = next((zone for zone in near if area and city and zone.endswith(f"/{city}")), None)
    if found is None and len(name) < 60:
        own = [zone for zone in near if area and zone.startswith(f"{area}/")]
        found = nearest(name.lower(), own or near, 0.75)
    return "write an IANA name such as Europe/Berlin, or UTC" if found is None else f"did you mean {near[found]}?"


def offset_at(zone: tzinfo, instant: datetime) -> timedelta:
    """How far the zone's clock is ahead of UTC."""
    return instant.astimezone(zone).utcoffset() or timedelta()


def reading(instant: datetime, offset: timedelta) -> datetime:
    """What a clock ``offset`` ahead of UTC shows at an instant in UTC, as a naive datetime."""
    return instant.replace(tzinfo=None) + offset


def changes(zone: tzinfo, begin: datetime, end: datetime) -> Iterator[Change]:
    """The changes of the offset in (begin, end], both in UTC."""
    at = begin.replace(microsecond=0)
    offset = offset_at(zone, at)
    while at < end:
        probe = min(at + _PROBE, end)
        if offset_at(zone, probe) == offset:
            at = probe
            continue
        # The first second with another offset; zones change at whole seconds.
        lower, upper = 0, -((at - probe) // timedelta(seconds=1))
        while upper - lower > 1:
            middle = (lower + upper) // 2
            same = offset_at(zone, at + timedelta(seconds=middle)) == offset
            lower, upper = (middle, upper) if same else (lower, middle)
        at += timedelta(seconds=upper)
        yield Change(at, offset, offset_at(zone, at))
        offset = offset_at(zone, at)
