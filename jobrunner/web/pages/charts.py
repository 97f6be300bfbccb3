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
_GROUPS = 12
"""So many targets a drawing has where a finger points: on a screen of 320 pixels each is 24 wide."""


STACK = (Status.DEAD.value, Status.CANCELLED.value, Status.SUCCEEDED.value)
"""From the bottom. Plain texts: they are looked up thousands of times for one page."""


@dataclass(frozen=True)
class Size:
    """How high the area of the bars is, what is left above it for values and below it for labels, and its most bars."""

    height: int
    above: int = 0
    below: int = 0
    most_bars: int = 96


LARGE = Size(80, above=18, below=20)
SMALL = Size(24, most_bars=32)
_SMALL_WIDTH = 120
"""Of a small drawing, in pixels."""


@dataclass(frozen=True)
class Bar:
    """What happened from ``begin`` to ``end``: where each part begins and how high it is, from the bottom.

    ``link`` is the address of the runs behind it, below the mount.
    """

    x: float
    width: float
    parts: list[tuple[str, float, float]]
    title: str
    begin: datetime
    counts: dict[str, int]
    link: str


@dataclass(frozen=True)
class Target:
    """What leads to the runs of some bars that stand together, where a bar alone is narrower than a finger."""

    x: float
    width: float
    title: str
    link: str


@dataclass(frozen=True)
class Chart:
    """The bars, the oldest first, the highest count, the labels below with their places, and the targets of a phone."""

    size: Size
    bars: list[Bar]
    most: int
    labels: list[tuple[float, str]]
    targets: list[Target]


@dataclass(frozen=True)
class Spark:
    """A small drawing without links: the highest count, and for each status one path of all its bars."""

    width: int
    height: int
    most: int
    paths: list[tuple[str, str]]


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


def chart(ends: Sequence[Part], zone: tzinfo) -> Chart:
    """A large drawing. Its labels are hours of the zone, or days if it is longer than two of them."""
    step = -(-len(ends) // LARGE.most_bars) or 1
    begins = [each.begin for each in ends[::step]]
    numbers = [_sums([each.ended[status] for each in ends], step) for status in STACK]
    sums = [dict(zip(STACK, counts, strict=True)) for counts in zip(*numbers, strict=True)]
    most = _highest(sums)
    long = begins[1] - begins[0] if len(begins) > 1 else timedelta(hours=1)
    bars = []
    for index, (begin, counts) in enumerate(zip(begins, sums, strict=True)):
        shown, link = begin.astimezone(zone), _link(begin, begin + long)
        title = f"{shown:%Y-%m-%d %H:%M}: {_in_words(counts)}"
        bars.append(Bar(*place(index, len(begins)), _parts(counts, most, LARGE), title, shown, counts, link))
    return Chart(LARGE, bars, most, labels(bars), _targets(bars, long))


def spark(ends: Mapping[str, Sequence[int]]) -> Spark:
    """A small drawing of the numbers of each status, part by part.

    A page has one of each type: as single bars they would be most of its bytes and of its time.
    """
    step = -(-max(map(len, ends.values()), default=0) // SMALL.most_bars) or 1
    of_status = [_sums(ends[status], step) for status in STACK]
    sums = [dict(zip(STACK, counts, strict=True)) for counts in zip(*of_status, strict=True)]
    most, paths = _highest(sums), {status: list[str]() for status in STACK}
    room = _SMALL_WIDTH / max(1, len(sums))
    wide = f"{room * _FULL:.1f}"
    for index, counts in enumerate(sums):
        for status, top, tall in _parts(counts, most, SMALL):
            paths[status].append(f"M{index * room:.1f} {top:g}h{wide}v{tall:g}h-{wide}z")
    return Spark(_SMALL_WIDTH, SMALL.height, most, [(status, "".join(each)) for status, each in paths.items() if each])


def _sums(numbers: Sequence[int], step: int) -> list[int]:
    return [sum(numbers[index : index + step]) for index in range(0, len(numbers), step)]


def _highest(sums: Sequence[Mapping[str, int]]) -> int:
    return max((sum(counts.values()) for counts in sums), default=0)


def _in_words(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{counts[status]} {status}" for status in reversed(STACK))


def _targets(bars: Sequence[Bar], long: timedelta) -> list[Target]:
    """Of the bars in groups, those in which anything ended."""
    found = []
    for group in groups_of(bars):
        counts = {status: sum(bar.counts[status] for bar in group) for status in STACK}
        end = group[-1].begin + long
        if any(counts.values()):
            found.append(target(group, end, _in_words(counts), _link(group[0].begin, end)))
    return found


def groups_of(bars: Sequence[Bar]) -> list[Sequence[Bar]]:
    """The bars in groups that are wide enough for a finger on a phone, the oldest first."""
    step = -(-len(bars) // _GROUPS) or 1
    # What is left over belongs to the last one, which would be narrower than the others.
    begins = range(0, len(bars) - step + 1, step)
    ends = [*begins[1:], len(bars)]
    return [bars[begin:end] for begin, end in zip(begins, ends, strict=True)] if bars else []


def target(group: Sequence[Bar], end: datetime, words: str, link: str) -> Target:
    """What leads to the runs of a group of bars. ``words`` say what happened in it."""
    first, last = group[0], group[-1]
    title = f"{first.begin:%m-%d %H:%M} to {end:%H:%M}: {words}"
    if end - first.begin >= timedelta(days=1):
        title = f"{first.begin:%m-%d} to {end:%m-%d}: {words}"
    # Up to where the next bar begins.
    return Target(first.x, round(last.x + last.width / _FULL - first.x, 2), title, link)


def _link(begin: datetime, end: datetime) -> str:
    return runs_between(begin, end, status=list(STACK))


def _parts(counts: Mapping[str, int], most: int, size: Size) -> list[tuple[str, float, float]]:
    parts, bottom = [], float(size.above + size.height)
    for status in STACK:
        tall = round(size.height * counts[status] / max(1, most), 1)
        bottom -= tall
        if tall:
            parts.append((status, round(bottom, 1), tall))
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
