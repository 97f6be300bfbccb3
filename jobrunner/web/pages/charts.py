"""Bars of the ends of runs by hour, with labels, for a drawing that the server makes, and their numbers for a table.

Places and widths are shares of the width of the drawing, in percent: it is as wide as the screen lets it be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from urllib.parse import urlencode

from jobrunner.admin.stats import Part
from jobrunner.lifecycle import Status
from jobrunner.text import iso_instant

_MOST_LABELS = 6
_LAST_LABEL = 88.0
"""In percent. A label that begins further to the right would be cut off."""
_FULL = 0.85
"""How much of its room a bar fills."""
_STEPS = (1, 2, 24)
"""Hours of a bar. Old ends are known by the day only."""


STACK = (Status.DEAD, Status.CANCELLED, Status.SUCCEEDED)


@dataclass(frozen=True)
class Size:
    """How high the area of the bars is, what is left above it for values and below it for labels, its most bars, and
    whether a bar is a link.
    """

    height: int
    above: int = 0
    below: int = 0
    most_bars: int = 96
    links: bool = True


LARGE = Size(80, above=18, below=20)
SMALL = Size(24, most_bars=32, links=False)


@dataclass(frozen=True)
class Bar:
    """What happened from ``begin`` to ``end``: where each part begins and how high it is, from the bottom.

    ``link`` is the address of the runs behind it, below the mount; "" where a bar is too small to lead anywhere.
    """

    x: float
    width: float
    parts: list[tuple[str, float, float]]
    title: str
    begin: datetime
    counts: dict[str, int]
    link: str


@dataclass(frozen=True)
class Chart:
    """The bars, the oldest first, the highest count, and the labels below with their places."""

    size: Size
    bars: list[Bar]
    most: int
    labels: list[tuple[float, str]]


def part_of(period: timedelta) -> timedelta:
    """What one bar of a period shows."""
    hours = period // timedelta(hours=1) + 1
    return timedelta(hours=next(each for each in _STEPS if hours <= each * LARGE.most_bars))


def place(index: int, bars: int) -> tuple[float, float]:
    """Where a bar begins, and how wide it is, in percent."""
    room = 100 / max(1, bars)
    return round(index * room, 2), round(room * _FULL, 2)


def runs_between(begin: datetime, end: datetime, **fields: object) -> str:
    """The address of the list of these runs, below the mount."""
    since, until = iso_instant(begin), iso_instant(end)
    return "runs?" + urlencode({**fields, "since": since, "until": until}, doseq=True)


def chart(ends: Sequence[Part], zone: tzinfo, size: Size = LARGE) -> Chart:
    """A drawing of this size. Its labels are hours of the zone, or days if it is longer than two of them."""
    step = -(-len(ends) // size.most_bars) or 1
    groups = [ends[index : index + step] for index in range(0, len(ends), step)]
    sums = [{status.value: sum(each.ended[status] for each in group) for status in STACK} for group in groups]
    most = max((sum(counts.values()) for counts in sums), default=0)
    begins = [group[0].begin for group in groups]
    long = begins[1] - begins[0] if len(begins) > 1 else timedelta(hours=1)
    bars = [
        _bar(place(index, len(groups)), begin, begin + long, counts, _parts(counts, most, size), zone, size.links)
        for index, (begin, counts) in enumerate(zip(begins, sums, strict=True))
    ]
    return Chart(size, bars, most, labels(bars) if size.below else [])


def _bar(
    at: tuple[float, float],
    begin: datetime,
    end: datetime,
    counts: dict[str, int],
    parts: list[tuple[str, float, float]],
    zone: tzinfo,
    links: bool,
) -> Bar:
    words = ", ".join(f"{counts[status]} {status}" for status in reversed(STACK))
    shown = begin.astimezone(zone)
    return Bar(*at, parts, f"{shown:%Y-%m-%d %H:%M}: {words}", shown, counts, _link(begin, end) if links else "")


def _link(begin: datetime, end: datetime) -> str:
    return runs_between(begin, end, status=[each.value for each in STACK])


def _parts(counts: Mapping[str, int], most: int, size: Size) -> list[tuple[str, float, float]]:
    parts, bottom = [], float(size.above + size.height)
    for status in STACK:
        tall = round(size.height * counts[status] / max(1, most), 1)
        bottom -= tall
        if tall:
            parts.append((status.value, round(bottom, 1), tall))
    return parts


def labels(bars: Sequence[Bar]) -> list[tuple[float, str]]:
    """Where the hours stand below the bars, or the days if they are more than two."""
    is_of_days = len(bars) > 1 and (bars[-1].begin - bars[0].begin).total_seconds() > 2 * 86400
    if is_of_days:
        # The first bar of each day.
        first = {bar.begin.date(): bar for bar in reversed(bars)}
        places = sorted((bar.x, f"{day:%m-%d}") for day, bar in first.items())[1:]
    else:
        places = [(bar.x, f"{bar.begin:%H:%M}") for bar in bars]
    apart = -(-len(places) // _MOST_LABELS) or 1
    return [each for each in places[::apart] if each[0] <= _LAST_LABEL]
