"""Rates: how many runs may begin in a time, by the generic cell rate algorithm (GCRA). Pure.

All that is stored is one instant, ``spent_until``: each run that begins moves it on by the interval of the rate. It may
lie ahead of now by ``burst`` intervals at most. So in any time T at most burst + T / interval runs begin.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import NamedTuple

from jobrunner.durations import parse_duration
from jobrunner.errors import UsageError, WrongOption
from jobrunner.text import shown

_TEXT = re.compile(r"(\d{1,9})\s*/\s*(\d{0,9})(s|m|h|d)", re.ASCII)
_SHORTEST = timedelta(microseconds=100)
_SECOND, _MICROSECOND = timedelta(seconds=1), timedelta(microseconds=1)


class Rate(NamedTuple):
    """A rate such as ``10/s``. ``burst`` is how many runs may begin at once after a pause."""

    text: str
    burst: int

    @property
    def interval(self) -> timedelta:
        """The time between two runs at this rate. It is rounded up, so that the rate is never exceeded."""
        count, amount, unit = _parts(self.text)
        seconds = parse_duration(f"{amount}{unit}")
        # In whole microseconds, as the databases store instants.
        return timedelta(microseconds=-(-(seconds // _MICROSECOND) // count))

    @property
    def longest(self) -> timedelta:
        """How far ``spent_until`` may lie ahead of now."""
        return self.burst * self.interval

    def bounded(self, spent_until: datetime | None, now: datetime) -> datetime | None:
        """``spent_until`` as far as this rate can have moved it on. A clock may have been ahead, or the rate slower."""
        return None if spent_until is None else min(spent_until, now + self.longest)

    def allowed(self, spent_until: datetime | None, now: datetime) -> int:
        """How many runs may begin now."""
        ahead = timedelta(0) if spent_until is None else max(spent_until - now, timedelta(0))
        return max(0, self.burst - -(-ahead // self.interval))

    def spend(self, spent_until: datetime | None, now: datetime, count: int) -> datetime:
        """The new ``spent_until`` after so many runs have begun now."""
        return (now if spent_until is None else max(spent_until, now)) + count * self.interval

    def opens_at(self, spent_until: datetime, count: int = 1) -> datetime:
        """When so many runs may begin; no more than ``burst`` ever may."""
        return spent_until - (self.burst - min(count, self.burst)) * self.interval


def parse_rate(name: str, text: object, burst: int | None) -> Rate:
    """A checked rate. ``burst`` None: what the rate allows in a second, at least one. Raises WrongOption."""
    if not isinstance(text, str) or _TEXT.fullmatch(text.strip()) is None:
        raise WrongOption(name, f'must be a text such as "10/s", "100/m" or "1/30s", not {shown(text)}')
    text = text.strip()
    count, amount, unit = _parts(text)
    if not count or not amount:
        raise WrongOption(name, f"must have two numbers of at least 1, not {text!r}")
    rate = Rate(text, 1)
    try:
        interval = parse_duration(f"{amount}{unit}") / count
    except UsageError as error:
        raise WrongOption(name, str(error)) from None
    if interval < _SHORTEST:
        raise WrongOption(name, f"is more than ten thousand in a second ({text!r}); leave it out for no limit")
    return rate._replace(burst=max(1, _SECOND // rate.interval) if burst is None else burst)


def _parts(text: str) -> tuple[int, int, str]:
    match = _TEXT.fullmatch(text)
    assert match is not None
    count, amount, unit = match.groups()
    return int(count), int(amount or 1), unit
