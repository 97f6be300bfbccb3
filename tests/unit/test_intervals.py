"""Plain intervals: counted in real time from a fixed instant, with the same slots for every caller."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrunner.errors import BadSchedule
from jobrunner.schedules.recurrence import Recurrence, Slots
from unit.recurrences import BERLIN, HOUR, MINUTE, assert_one_line, instants, quickly, utc


@pytest.mark.parametrize(
    ("text", "after", "expected"),
    [
        ("every 10m", "2026-01-01T08:59", "2026-01-01T09:00"),
        ("every 10m", "2026-01-01T09:00", "2026-01-01T09:10"),
        ("every 7m", "1970-01-01T00:00", "1970-01-01T00:07"),
        ("every 1h30m", "1970-01-01T02:00", "1970-01-01T03:00"),
        ("every 90s", "1970-01-01T00:01", "1970-01-01T00:01:30"),
        ("every 1d", "2026-05-01T00:00", "2026-05-02T00:00"),
        ("every 10m from 2026-01-01T09:03:00+01:00", "2026-01-01T08:00", "2026-01-01T08:03"),
        ("every 10m from 2026-01-01T09:03:00+01:00", "2026-01-01T08:03", "2026-01-01T08:13"),
        ("every 10m from 2026-01-01T09:03Z", "2026-01-02T00:00", "2026-01-02T00:03"),
    ],
)
def test_intervals_are_counted_from_their_anchor(text: str, after: str, expected: str) -> None:
    assert Recurrence.parse(text).next_after(utc(after)) == utc(expected)


def test_an_interval_has_no_slot_before_its_anchor() -> None:
    recurrence, anchor = Recurrence.parse("every 1d from 2027-01-01T09:00:00Z"), utc("2027-01-01T09:00")
    assert recurrence.next_after(utc("2026-01-01")) == anchor
    assert recurrence.previous_before(anchor) is None
    assert recurrence.latest(utc("2026-01-01"), utc("2027-01-02")) == Slots(anchor, anchor, 1)
    assert list(recurrence.slots(utc("2026-01-01"), anchor)) == [anchor]


def test_an_interval_follows_real_time_through_both_changes_of_the_clock() -> None:
    for day in ("2026-03-28T21:00", "2026-10-24T21:00"):
        slots = list(Recurrence.parse("every 90m", BERLIN).slots(utc(day), utc(day) + 9 * HOUR))
        assert slots == [utc(day) + n * 90 * MINUTE for n in range(1, 7)]


def test_intervals_go_on_to_the_end_of_the_calendar_and_no_further() -> None:
    recurrence = Recurrence.parse("every 366d from 9998-06-01T00:00:00Z")
    assert recurrence.next_after(utc("9998-06-01")) == utc("9999-06-02")
    assert recurrence.next_after(datetime.max.replace(tzinfo=UTC)) is None
    assert recurrence.previous_before(datetime.min.replace(tzinfo=UTC)) is None
    with pytest.raises(ValueError, match="time zone"):
        recurrence.next_after(utc("2026-01-01").replace(tzinfo=None))


def test_blanks_are_made_single_so_that_equal_intervals_are_equal() -> None:
    assert Recurrence.parse("  every\t10m   from 2026-01-01T09:00Z ") == Recurrence("every 10m from 2026-01-01T09:00Z")


minutes = st.integers(1, 366 * 24 * 60)
anchors = st.datetimes(datetime.fromisoformat("1990-01-01"), datetime.fromisoformat("2030-01-01"))
intervals = st.one_of(
    st.builds("every {}m".format, minutes), st.builds("every {}m from {:%Y-%m-%dT%H:%M:%S}Z".format, minutes, anchors)
)


@quickly
@given(intervals, instants, st.floats(0, 2000))
def test_methods_of_an_interval_agree_with_each_other(text: str, after: datetime, hours: float) -> None:
    recurrence, until = Recurrence(text, "Europe/Dublin"), after + hours * HOUR
    asked, at = [], recurrence.next_after(after)
    while at is not None and at <= until and len(asked) < 200:
        asked.append(at)
        previous = recurrence.previous_before(at)
        assert previous is None or recurrence.next_after(previous) == at
        at = recurrence.next_after(at)
    if len(asked) < 200:
        assert list(recurrence.slots(after, until)) == asked
        counted = Slots(asked[0], asked[-1], len(asked)) if asked else Slots(None, None, 0)
        assert recurrence.latest(after, until) == counted
    assert all(after < slot for slot in asked)
    assert len({(other - one) for one, other in pairwise(asked)}) <= 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("every", "write 'every 10m', or 'every 10m from 2026-01-01T09:00:00Z'"),
        ("every 10", "'10' has no unit; write 10m for minutes"),
        ("every 10.5", "has no unit"),
        ("every 10 m", "after 'every' comes one length"),
        ("every 10 minutes", "after 'every' comes one length"),
        ("every day", "'day' is not a length; write 10m, 1h30m or 2d"),
        ("every 5x", "'5x' is not a length"),
        ("every -5m", "'-5m' is not a length"),
        ("every ٥m", "plain ASCII"),
        ("every 59s", "too short; an interval lies between 1m and 366d"),
        ("every 0m", "too short"),
        ("every 367d", "too long; an interval lies between 1m and 366d"),
        ("every 9999999999d", "too long"),
        ("every 90500ms", "a fraction of a second; write whole seconds"),
        ("every 10m starting 2026-01-01T09:00:00Z", "after 'every' comes one length, then optionally 'from'"),
        ("every 10m from", "after 'every' comes one length"),
        ("every 10m from 2026-01-01T09:00:00", "has no offset; write 2026-01-01T09:00:00Z for UTC"),
        ("every 10m from 2026-01-01", "is not an instant; write 2026-01-01T09:00:00Z"),
        ("every 10m from 2026-02-30T09:00:00Z", "is not an instant"),
        ("every 10m from 1969-12-31T23:59:00Z", "is not an instant"),
        ("every 10m from 9999-01-01T00:00:00Z", "is not an instant"),
        ("every 10m from tomorrow", "is not an instant"),
        ("every 10m\nfrom 2026-01-01T09:00:00Z", "one line"),
        ("every 10m" + " " * 2000, "at most 1000"),
        ("@every 5m", "write 'every 5m'"),
    ],
    ids=lambda value: ascii(value)[:30],
)
def test_refused_intervals(text: str, told: str) -> None:
    with pytest.raises(BadSchedule) as caught:
        Recurrence.parse(text)
    assert_one_line(str(caught.value), told)
    with pytest.raises(BadSchedule):
        Recurrence(text)


def test_the_zone_of_an_interval_is_checked_too() -> None:
    with pytest.raises(BadSchedule, match="not a known zone"):
        Recurrence.parse("every 10m", "Mars/Olympus")
    shown = Recurrence("every 10m", BERLIN).next_after(utc("2026-01-01") - timedelta(seconds=1))
    assert shown is not None
    assert shown.astimezone(ZoneInfo(BERLIN)).hour == 1
