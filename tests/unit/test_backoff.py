"""How long a failed run waits: the shapes, their caps, the jitter, and no overflow."""

import json
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrunner import backoff
from jobrunner.backoff import Backoff, exponential, fixed, polynomial, waits
from jobrunner.errors import UsageError

LATE = 10**6
YEAR_SECONDS = timedelta(days=365).total_seconds()

durations = st.floats(0, 10 * YEAR_SECONDS).map(lambda seconds: timedelta(seconds=seconds))
shares = st.floats(0, 1)
policies = st.one_of(
    st.builds(fixed, durations, jitter=shares),
    st.builds(exponential, durations, cap=durations, factor=st.floats(1, 1000), jitter=shares),
    st.builds(polynomial, durations, cap=durations, power=st.floats(0.01, 10), jitter=shares),
    st.builds(lambda each, jitter: waits(*each, jitter=jitter), st.lists(durations, min_size=1, max_size=5), shares),
)


def middle() -> float:
    """The chance that is neither shorter nor longer."""
    return 0.5


def seconds(policy: Backoff, *attempts: int) -> list[float]:
    return [policy.wait(attempt, middle).total_seconds() for attempt in attempts]


def test_the_default_doubles_from_a_minute_to_half_an_hour() -> None:
    minutes = [1, 2, 4, 8, 16, 30, 30]
    assert seconds(backoff.DEFAULT, *range(1, 8)) == [60 * each for each in minutes]
    assert backoff.DEFAULT.jitter == 0.2


def test_fixed_never_changes() -> None:
    assert seconds(fixed("90s"), 1, 2, 3, LATE) == [90] * 4


def test_exponential_grows_by_its_factor_up_to_its_cap() -> None:
    assert seconds(exponential("1s", factor=3, cap="1m"), 1, 2, 3, 4, 5, LATE) == [1, 3, 9, 27, 60, 60]


def test_waits_come_in_order_and_the_last_repeats() -> None:
    assert seconds(waits("1m", "10m", 5), 1, 2, 3, 4, LATE) == [60, 600, 5, 5, 5]


def test_polynomial_is_attempts_squared_times_ten_seconds() -> None:
    assert seconds(polynomial(), 1, 2, 3, 10) == [10, 40, 90, 1000]
    assert seconds(polynomial(), LATE) == [86400]
    assert seconds(polynomial("1s", power=3), 2, 3) == [8, 27]


def test_an_attempt_before_the_first_waits_like_the_first() -> None:
    assert seconds(exponential("1s"), 0, -5) == [1, 1]


@given(policies, st.integers(1, LATE), st.floats(0, 1))
def test_jitter_stays_within_its_share(policy: Backoff, attempt: int, chance: float) -> None:
    plain = policy.wait(attempt, middle).total_seconds()
    wait = policy.wait(attempt, lambda: chance).total_seconds()
    assert min(plain * (1 - policy.jitter), plain) - 1e-3 <= wait <= plain * (1 + policy.jitter) + 1e-3
    assert plain <= policy.cap_seconds + 1e-3
    assert 0 <= wait <= YEAR_SECONDS


@given(policies)
def test_jitter_reaches_both_of_its_ends(policy: Backoff) -> None:
    plain = policy.wait(3, middle).total_seconds()
    shortest = policy.wait(3, lambda: 0.0).total_seconds()
    longest = policy.wait(3, lambda: 1.0).total_seconds()
    assert shortest == pytest.approx(plain * (1 - policy.jitter), abs=1e-3)
    assert longest == pytest.approx(min(plain * (1 + policy.jitter), YEAR_SECONDS), abs=1e-3)


@pytest.mark.parametrize(
    "policy",
    [
        exponential("1h", factor=1000, cap="3660d"),
        polynomial("1h", power=10, cap="3660d"),
        waits("3660d"),
        fixed("3660d", jitter=1),
    ],
    ids=str,
)
@pytest.mark.parametrize("attempt", [LATE, 10**30])
def test_no_attempt_is_late_enough_to_overflow(policy: Backoff, attempt: int) -> None:
    assert policy.wait(attempt, lambda: 1.0) <= timedelta(days=365)
    assert policy.wait(attempt, middle) == timedelta(days=365)


def test_jitter_is_random_unless_a_random_source_is_given() -> None:
    drawn = {fixed("1h").wait(1) for _ in range(20)}
    assert len(drawn) > 1
    assert all(timedelta(minutes=48) <= wait <= timedelta(minutes=72) for wait in drawn)
    assert {fixed("1h", jitter=0).wait(1) for _ in range(20)} == {timedelta(hours=1)}


@given(policies)
def test_backoff_survives_the_transfer_from_child_to_parent(policy: Backoff) -> None:
    rebuilt = Backoff.from_data(json.loads(json.dumps(policy.as_data())))
    assert rebuilt == policy
    assert rebuilt.wait(3, middle) == policy.wait(3, middle)


def test_backoff_is_described_in_words() -> None:
    assert str(exponential("1m", cap="30m")) == "exponential 60s up to 1800s ±20%"
    assert str(waits("1m", "10m", jitter=0)) == "waits 60s, 600s ±0%"
    assert str(fixed("5s")) == "fixed 5s ±20%"


@pytest.mark.parametrize(
    ("build", "problem"),
    [
        (lambda: exponential(factor=0.5), "factor of 0.5 is out of range"),
        (lambda: exponential(factor=1001), "factor of 1001 is out of range"),
        (lambda: exponential(factor=float("nan")), "factor of nan is out of range"),
        (lambda: polynomial(power=0), "power of 0 is out of range"),
        (lambda: polynomial(power=11), "power of 11 is out of range"),
        (lambda: fixed("1m", jitter=-0.1), "jitter of -0.1 is out of range"),
        (lambda: fixed("1m", jitter=1.1), "jitter of 1.1 is out of range"),
        (lambda: fixed("1m", jitter=float("nan")), "jitter of nan is out of range"),
        (waits, "needs at least one wait"),
        (lambda: fixed("soon"), "'soon' is not a duration"),
        (lambda: exponential("1m", cap="-1s"), "'-1s' is not a duration"),
    ],
)
def test_invalid_backoff_is_refused(build: object, problem: str) -> None:
    assert callable(build)
    with pytest.raises(UsageError, match=problem):
        build()
