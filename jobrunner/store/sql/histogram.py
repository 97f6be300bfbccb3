"""Durations counted in bins, so that quantiles of many days can be made from a few numbers. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, zip_longest

BOUNDS_SECONDS = tuple(step * 10.0**power for power in range(-3, 5) for step in (1, 2, 5))
"""The upper bounds of the bins, from a millisecond to half a day. One more bin counts what is longer."""
BINS = len(BOUNDS_SECONDS) + 1

Bins = Sequence[int]
"""A histogram may leave out the empty bins at its end."""


def merged(histograms: Iterable[Bins]) -> list[int]:
    """The sum of histograms, without the empty bins at its end."""
    total = list(map(sum, zip_longest(*histograms, fillvalue=0)))[:BINS]
    return total[: max((index + 1 for index, count in enumerate(total) if count), default=0)]


def quantile(histogram: Bins, share: float, longest_seconds: float) -> float | None:
    """The duration that this share of all did not exceed, in seconds; None if nothing was counted.

    It is exact only to its bin, in which the durations are taken as spread evenly: the bounds of a bin differ by a
    factor of 2 or 2.5. ``longest_seconds`` is the longest duration, which no quantile exceeds.
    """
    count = sum(histogram)
    if not count:
        return None
    rank = share * count
    for index, below in enumerate(accumulate(histogram)):
        if below >= rank and histogram[index]:
            lower = BOUNDS_SECONDS[index - 1] if index else 0.0
            upper = BOUNDS_SECONDS[index] if index < len(BOUNDS_SECONDS) else longest_seconds
            inside = (rank - (below - histogram[index])) / histogram[index]
            return min(longest_seconds, lower + max(0.0, upper - lower) * inside)
    return longest_seconds
