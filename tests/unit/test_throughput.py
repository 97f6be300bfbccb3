"""How far ahead runs are handed out: never for what is unknown or slow, never far beyond what is short."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrunner.worker.pools.throughput import AHEAD_SECONDS, MOST_IN_QUEUE, Throughput

durations = st.floats(0, 3600, allow_nan=False)


def learned(*seconds: float, job_type: str = "a") -> Throughput:
    pace = Throughput()
    for each in seconds:
        pace.learn(job_type, each)
    return pace


def test_nothing_waits_behind_what_is_not_known() -> None:
    pace = Throughput()
    assert (pace.queue_length(), pace.most("a"), pace.is_short("a")) == (1, 1, False)
    pace = learned(0.001)
    assert (pace.most("b"), pace.is_short("b")) == (1, False)


def test_a_short_type_gets_a_line_and_a_slow_one_does_not() -> None:
    pace = learned(AHEAD_SECONDS / MOST_IN_QUEUE / 2)
    assert pace.is_short("a")
    assert pace.most("a") == MOST_IN_QUEUE
    pace.learn("b", AHEAD_SECONDS * 1.01)
    assert (pace.is_short("b"), pace.most("b")) == (False, 1)
    assert pace.is_short("a")


def test_a_longer_run_counts_at_once_and_shorter_ones_by_and_by() -> None:
    pace = learned(*[0.001] * 100, 1.0)
    assert pace.expected_seconds("a") == 1.0
    assert not pace.is_short("a")
    pace.learn("a", 0.001)
    assert not pace.is_short("a")
    for _ in range(50):
        pace.learn("a", 0.001)
    assert pace.is_short("a")


def test_strict_hands_nothing_out_ahead() -> None:
    pace = Throughput(strict=True)
    for _ in range(100):
        pace.learn("a", 0.0)
    assert (pace.queue_length(), pace.most("a"), pace.is_short("a")) == (1, 1, False)


@given(st.lists(durations, min_size=1))
def test_a_line_holds_at_least_the_one_at_work_and_never_too_many(seconds: list[float]) -> None:
    pace = learned(*seconds)
    for length in (pace.queue_length(), pace.most("a")):
        assert 1 <= length <= MOST_IN_QUEUE


@given(st.lists(durations, min_size=1))
def test_what_waits_is_never_more_work_than_is_handed_out_ahead(seconds: list[float]) -> None:
    pace = learned(*seconds)
    assert (pace.most("a") - 1) * pace.expected_seconds("a") <= AHEAD_SECONDS * (1 + 1e-9)
    assert pace.expected_seconds("a") >= seconds[-1]


@pytest.mark.parametrize("seconds", [0.01, 0.05])
def test_the_line_follows_the_time_that_runs_take(seconds: float) -> None:
    pace = learned(*[seconds] * 100)
    assert pace.queue_length() == pytest.approx(1 + AHEAD_SECONDS / seconds, abs=1)
    assert pace.most("a") == pytest.approx(1 + AHEAD_SECONDS / seconds, abs=1)
