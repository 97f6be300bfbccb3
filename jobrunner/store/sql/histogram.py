"""Durations and sizes counted in bins, so that quantiles of many days can be made from a few numbers. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, zip_longest

BOUNDS_SECONDS = tuple(step * 10.0**power for power in range(-3, 5) for step in (1, 2, 5))
"""The upper bounds of the bins, from a millisecond to half a day. One more bin counts what is longer."""
BINS = len(BOUNDS_SECONDS) + 1
BOUNDS_BYTES = tuple(2.0**power for power in range(20, 41))
"""The same of memory, from a mebibyte to a tebibyte. There are fewer than of durations."""

Bins = Sequence[int]
"""A histogram may leave out the empty bins at its end."""


def merged(histograms: Iterable[Bins]) -> list[int]:
    """The sum of histograms, without the empty bins at its end."""
    total = list(map(sum, zip_longest(*histograms, fillvalue=0)))[:BINS]
    return total[: max((index + 1 for index, count in enumerate(total) if count), default=0)]


def quantile(histogram: Bins, share: float, largest: float, bounds: Sequence[float] = BOUNDS_SECONDS) -> float | None:
    """What this share of all did not exceed, in the unit of the bounds; None if nothing was counted.

    It is exact only to its bin, in which the values are taken as spread evenly: the bounds of a bin differ by a
    factor of 2 or 2.5. ``largest`` is the largest value, which no quantile exceeds.
    """
    count = sum(histogram)
    if not count:
        return None
    rank = share * count
    for index, below in enumerate(accumulate(histogram)):
        if below >= rank and histogram[index]:
            lower = bounds[index - 1] if index else 0.0
            upper = bounds[index] if index < len(bounds) else largest
            inside = (rank - (below - histogram[index])) / histogram[index]
            return min(largest, lower + max(0.0, upper - lower) * inside)
    return largest
