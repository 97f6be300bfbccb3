"""When the next tick of `jobrunner loop` is due."""

from datetime import UTC, datetime, timedelta

import pytest

from jobrunner.ticker.pace import Pace

BEGIN = datetime(2026, 3, 4, 5, 6, 7, 250_000, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.at = BEGIN

    def __call__(self) -> datetime:
        return self.at


@pytest.mark.parametrize(
    ("every_seconds", "left_seconds"), [(60, 52.75), (1, 0.75), (10, 2.75), (300, 232.75), (3600, 3232.75)]
)
def test_next_tick_is_that_of_the_next_full_period(every_seconds: int, left_seconds: float) -> None:
    pace = Pace(timedelta(seconds=every_seconds), Clock())
    assert pace.seconds_left() == pytest.approx(left_seconds, abs=1e-5)


def test_tick_at_the_very_instant_is_followed_by_one_a_whole_period_later() -> None:
    clock = Clock()
    pace = Pace(timedelta(minutes=1), clock)
    clock.at = BEGIN.replace(minute=7, second=0, microsecond=0)
    assert pace.seconds_left() == 0
    pace.go_on()
    assert pace.seconds_left() == 60


def test_sleep_that_ends_too_early_starts_no_tick_before_its_minute() -> None:
    clock = Clock()
    pace = Pace(timedelta(minutes=1), clock)
    clock.at = BEGIN.replace(second=59, microsecond=999_000)
    assert pace.seconds_left() == pytest.approx(0.001, abs=1e-5)


def test_what_was_missed_in_a_suspended_host_is_one_tick() -> None:
    clock = Clock()
    pace = Pace(timedelta(minutes=1), clock)
    clock.at = BEGIN + timedelta(hours=3)
    assert pace.seconds_left() == 0
    pace.go_on()
    assert pace.seconds_left() == pytest.approx(52.75, abs=1e-5)


def test_clock_that_is_set_back_delays_no_tick_for_longer_than_its_period() -> None:
    clock = Clock()
    pace = Pace(timedelta(minutes=1), clock)
    clock.at = BEGIN - timedelta(hours=1)
    assert pace.seconds_left() == pytest.approx(52.75, abs=1e-5)
