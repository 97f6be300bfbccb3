"""The backlog over time: what ticks left behind, as bars of a quarter of an hour, with their numbers for a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

from jobrunner.store.questions.trails import LeftBehind
from jobrunner.web.pages.charts import LARGE, Bar, Chart, Target, groups_of, labels, place, runs_between, target

_SPAN = timedelta(minutes=15)
_BARS = 96
PERIOD = _SPAN * _BARS
"""What the drawing shows."""
MOST_TICKS = 3000


@dataclass(frozen=True)
class Backlog:
    """The drawing, and the most that any tick left in each span, in words, the newest first, for its table.

    ``is_whole``: all that was left is in it, and not only what the newest ticks left.
    """

    chart: Chart
    rows: list[tuple[datetime, str]]
    is_whole: bool


def backlog(found: Sequence[LeftBehind], at: datetime, zone: tzinfo) -> Backlog:
    """Of each span the tick that left the most. A span without a bar has none that left anything."""
    begin = at.replace(minute=at.minute // 15 * 15, second=0, microsecond=0) - PERIOD + _SPAN
    highest: dict[int, LeftBehind] = {}
    for each in found:
        index = (each.at - begin) // _SPAN
        if 0 <= index < _BARS and (index not in highest or each.total > highest[index].total):
            highest[index] = each
    most = max((each.total for each in highest.values()), default=0)
    bars = [_bar(index, begin + _SPAN * index, highest.get(index), most, zone) for index in range(_BARS)]
    rows = [(bars[index].begin, _in_words(highest[index])) for index in sorted(highest, reverse=True)]
    return Backlog(Chart(LARGE, bars, most, labels(bars), _targets(bars, highest)), rows, len(found) < MOST_TICKS)


def _targets(bars: Sequence[Bar], highest: Mapping[int, LeftBehind]) -> list[Target]:
    """Of the bars in groups, those in which a tick left anything, with the most that one left."""
    found, first = [], 0
    for group in groups_of(bars):
        left = [highest[index] for index in range(first, first + len(group)) if index in highest]
        first += len(group)
        if left:
            end, most = group[-1].begin + _SPAN, max(left, key=lambda each: each.total)
            found.append(target(group, end, _in_words(most), runs_between(group[0].begin, end)))
    return found


def _bar(index: int, begin: datetime, found: LeftBehind | None, most: int, zone: tzinfo) -> Bar:
    total = 0 if found is None else found.total
    tall = round(LARGE.height * total / max(1, most), 1)
    parts = [("left", round(LARGE.above + LARGE.height - tall, 1), tall)] if tall else []
    words = "" if found is None else _in_words(found)
    shown, link = begin.astimezone(zone), runs_between(begin, begin + _SPAN)
    return Bar(*place(index, _BARS), parts, f"{shown:%Y-%m-%d %H:%M}: {words}", shown, {}, link)


def _in_words(found: LeftBehind) -> str:
    by_type = sorted(found.runs.items(), key=lambda each: (-each[1], each[0]))
    listed = ", ".join(f"{count} {job_type}" for job_type, count in by_type)
    return f"{'at least ' if found.at_least else ''}{found.total} ({listed})"
