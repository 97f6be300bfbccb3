"""Schedules in plain English: the sentence agrees with the slots."""

from __future__ import annotations

import pytest
from hypothesis import given

from jobrunner.errors import BadSchedule
from jobrunner.schedules.describe import describe
from unit.recurrences import expressions, quickly


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("* * * * *", "Every minute"),
        ("0 * * * *", "At the start of every hour"),
        ("30 2 * * *", "At 02:30 every day"),
        ("00 02 * * *", "At 02:00 every day"),
        ("0 0 * 1,2 1,2", "At 00:00 on Monday and Tuesday in January and February"),
        ("0 9,17 * * 1-5", "At 09:00 and 17:00 on Monday through Friday"),
        ("@hourly", "At the start of every hour"),
        ("@daily", "At 00:00 every day"),
        ("@midnight", "At 00:00 every day"),
        ("@weekly", "At 00:00 on Sunday"),
        ("@monthly", "At 00:00 on the first day of every month"),
        ("@yearly", "At 00:00 on January 1"),
        ("@annually", "At 00:00 on January 1"),
        # Values told one by one, so that nobody takes a 15th minute for minute 15.
        ("*/15 * * * *", "At minutes 0, 15, 30, and 45 of every hour"),
        ("*/25 * * * *", "At minutes 0, 25, and 50 of every hour"),
        ("*/60 * * * *", "At the start of every hour"),
        ("0 */24 * * *", "At 00:00 every day"),
        ("0 0 1 */3 *", "At 00:00 on the first day of January, April, July, and October"),
        ("0 0 */31 * *", "At 00:00 on the first day of every month"),
        ("0 0 */15 * *", "At 00:00 on the first, the 16th, and the 31st day of month"),
        ("*,10 2 * * *", "Every minute from 02:00 through 02:59"),
        ("0 0 22 * *", "At 00:00 on the 22nd day of every month"),
        ("0 0 11,12,13,23 * *", "At 00:00 on the 11th, the 12th, the 13th, and the 23rd day of month"),
        # Sunday is 0 and 7.
        ("0 0 * * 7", "At 00:00 on Sunday"),
        ("0 0 * * 0,7", "At 00:00 on Sunday"),
        ("0 0 * * 5-7", "At 00:00 on Friday through Sunday"),
        ("0 0 * * sat,7", "At 00:00 on Saturday and Sunday"),
        ("0 0 * * */7", "At 00:00 on Sunday"),
        ("0 0 * * */2", "At 00:00 on Tuesday, Thursday, Saturday, and Sunday"),
        ("0 0 * * 0-7", "At 00:00 every day"),
        # Either day, unless one field begins with a star: then both.
        ("0 0 13 * fri", "At 00:00 on the 13th day of month or on Friday"),
        ("0 0 1,15 * mon", "At 00:00 on the first and the 15th day of month or on Monday"),
        ("0 0 */2 * mon", "At 00:00 on every second day of month, but only on Monday"),
        ("0 0 1-7 * */7", "At 00:00 on every day of month from 1 through 7, but only on Sunday"),
        ("0 0 30 2 mon", "At 00:00 on the 30th day of month or on Monday in February"),
        # 1-31 begins with no star: either is enough, so every day it is.
        ("0 0 1-31 * mon", "At 00:00 every day"),
        ("0 0 15,* * mon", "At 00:00 every day"),
        ("0 0 15 * 0-6", "At 00:00 every day"),
        ("0 0 *,15 * mon", "At 00:00 on Monday"),
        # Ours.
        ("0 0 L * *", "At 00:00 on the last day of every month"),
        ("0 0 lw * *", "At 00:00 on the last weekday of every month"),
        ("0 0 * * 5L", "At 00:00 on the last Friday of the month"),
        ("0 0 * * mon#2", "At 00:00 on the second Monday of the month"),
        ("0 0 L * fri", "At 00:00 on the last day of the month or on Friday"),
        ("0 0 */2,L * fri", "At 00:00 on every second day of month and the last day of the month, but only on Friday"),
        ("every 10m", "Every 10 minutes of real time, counted from 1970-01-01T00:00:00Z"),
        ("every 1h", "Every hour of real time, counted from 1970-01-01T00:00:00Z"),
        ("every 1d", "Every 24 hours of real time, counted from 1970-01-01T00:00:00Z"),
        ("every 90m from 2026-01-01T09:00:00+01:00",
         "Every 1 hour and 30 minutes of real time, counted from 2026-01-01T08:00:00Z"),
    ],
)  # fmt: skip
def test_schedules_in_plain_english(text: str, expected: str) -> None:
    assert describe(text) == expected


@quickly
@given(expressions)
def test_every_schedule_has_one_sentence_and_says_how_its_days_are_joined(text: str) -> None:
    said = describe(text)
    assert said[0].isupper()
    assert "\n" not in said
    day, weekday = text.split()[2], text.split()[4]
    assert "if it's" not in said
    assert " and on " not in said
    both_must_match = day.startswith("*") or weekday.startswith("*")
    assert not (" or on " in said and both_must_match)
    assert not (", but only on " in said and not both_must_match)


def test_invalid_schedule_has_no_description() -> None:
    for text in ("* * * *", "@reboot", "every day"):
        with pytest.raises(BadSchedule):
            describe(text)
