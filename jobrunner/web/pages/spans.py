"""Waits and run times of the types as a drawing: a bar of each from p50 to p95, on one logarithmic scale.

Places and widths are in percent of the width of the drawing. The name of a type stands above its bars.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import log

from jobrunner.admin.stats import Durations, TypeStats
from jobrunner.durations import format_duration

MOST = 25
"""So many types are drawn, those with the most attempts. The table has all."""
_ROW, _TALL, _NAME, _THINNEST = 46, 9, 15, 0.5
_LONGEST_NAME = 32
_STEPS = (0.001, 0.01, 0.1, 1.0, 10.0, 60.0, 600.0, 3600.0, 36000.0, 864000.0)


@dataclass(frozen=True)
class Span:
    """One bar, from p50 to p95. ``kind``: waits or runs."""

    kind: str
    x: float
    y: int
    width: float


@dataclass(frozen=True)
class TypeSpans:
    """The bars of one type. ``label`` is its name, shortened."""

    label: str
    title: str
    y: int
    spans: list[Span]


@dataclass(frozen=True)
class Spans:
    """The drawing, and its lines at some durations, with labels. ``left_out``: so many types are not in it."""

    height: int
    tall: int
    rows: list[TypeSpans]
    lines: list[tuple[float, str]]
    left_out: int


def spans(types: Sequence[TypeStats]) -> Spans:
    """Of the types that have any attempts, in their order."""
    known = [each for each in types if _bounds(each.waits) or _bounds(each.run_times)]
    busiest = sorted(known, key=lambda each: -sum(each.attempts.values()))[:MOST]
    shown = [each for each in known if each in busiest]
    bounds = [bound for each in shown for times in (each.waits, each.run_times) for bound in _bounds(times)]
    low = max((step for step in _STEPS[:-1] if step <= min(bounds, default=1.0)), default=_STEPS[0])
    high = min((step for step in _STEPS if step >= max(bounds, default=1.0) and step > low), default=_STEPS[-1])
    rows = [_row(number, each, low, high) for number, each in enumerate(shown)]
    lines = [(_x(step, low, high), format_duration(timedelta(seconds=step))) for step in _STEPS if low <= step <= high]
    return Spans(_ROW * len(rows), _TALL, rows, lines, len(known) - len(shown))


def _bounds(times: Durations) -> tuple[float, ...]:
    return () if times.p50 is None or times.p95 is None else (times.p50, times.p95)


def _row(number: int, found: TypeStats, low: float, high: float) -> TypeSpans:
    name, y, bars, words = found.job_type, _ROW * number, [], []
    for place, (kind, verb, times) in enumerate((("waits", "waited", found.waits), ("runs", "ran", found.run_times))):
        if bounds := _bounds(times):
            begin, end = (_x(bound, low, high) for bound in bounds)
            bars.append(Span(kind, begin, y + _NAME + 5 + place * (_TALL + 2), round(max(_THINNEST, end - begin), 2)))
            p50, p95 = (format_duration(timedelta(seconds=bound)) for bound in bounds)
            words.append(f"{verb} p50 {p50}, p95 {p95}")
    label = name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
    return TypeSpans(label, f"{name}: {'; '.join(words)}", y + _NAME, bars)


def _x(seconds: float, low: float, high: float) -> float:
    """The place of a duration. Shorter ones stand at the left, longer ones at the right."""
    share = log(min(high, max(low, seconds)) / low) / log(high / low)
    return round((100 - _THINNEST) * share, 2)
