"""GCRA: a rate is never exceeded, in any time whatever, and is used up by whoever asks often enough."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrunner.errors import UsageError
from jobrunner.jobs.policy import as_data, from_data, make_policy
from jobrunner.model import Limits
from jobrunner.rates import Rate, parse_rate

LIMITS: list[dict[str, Any]] = [
    {"max_running": 3},
    {"rate": "10/s"},
    {"rate": "1/30s", "burst": 4, "concurrency_key": "a", "max_running_per_key": 2},
    {"concurrency_key": ["a", "b"], "rate_per_key": "100/m", "burst_per_key": 7},
]
START = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
rates = st.builds(
    lambda count, unit, burst: parse_rate("rate", f"{count}/{unit}", burst),
    st.integers(1, 1000),
    st.sampled_from(["s", "m", "h", "30s"]),
    st.none() | st.integers(1, 50),
)


@given(rates, st.lists(st.tuples(st.integers(-1000, 10**7), st.integers(0, 60)), max_size=60))
def test_no_stretch_of_time_has_more_than_the_burst_and_the_rate(rate: Rate, asked: list[tuple[int, int]]) -> None:
    """Whenever it is asked and whatever is wanted, also by a clock that steps back a little."""
    spent, now, begun = None, START, list[tuple[datetime, int]]()
    for microseconds, wanted in asked:
        now += timedelta(microseconds=microseconds)
        count = min(wanted, rate.allowed(spent, now))
        if count:
            spent = rate.spend(spent, now, count)
            begun.append((now, count))
    interval = rate.interval
    for first, (began, _) in enumerate(begun):
        total = 0
        for at, count in begun[first:]:
            total += count
            assert total <= rate.burst + max(at - began, timedelta(0)) / interval


@given(rates, st.integers(1, 60))
def test_a_rate_allows_again_exactly_when_it_says_so(rate: Rate, count: int) -> None:
    spent = rate.spend(None, START, rate.burst)
    assert rate.allowed(spent, START) == 0
    opens_at = rate.opens_at(spent, count)
    assert rate.allowed(spent, opens_at) == min(count, rate.burst)
    assert rate.allowed(spent, opens_at - timedelta(microseconds=1)) == min(count, rate.burst) - 1


@pytest.mark.parametrize("text", ["10/s", "3/s", "100/m", "1000/s"])
def test_who_asks_at_each_opening_uses_the_whole_rate(text: str) -> None:
    rate = parse_rate("rate", text, None)
    spent, now, begun = None, START, 0
    while now < START + 60 * SECOND:
        count = rate.allowed(spent, now)
        begun += count
        spent = rate.spend(spent, now, count)
        # Two milliseconds too late each time.
        now = max(rate.opens_at(spent, max(1, rate.burst // 2)), now) + timedelta(milliseconds=2)
    assert 0.95 * (60 * SECOND / rate.interval) <= begun <= rate.burst + 60 * SECOND / rate.interval


@pytest.mark.parametrize(
    ("text", "burst"), [("10/s", 10), ("1/s", 1), ("100/m", 1), ("300/m", 5), ("1/h", 1), ("5/2s", 2)]
)
def test_burst_is_what_the_rate_allows_in_a_second(text: str, burst: int) -> None:
    assert parse_rate("rate", text, None).burst == burst


@pytest.mark.parametrize(
    "text", ["", "10", "s", "10/", "/s", "0/s", "10/0s", "-1/s", "1.5/s", "10/week", "10000000/s", 10, None, "10/s\n/s"]
)
def test_what_is_no_rate_is_refused_by_its_name(text: object) -> None:
    with pytest.raises(UsageError, match=r"^rate [^\n]*$"):
        parse_rate("rate", text, None)


@pytest.mark.parametrize("options", LIMITS)
def test_limits_reach_the_parent_of_a_child_as_they_are(options: dict[str, Any]) -> None:
    policy = make_policy("a", **options)
    assert policy.limits is not None
    assert from_data(json.loads(json.dumps(as_data(policy)))) == policy


def test_a_key_alone_means_one_run_of_each_at_a_time() -> None:
    assert make_policy("a", concurrency_key="b").limits == Limits(concurrency_key=("b",), max_running_per_key=1)
    assert make_policy("a").limits is None
