"""Local times in a gap or a fold of a zone: the reported effects agree with the slots."""

from __future__ import annotations

from datetime import timedelta

import pytest

from jobrunner.schedules.dst import AffectedTimes, affected_times
from jobrunner.schedules.recurrence import Recurrence
from unit.recurrences import BERLIN, DAY, LORD_HOWE, SANTIAGO, TROLL, utc

YEAR = 366 * DAY
MINUTE = timedelta(minutes=1)


def found(text: str, zone: str, after: str = "2026-01-01") -> list[AffectedTimes]:
    return list(affected_times(Recurrence.parse(text, zone), utc(after), YEAR))


def told(text: str, zone: str, after: str = "2026-01-01") -> list[str]:
    return [f"{c.first:%m-%d %H:%M}-{c.last:%H:%M} {c.count} {c.effect}" for c in found(text, zone, after)]


@pytest.mark.parametrize(
    ("text", "zone", "expected"),
    [
        ("30 2 * * *", BERLIN, ["03-29 02:30-02:30 1 moved", "10-25 02:30-02:30 1 first pass"]),
        ("0,30 1-2 * * *", BERLIN, ["03-29 02:00-02:30 2 moved", "10-25 02:00-02:30 2 first pass"]),
        ("*/30 2 * * *", BERLIN, ["03-29 02:00-02:30 2 real time", "10-25 02:00-02:30 2 real time"]),
        ("* * * * *", BERLIN, ["03-29 02:00-02:59 60 real time", "10-25 02:00-02:59 60 real time"]),
        ("0 3 * * *", BERLIN, []),
        ("30 2 * * mon", BERLIN, []),
        ("30 2 29 3 *", BERLIN, ["03-29 02:30-02:30 1 moved"]),
        ("every 10m", BERLIN, []),
        ("30 2 * * *", "UTC", []),
        ("15 2 * * *", LORD_HOWE, ["10-04 02:15-02:15 1 moved"]),
        ("45 1 * * *", LORD_HOWE, ["04-05 01:45-01:45 1 first pass"]),
        ("@daily", SANTIAGO, ["09-06 00:00-00:00 1 moved"]),
        ("30 23 * * *", SANTIAGO, ["04-04 23:30-23:30 1 first pass"]),
        ("30 1,2 * * *", TROLL, ["03-29 01:30-02:30 2 moved", "10-25 01:30-02:30 2 first pass"]),
        ("30 1 * * *", "Europe/Dublin", ["03-29 01:30-01:30 1 moved", "10-25 01:30-01:30 1 first pass"]),
        ("30 2 * * *", "Africa/Casablanca", ["02-15 02:30-02:30 1 first pass", "03-22 02:30-02:30 1 moved"]),
    ],
)  # fmt: skip
def test_slots_in_gaps_and_folds(text: str, zone: str, expected: list[str]) -> None:
    assert told(text, zone) == expected


def test_skipped_day_in_samoa_is_a_correction() -> None:
    assert told("0 12 * * *", "Pacific/Apia", "2011-12-01")[0] == "12-30 12:00-12:00 1 correction"


@pytest.mark.parametrize("text", ["30 2 * * *", "0,20,40 0-3 * * *", "*/20 * * * *", "15 23 * * *"])
@pytest.mark.parametrize("zone", [BERLIN, LORD_HOWE, SANTIAGO, TROLL, "Africa/Cairo", "Africa/Casablanca"])
def test_reported_dst_effects_agree_with_the_slots(text: str, zone: str) -> None:
    """The effect is compared with the slots themselves."""
    recurrence = Recurrence.parse(text, zone)
    for each in found(text, zone):
        at, length = each.change.at, abs(each.change.new - each.change.old)
        in_first_pass = list(recurrence.slots(at - length - MINUTE, at - MINUTE))
        in_second_pass = list(recurrence.slots(at - MINUTE, at + length - MINUTE))
        match each.effect, each.change.is_forward:
            case "moved", True:
                assert in_second_pass[0] == at
            case "first pass", False:
                assert len(in_first_pass) == each.count
                assert in_second_pass == []
            case "real time", False:
                assert len(in_first_pass) == len(in_second_pass) == each.count
            case "real time", True:
                # Nothing is made up for: a day later the same span has as many.
                a_day_later = list(recurrence.slots(at - MINUTE + DAY, at + length - MINUTE + DAY))
                assert len(in_second_pass) == len(a_day_later)
            case effect:
                pytest.fail(f"{effect} does not occur in these zones")


def test_the_ends_of_the_calendar_are_no_error() -> None:
    for after in ("9999-12-25", "0001-01-01"):
        assert isinstance(told("30 2 * * *", BERLIN, after), list)
