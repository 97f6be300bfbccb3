"""The slots of schedules, compared with a simulation of Debian's cron."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import product
from zoneinfo import ZoneInfo

import pytest

from harness import vixie
from harness.long import some
from jobrunner.schedules.recurrence import Recurrence
from unit.recurrences import HOUR, Shift, shift, summed

MINUTES = ["0", "30", "59", "5,35", "0-10/5", "*", "*/7", "*/15", "1-59/20"]
HOURS = ["0", "1", "2", "3", "0-3", "1,2", "22-23", "*", "*/2", "0-23/3"]
DAYS = ["* * *", "*/2 * *", "1-7 * sun", "* * 0", "*/3 * sat,7"]
EXTRA = [
    *("@hourly", "@daily", "@midnight", "@weekly", "@monthly"),
    *("15,45 2 * * *", "45 1 * * *", "1,2,3 0 * * *", "59 23 * * *", "0 0,12 * * *", "10 1-2 * * *", "00 02 * * *"),
    *("0 2 29 3 *", "30 2 29 mar sun", "0 0 6 sep *", "*,10 2 * * *", "2,* 2 * * *", "0 2,* * * *", "0 *,2 * * *"),
    *("30 2 * Mar,oct MON-sat", "30 2 * 3,10 7", "30 2 * 3-10 5-7", "30 2 * */2 */7", "45 2 1,*/2 * *", "0 0 30 12 *"),
]
EXPRESSIONS = [f"{m} {h} {d}" for (m, h), d in product(product(MINUTES, HOURS), DAYS)] + EXTRA

SHIFTS = [
    shift("Europe/Berlin", "2026-03-28"),
    shift("Europe/Berlin", "2026-10-24"),
    shift("America/New_York", "2026-03-07"),
    shift("America/New_York", "2026-11-01"),
    shift("Australia/Lord_Howe", "2026-04-03"),
    shift("Australia/Lord_Howe", "2026-10-02"),
    shift("America/Santiago", "2026-04-04"),
    shift("America/Santiago", "2026-09-05"),
    shift("Antarctica/Troll", "2026-03-28"),
    shift("Antarctica/Troll", "2026-10-24"),
    shift("Pacific/Chatham", "2026-04-03"),
    shift("Pacific/Chatham", "2026-09-25"),
    shift("Africa/Cairo", "2026-04-23"),
    shift("Africa/Cairo", "2026-10-29"),
    shift("America/Nuuk", "2026-03-28"),
    shift("America/Nuuk", "2026-10-24"),
    shift("America/Havana", "2026-11-01"),
    shift("UTC", "2026-03-28"),
    shift("Asia/Kolkata", "2026-03-28"),
    # Ramadan puts the clock back for a month; winter is Dublin's daylight saving, an hour back.
    shift("Africa/Casablanca", "2026-02-14"),
    shift("Africa/Casablanca", "2026-03-21"),
    shift("Europe/Dublin", "2026-03-28"),
    shift("Europe/Dublin", "2026-10-24"),
    shift("America/Havana", "2026-03-08"),
    # Beyond what 32 bits of seconds can count.
    shift("Europe/Berlin", "2039-03-26"),
    shift("Australia/Lord_Howe", "2045-03-31"),
    # Shifts that 2026 does not have: quarters of an hour, exactly three hours, seven, and the date line.
    shift("Asia/Kathmandu", "1985-12-31"),
    shift("America/Caracas", "2007-12-09"),
    shift("Antarctica/Casey", "2009-10-17"),
    shift("Antarctica/Casey", "2010-03-04"),
    shift("Antarctica/Vostok", "1994-01-31"),
    shift("Pacific/Apia", "2011-12-29"),
    # Four shifts in one year, and midnight come twice.
    shift("Africa/Cairo", "2014-06-25"),
    shift("Africa/Cairo", "2014-07-31"),
    shift("Asia/Pyongyang", "2015-08-14"),
    # At one minute past midnight.
    shift("America/St_Johns", "2006-04-01"),
    shift("America/St_Johns", "2006-10-28"),
]


def test_windows_contain_their_clock_changes() -> None:
    sizes = {one.size for one in SHIFTS}
    assert {-180, -120, -60, -30, 0, 15, 30, 60, 120, 180, 24 * 60} <= sizes
    assert len(EXPRESSIONS) > 450


def asks(at: Shift, expected: list[datetime]) -> Iterator[datetime]:
    """Instants to ask from: each boundary of a slot while they are few, and random ones in gap and fold."""
    chance = random.Random(f"{at}{len(expected)}")
    near = [slot for slot in expected if abs(slot - at.at) <= 3 * HOUR]
    for slot in expected if len(expected) <= 8 else chance.sample(near, min(2, len(near))):
        yield from (slot, slot - timedelta(microseconds=1))
    yield from (at.at - timedelta(seconds=1), at.at)
    for _ in range(2):
        yield at.at + timedelta(seconds=chance.uniform(-1.5, 1.5) * 60 * max(60, min(abs(at.size), 200)))


@pytest.mark.long(sample=2)
@pytest.mark.parametrize("at", SHIFTS, ids=str)
def test_slots_are_those_of_debians_cron(at: Shift) -> None:
    start, end = at.at - 26 * HOUR, at.at + 26 * HOUR
    looks = vixie.looks(ZoneInfo(at.zone), start, end)
    compared = 0
    drawn = some(str(at), EXPRESSIONS, 220)
    for text in drawn:
        recurrence = Recurrence.parse(text, at.zone)
        expected = vixie.fired(vixie.read(text), looks)
        assert list(recurrence.slots(start, end)) == expected, text
        counted = summed(expected)
        assert recurrence.latest(start, end) == counted, text
        for ask in asks(at, expected):
            later = next((slot for slot in expected if slot > ask), None)
            answer = recurrence.next_after(ask)
            if later is None:
                assert answer is None or answer > end, (text, ask)
            else:
                assert answer == later, (text, ask)
            earlier = next((slot for slot in reversed(expected) if slot < ask), None)
            answer = recurrence.previous_before(ask)
            if earlier is None:
                assert answer is None or answer <= start, (text, ask)
            else:
                assert answer == earlier, (text, ask)
            compared += 1
    assert compared > 5 * len(drawn)
