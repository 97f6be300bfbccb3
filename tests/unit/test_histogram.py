"""Durations in bins."""

from bisect import bisect_left

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrunner.store.sql.histogram import BINS, BOUNDS_SECONDS, merged, quantile


def bin_of(seconds: float) -> int:
    return bisect_left(BOUNDS_SECONDS, seconds)


durations = st.lists(st.floats(0, 1e6), min_size=1, max_size=50)


def histogram_of(seconds: list[float]) -> list[int]:
    return merged([0] * bin_of(each) + [1] for each in seconds)


def test_bounds_rise_from_a_millisecond_to_half_a_day() -> None:
    assert list(BOUNDS_SECONDS) == sorted(set(BOUNDS_SECONDS))
    assert BOUNDS_SECONDS[0] == 0.001
    assert BOUNDS_SECONDS[-1] == 50_000
    assert bin_of(1e9) == BINS - 1


@given(durations, durations)
def test_merged_histograms_count_all_of_both(some: list[float], others: list[float]) -> None:
    assert merged([histogram_of(some), histogram_of(others)]) == histogram_of(some + others)


@given(durations, st.floats(0.01, 1))
def test_quantile_lies_in_the_bin_of_the_true_one(seconds: list[float], share: float) -> None:
    exact = sorted(seconds)[min(len(seconds) - 1, max(0, -int(-share * len(seconds) // 1) - 1))]
    found = quantile(histogram_of(seconds), share, max(seconds))
    assert found is not None
    assert abs(bin_of(found) - bin_of(exact)) <= 1


def test_quantile_of_nothing_is_none() -> None:
    assert quantile((), 0.5, 0.0) is None


@pytest.mark.parametrize(("share", "expected"), [(0.5, 0.015), (1.0, 0.02)])
def test_quantile_takes_the_durations_in_a_bin_as_spread_evenly(share: float, expected: float) -> None:
    assert quantile([0, 0, 0, 0, 10], share, 1.0) == pytest.approx(expected)
