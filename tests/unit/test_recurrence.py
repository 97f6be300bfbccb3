"""The slots of schedules: clock changes, days, and the ends of the calendar."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from jobrunner.schedules.recurrence import Recurrence, Slots
from unit.recurrences import BERLIN, DAY, LORD_HOWE, SANTIAGO, TROLL, utc


@pytest.mark.parametrize(
    ("text", "zone", "after", "until", "expected"),
    [
        # Put forward at 02:00 to 03:00: a time of day that does not exist comes right after, once.
        ("30 2 * * *", BERLIN, "2026-03-29T00:00", "2026-03-29T03:00", ["01:00"]),
        ("0,15,30 2 * * *", BERLIN, "2026-03-29T00:00", "2026-03-29T03:00", ["01:00"]),
        ("30 2,3 * * *", BERLIN, "2026-03-29T00:00", "2026-03-29T03:00", ["01:00", "01:30"]),
        ("*/30 2 * * *", BERLIN, "2026-03-29T00:00", "2026-03-29T03:00", []),
        ("30 * * * *", BERLIN, "2026-03-28T23:59", "2026-03-29T02:59", ["00:30", "01:30", "02:30"]),
        # Put back at 03:00 to 02:00: a time of day comes in the first pass only.
        ("30 2 * * *", BERLIN, "2026-10-24T23:59", "2026-10-25T03:00", ["00:30"]),
        ("0 3 * * *", BERLIN, "2026-10-24T23:59", "2026-10-25T03:00", ["02:00"]),
        ("30 * * * *", BERLIN, "2026-10-24T23:59", "2026-10-25T02:59", ["00:30", "01:30", "02:30"]),
        ("15 2 * * *", LORD_HOWE, "2026-10-03T12:00", "2026-10-03T23:00", ["15:30"]),
        ("45 1 * * *", LORD_HOWE, "2026-04-04T12:00", "2026-04-04T23:00", ["14:45"]),
        ("0 0 * * *", SANTIAGO, "2026-09-06T00:00", "2026-09-06T23:00", ["04:00"]),
        ("30 23 * * *", SANTIAGO, "2026-04-04T20:00", "2026-04-05T20:00", ["02:30"]),
        ("30 1,2 * * *", TROLL, "2026-03-29T00:00", "2026-03-29T03:00", ["01:00"]),
        # A whole day that Samoa never had is a correction: nothing moves.
        ("0 12 * * *", "Pacific/Apia", "2011-12-29T00:00", "2011-12-31T21:00", ["22:00", "22:00"]),
    ],
)
def test_slots_around_clock_changes(text: str, zone: str, after: str, until: str, expected: list[str]) -> None:
    found = Recurrence.parse(text, zone).slots(utc(after), utc(until))
    assert [f"{slot:%H:%M}" for slot in found] == expected


@pytest.mark.parametrize(
    ("text", "after", "expected"),
    [
        ("0 0 29 2 *", "2026-01-01", "2028-02-29"),
        ("0 0 29 2 *", "2096-03-01", "2104-02-29"),  # 2100 is no leap year
        ("0 0 29 2 */7", "2026-01-01", "2032-02-29"),
        ("@yearly", "2026-01-01", "2027-01-01"),
        ("@monthly", "2026-01-01", "2026-02-01"),
        ("@weekly", "2026-01-01", "2026-01-04"),
        ("0 0 13 * fri", "2026-02-01", "2026-02-06"),  # either day
        ("0 0 */13 * fri", "2026-02-02", "2026-02-27"),  # both, because one begins with a star
        ("0 0 * * 7", "2026-01-01", "2026-01-04"),
        ("0 0 L * *", "2026-02-01", "2026-02-28"),
        ("0 0 LW * *", "2026-02-01", "2026-02-27"),
        ("0 0 * * 5L", "2026-01-01", "2026-01-30"),
        ("0 0 * * mon#2", "2026-01-01", "2026-01-12"),
        ("0 0 * * 0#1", "2026-01-05", "2026-02-01"),
        ("0 0 19 1 *", "2038-01-01", "2038-01-19"),
        ("0 0 1 1 *", "2038-01-19T03:14:08", "2039-01-01"),
    ],
)
def test_slots_on_day_rules(text: str, after: str, expected: str) -> None:
    recurrence = Recurrence.parse(text)
    assert recurrence.next_after(utc(after)) == utc(expected)
    assert recurrence.previous_before(utc(expected) + DAY / 2) == utc(expected)
    assert (recurrence.previous_before(utc(expected)) or utc("1970-01-01")) <= utc(after)


def test_the_slots_before_and_after_are_found_over_decades_without_leap_days() -> None:
    on_sundays = Recurrence.parse("0 0 29 2 */7")
    assert on_sundays.previous_before(utc("2032-02-29")) == utc("2004-02-29")
    assert on_sundays.next_after(utc("2088-02-29")) == utc("2128-02-29")
    assert on_sundays.previous_before(utc("2128-02-29")) == utc("2088-02-29")
    assert Recurrence.parse("0 0 29 2 *").previous_before(utc("2104-02-29")) == utc("2096-02-29")


def test_daylight_saving_goes_on_after_2038() -> None:
    assert Recurrence.parse("30 2 * * *", BERLIN).next_after(utc("2040-03-25")) == utc("2040-03-25T01:00")
    assert Recurrence.parse("0 12 * * *", BERLIN).next_after(utc("2040-07-01")) == utc("2040-07-01T10:00")


def test_a_slot_is_later_than_the_instant_asked_from_to_the_microsecond() -> None:
    recurrence = Recurrence.parse("0 2 * * *")
    assert recurrence.next_after(utc("2026-01-01T01:59:59.999999")) == utc("2026-01-01T02:00")
    assert recurrence.next_after(utc("2026-01-01T02:00")) == utc("2026-01-02T02:00")
    assert recurrence.next_after(utc("2026-01-01T02:00:00.000001")) == utc("2026-01-02T02:00")


def test_the_ends_of_the_calendar_are_no_error() -> None:
    recurrence = Recurrence.parse("* * * * *", "Pacific/Kiritimati")
    assert recurrence.next_after(datetime.max.replace(tzinfo=UTC)) is None
    assert recurrence.next_after(datetime.min.replace(tzinfo=UTC)) is not None
    assert recurrence.latest(utc("9999-12-01"), datetime.max.replace(tzinfo=UTC)).count > 0
    assert Recurrence.parse("0 0 29 2 *").next_after(utc("9998-01-01")) is None
    assert next(recurrence.slots(utc("2026-01-01"), datetime.max.replace(tzinfo=UTC))) == utc("2026-01-01T00:01")


def test_instants_without_a_zone_are_refused_and_other_zones_are_understood() -> None:
    recurrence = Recurrence.parse("0 2 * * *")
    naive = utc("2026-01-01").replace(tzinfo=None)
    for ask in (
        recurrence.next_after,
        recurrence.previous_before,
        lambda at: recurrence.slots(at, at),
        lambda at: recurrence.latest(at, at),
    ):
        with pytest.raises(ValueError, match="time zone"):
            ask(naive)
    answer = recurrence.next_after(utc("2026-01-01T01:30").astimezone(ZoneInfo("Asia/Tokyo")))
    assert answer == utc("2026-01-01T02:00")
    assert answer.tzinfo is UTC


def test_an_empty_span_has_no_slots() -> None:
    recurrence, at = Recurrence.parse("* * * * *"), utc("2026-01-01")
    for until in (at, at - DAY):
        assert list(recurrence.slots(at, until)) == []
        assert recurrence.latest(at, until) == Slots(None, None, 0)


def test_counting_ten_years_of_minutes_does_not_walk_through_them() -> None:
    found = Recurrence.parse("* * * * *", BERLIN).latest(utc("2016-01-01"), utc("2026-01-01"))
    assert found == Slots(utc("2016-01-01T00:01"), utc("2026-01-01"), (10 * 365 + 3) * 1440)


def test_blanks_are_made_single_and_equal_schedules_are_equal() -> None:
    assert Recurrence.parse(" 0\t2  * * * ") == Recurrence("0 2 * * *", "UTC")
