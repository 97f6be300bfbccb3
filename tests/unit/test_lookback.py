"""How far back claims look: at all runs, unless that takes long and nothing else is the reason."""

from datetime import UTC, datetime, timedelta

import pytest

from jobrunner import clock
from jobrunner.worker.lookback import Lookback, Rarely

TURN = datetime(2026, 1, 1, tzinfo=UTC)
LATER = TURN + timedelta(minutes=1)
MARGIN = timedelta(seconds=3)
FROM_TURN = {"mail": TURN - MARGIN}


class Time:
    """The clock of a test."""

    seconds = 1000.0

    def elapsed(self) -> float:
        return self.seconds


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    time = Time()
    monkeypatch.setattr(clock, "elapsed", time.elapsed)
    return time


def slow(lookback: Lookback, claims: int = 3, seconds: float = 0.1, **turns: datetime | None) -> Lookback:
    """Claims that look at all runs, each with one run of a type."""
    for _ in range(claims):
        lookback.note({}, seconds, 0, turns or {"mail": TURN})
    return lookback


def short(lookback: Lookback, seconds: float = 0.001, **turns: datetime | None) -> None:
    """A claim that does not look at all runs."""
    lookback.note(FROM_TURN, seconds, 0, turns)


def test_claim_looks_at_all_runs_until_three_in_a_row_were_slow(time: Time) -> None:
    lookback = slow(Lookback(), claims=2)
    assert lookback.since() == {}
    assert slow(lookback, claims=1).since() == FROM_TURN
    slow(lookback, claims=1, seconds=0.001)
    assert slow(lookback, claims=2).since() == {}


def test_claim_of_many_runs_is_not_slow_because_of_their_number(time: Time) -> None:
    lookback = Lookback()
    for _ in range(9):
        lookback.note({}, 1.0, 10_000, {"mail": TURN})
    assert (lookback.whole.is_slow, lookback.since()) == (False, {})


def test_claim_looks_from_the_earliest_turn_of_each_type_in_the_last_seconds(time: Time) -> None:
    lookback = slow(Lookback(), mail=LATER, report=LATER)
    short(lookback, mail=TURN)
    time.seconds += 1.5
    short(lookback, mail=LATER)
    assert lookback.since() == {"mail": TURN - MARGIN, "report": LATER - MARGIN}
    time.seconds += 0.6
    short(lookback, mail=LATER)
    assert lookback.since() == {"mail": LATER - MARGIN, "report": LATER - MARGIN}


def test_type_whose_runs_take_long_is_looked_at_from_its_last_turn_however_long_ago_that_was(time: Time) -> None:
    """Its backlog would wait for the next look at all after each run, if a busier type said where to begin."""
    lookback = slow(Lookback(), mail=LATER, report=TURN)
    time.seconds += 600
    slow(lookback, mail=LATER)
    assert lookback.since()["report"] == TURN - MARGIN


@pytest.mark.parametrize("order", [(None, TURN), (TURN, None)])
def test_all_runs_of_a_type_are_looked_at_once_one_of_them_had_a_key(
    time: Time, order: tuple[datetime | None, ...]
) -> None:
    """A run that waited for its key has an early turn when it may begin: a chain of them would crawl."""
    lookback = slow(Lookback(), mail=TURN)
    for turn in order:
        short(lookback, report=turn)
    assert lookback.since() == FROM_TURN


@pytest.mark.parametrize(("seconds", "rest"), [(0.02, 1), (0.1, 4), (10, 15)])
def test_what_takes_long_rests_for_many_times_as_long_but_no_longer_than_fifteen_seconds(
    time: Time, seconds: float, rest: float
) -> None:
    rarely = Rarely(40)
    for each in (seconds, seconds, 0.0199, seconds, seconds):
        rarely.took(each)
    assert rarely.rest_seconds() == 0
    rarely.took(seconds)
    assert rarely.rest_seconds() == pytest.approx(rest)
    time.seconds += rest + 0.001
    assert rarely.rest_seconds() == 0


def test_claim_looks_at_all_runs_again_after_the_rest_or_when_it_is_told_to(time: Time) -> None:
    lookback = slow(Lookback())
    assert lookback.whole.rest_seconds() == pytest.approx(4)
    time.seconds += 4.01
    assert lookback.since() == {}
    assert slow(lookback, claims=1).since() == FROM_TURN
    lookback.whole.end()
    assert lookback.since() == {}


def test_claims_look_at_all_runs_for_a_minute_if_three_in_a_row_were_slow_although_they_did_not(time: Time) -> None:
    lookback = slow(Lookback())
    for seconds in (0.06, 0.06, 0.01, 0.06, 0.06):
        short(lookback, seconds)
    assert lookback.since() == FROM_TURN
    short(lookback, 0.06)
    time.seconds += 59
    assert (slow(lookback, claims=9).since(), lookback.whole.is_slow) == ({}, False)
    time.seconds += 2
    assert slow(lookback).since() == FROM_TURN
