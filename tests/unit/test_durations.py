"""Durations as people write them."""

from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrunner.durations import format_duration, parse_duration
from jobrunner.errors import UsageError
from jobrunner.text import shown

TEN_YEARS = timedelta(days=3660)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("3s", 3),
        ("2m", 120),
        ("1h30m", 5400),
        ("500ms", 0.5),
        ("1d", 86400),
        ("2w", 1209600),
        ("1.5h", 5400),
        ("90", 90),
        ("0", 0),
        ("0s", 0),
        ("0.25", 0.25),
        ("  5m ", 300),
        ("1m1m", 120),
        (45, 45),
        (1.5, 1.5),
        (timedelta(minutes=2), 120),
        ("3660d", TEN_YEARS.total_seconds()),
    ],
)
def test_durations_in_usual_forms_are_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "value",
    ["", " ", "s", "5x", "5 m", "1h 30m", "-5", "-1s", "+5m", "1,5h", ".5s", "5.", "1e3", "٣s", "５s", "inf", "nan",
     "5m\x00", "5M", None, True, False, float("nan"), float("inf"), -1, [], b"5s", Decimal(5), -(10**5000)],
    ids=shown,
)  # fmt: skip
def test_other_durations_are_refused_with_the_correct_form(value: object) -> None:
    with pytest.raises(UsageError, match="is not a duration; write it as 30s, 5m or 1h30m"):
        parse_duration(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value",
    [timedelta(seconds=-1), timedelta.max, "3661d", "999999999999w", "9" * 40, 10**20, 1e30, 10**5000],
    ids=shown,
)
def test_negative_durations_and_more_than_ten_years_are_refused(value: object) -> None:
    with pytest.raises(UsageError, match="out of range; it must lie between 0 and ten years"):
        parse_duration(value)  # type: ignore[arg-type]


def test_long_text_is_cut_in_the_error_about_a_duration() -> None:
    with pytest.raises(UsageError, match="at most 40 characters") as refused:
        parse_duration("1s" * 1000)
    assert len(str(refused.value)) < 100


@given(st.integers(0, int(TEN_YEARS.total_seconds())))
def test_plain_seconds_are_seconds(seconds: int) -> None:
    assert parse_duration(seconds) == parse_duration(str(seconds)) == parse_duration(f"{seconds}s")


@given(st.text(max_size=50))
def test_any_text_is_a_duration_or_refused(text: str) -> None:
    try:
        duration = parse_duration(text)
    except UsageError:
        return
    assert timedelta(0) <= duration <= TEN_YEARS


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (timedelta(0), "0s"),
        (timedelta(microseconds=600), "1ms"),
        (timedelta(milliseconds=250), "250ms"),
        (timedelta(seconds=45), "45s"),
        (timedelta(seconds=59.6), "1m"),
        (timedelta(minutes=90), "1h30m"),
        (timedelta(hours=51, minutes=10), "2d3h"),
        (timedelta(days=400), "400d"),
        (timedelta(seconds=-90), "-1m30s"),
    ],
)
def test_durations_are_formatted_for_people(duration: timedelta, text: str) -> None:
    assert format_duration(duration) == text


@given(st.timedeltas(timedelta(0), TEN_YEARS - timedelta(days=1)))
def test_formatted_durations_can_be_read_again(duration: timedelta) -> None:
    """The two largest units: nothing is off by more than the second of them."""
    shown = parse_duration(format_duration(duration))
    unit = timedelta(milliseconds=1) if duration < timedelta(seconds=1) else timedelta(seconds=1)
    unit = timedelta(minutes=1) if duration >= timedelta(hours=1) else unit
    unit = timedelta(hours=1) if duration >= timedelta(days=1) else unit
    assert abs(shown - duration) <= unit


@pytest.mark.parametrize("seconds", [0.9996, 0.9999, 1.0])
def test_duration_just_under_a_second_is_shown_as_a_second(seconds: float) -> None:
    assert format_duration(timedelta(seconds=seconds)) == "1s"
