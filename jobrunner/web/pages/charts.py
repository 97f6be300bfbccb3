"""Bars of the ends of runs by hour, with labels, for a drawing that the server makes, and their numbers for a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

from jobrunner.admin.stats import Part
from jobrunner.lifecycle import Status

_MOST_LABELS = 8
_STEPS = (1, 2, 24)
"""Hours of a bar. Old ends are known by the day only."""


STACK = (Status.DEAD, Status.CANCELLED, Status.SUCCEEDED)


@dataclass(frozen=True)
class Size:
    """The bars' area, what is left of it and below it for labels, and how many bars it has room for."""

    width: int
    height: int
    left: int = 0
    below: int = 0
    most_bars: int = 96


LARGE = Size(960, 120, left=56, below=22)
SMALL = Size(120, 24, most_bars=32)


@dataclass(frozen=True)
class Bar:
    """The ends of some hours: where each status begins and how high it is, from the bottom."""

    x: float
    width: float
    parts: list[tuple[str, float, float]]
    title: str
    begin: datetime
    counts: dict[str, int]


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


def chart(ends: Sequence[Part], zone: tzinfo, size: Size = LARGE) -> Chart:
    """A drawing of this size. Its labels are hours of the zone, or days if it is longer than two of them."""
    step = -(-len(ends) // size.most_bars) or 1
    groups = [ends[index : index + step] for index in range(0, len(ends), step)]
    sums = [{status.value: sum(each.ended[status] for each in group) for status in STACK} for group in groups]
    most = max((sum(counts.values()) for counts in sums), default=0)
    width = size.width / max(1, len(groups))
    bars = []
    for index, (group, counts) in enumerate(zip(groups, sums, strict=True)):
        begin = group[0].begin.astimezone(zone)
        words = ", ".join(f"{counts[status]} {status}" for status in reversed(STACK))
        parts = _parts(counts, most, size.height)
        x = round(size.left + index * width, 1)
        bars.append(Bar(x, round(width * 0.85, 1), parts, f"{begin:%Y-%m-%d %H:%M}: {words}", begin, counts))
    return Chart(size, bars, most, labels(bars) if size.below else [])


def _parts(counts: dict[str, int], most: int, height: int) -> list[tuple[str, float, float]]:
    parts, bottom = [], float(height)
    for status in STACK:
        tall = round(height * counts[status] / max(1, most), 1)
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
    return places[::apart]
