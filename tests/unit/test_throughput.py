"""The throughput estimate: no prefetching for unknown or slow types, and a limited amount for short ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.counted_calls import calls_of
from jobrunner.worker.pools.throughput import AHEAD_SECONDS, MOST_IN_QUEUE, Throughput

durations = st.floats(0, 3600, allow_nan=False)


def learned(*seconds: float, job_type: str = "a") -> Throughput:
    throughput = Throughput()
    for each in seconds:
        throughput.learn(job_type, each)
    return throughput


def test_no_run_is_prefetched_behind_a_type_without_an_estimate() -> None:
    throughput = Throughput()
    assert (throughput.queue_length(), throughput.most("a"), throughput.is_short("a")) == (1, 1, False)
    throughput = learned(0.001)
    assert (throughput.most("b"), throughput.is_short("b")) == (1, False)


def test_a_short_type_gets_a_prefetch_queue_and_a_slow_type_does_not() -> None:
    throughput = learned(AHEAD_SECONDS / MOST_IN_QUEUE / 2)
    assert throughput.is_short("a")
    assert throughput.most("a") == MOST_IN_QUEUE
    throughput.learn("b", AHEAD_SECONDS * 1.01)
    assert (throughput.is_short("b"), throughput.most("b")) == (False, 1)
    assert throughput.is_short("a")


def test_estimate_follows_a_longer_run_at_once_and_shorter_runs_gradually() -> None:
    throughput = learned(*[0.001] * 100, 1.0)
    assert throughput.expected_seconds("a") == 1.0
    assert not throughput.is_short("a")
    throughput.learn("a", 0.001)
    assert not throughput.is_short("a")
    for _ in range(50):
        throughput.learn("a", 0.001)
    assert throughput.is_short("a")


def test_strict_mode_claims_ahead_and_prefetches_no_run() -> None:
    throughput = Throughput(strict=True)
    for _ in range(100):
        throughput.learn("a", 0.0)
    assert not throughput.is_short("a")
    assert throughput.queue_length() == throughput.most("a") == MOST_IN_QUEUE


def test_short_runs_need_two_children_and_longer_ones_as_many_as_can_be_fed() -> None:
    assert Throughput().most_children(0.0) == 2
    assert learned(*[0.000_02] * 3).most_children(0.000_05) == 2
    assert learned(*[0.000_1] * 3).most_children(0.000_05) == 3
    assert learned(*[0.01] * 3).most_children(0.000_05) > 200


def test_machine_that_is_slow_in_a_tick_and_its_children_needs_no_more_children() -> None:
    assert learned(*[0.000_08] * 3).most_children(0.000_1) == 2


def test_processor_time_of_a_tick_that_waits_for_runs_is_not_taken_for_what_a_run_costs() -> None:
    assert learned(*[0.01] * 3).most_children(5.0) == 51


def test_of_types_without_an_estimate_a_child_gets_one_run_and_of_the_others_what_it_can_do() -> None:
    throughput = learned(AHEAD_SECONDS / 3)
    throughput.learn("long", 60.0)
    throughput.learn("retired", 0.0)
    assert throughput.most_of_each(["a", "long", "new"], 2) == {"a": 8, "long": 2, "new": 2}
    assert throughput.short_types() == {"a", "retired"}


def test_capacity_of_a_host_of_five_hundred_types_asks_only_those_with_an_estimate() -> None:
    """A turn of the loop asks for it several times."""
    throughput = learned(0.001)
    names = ["a", *(f"type_{number}" for number in range(500))]
    assert calls_of(lambda: (throughput.most_of_each(names, 2), throughput.short_types())) < 20


@given(st.lists(durations, min_size=1))
def test_a_child_gets_at_least_the_run_at_work_and_never_too_many(seconds: list[float]) -> None:
    throughput = learned(*seconds)
    for length in (throughput.queue_length(), throughput.most("a")):
        assert 1 <= length <= MOST_IN_QUEUE


@given(st.lists(durations, min_size=1))
def test_queued_runs_never_exceed_the_prefetch_limit_of_work(seconds: list[float]) -> None:
    throughput = learned(*seconds)
    assert (throughput.most("a") - 1) * throughput.expected_seconds("a") <= AHEAD_SECONDS * (1 + 1e-9)
    assert throughput.expected_seconds("a") >= seconds[-1]


@pytest.mark.parametrize("seconds", [0.01, 0.05])
def test_the_queue_length_follows_the_duration_of_runs(seconds: float) -> None:
    throughput = learned(*[seconds] * 100)
    assert throughput.queue_length() == pytest.approx(1 + AHEAD_SECONDS / seconds, abs=1)
    assert throughput.most("a") == pytest.approx(1 + AHEAD_SECONDS / seconds, abs=1)
