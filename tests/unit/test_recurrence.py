"""The slots of schedules, compared with a simulation of Debian's cron and held to properties of their own."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise, product
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobrunner.errors import BadSchedule
from jobrunner.recurrence import Recurrence, Slots
from unit import vixie

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def summed(slots: list[datetime]) -> Slots:
    return Slots(slots[0], slots[-1], len(slots)) if slots else Slots(None, None, 0)


# ---------------------------------------------------------------- against the simulation

MINUTES = ["0", "30", "59", "5,35", "0-10/5", "*", "*/7", "*/15", "1-59/20"]
HOURS = ["0", "1", "2", "3", "0-3", "1,2", "22-23", "*", "*/2", "0-23/3"]
DAYS = ["* * *", "*/2 * *", "1-7 * sun", "* * 0", "*/3 * sat,7"]
EXTRA = [
    *("@hourly", "@daily", "@midnight", "@weekly", "@monthly"),
    *(
        "15,45 2 * * *",
        "45 1 * * *",
        "1,2,3 0 * * *",
        "59 23 * * *",
        "0 0,12 * * *",
        "10 1-2 * * *",
        "00 02 * * *",
    ),
    *(
        "0 2 29 3 *",
        "30 2 29 mar sun",
        "0 0 6 sep *",
        "*,10 2 * * *",
        "2,* 2 * * *",
        "0 2,* * * *",
        "0 *,2 * * *",
    ),
    *(
        "30 2 * Mar,oct MON-sat",
        "30 2 * 3,10 7",
        "30 2 * 3-10 5-7",
        "30 2 * */2 */7",
        "45 2 1,*/2 * *",
        "0 0 30 12 *",
    ),
]
EXPRESSIONS = [f"{m} {h} {d}" for (m, h), d in product(product(MINUTES, HOURS), DAYS)] + EXTRA


@dataclass(frozen=True)
class Shift:
    """A change of a zone's offset, in minutes (forward is positive), and the daemon's looks around it."""

    zone: str
    at: datetime
    size: int

    def __str__(self) -> str:
        return f"{self.zone} {self.at:%Y-%m-%d} {self.size:+}"


def shift(zone: str, around: str) -> Shift:
    """The change of the offset in the 40 hours after `around`; size 0 when there is none (the control)."""
    info, start = ZoneInfo(zone), utc(around)

    def offset(at: datetime) -> timedelta:
        found = at.astimezone(info).utcoffset()
        assert found is not None
        return found

    for minute in range(40 * 60):
        at = start + minute * MINUTE
        if size := (offset(at + MINUTE) - offset(at)) // MINUTE:
            return Shift(zone, at + MINUTE, size)
    return Shift(zone, start, 0)


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
    # Shifts that 2026 does not have: quarters of an hour, exactly three hours, seven, and the date line.
    shift("Asia/Kathmandu", "1985-12-31"),
    shift("America/Caracas", "2007-12-09"),
    shift("Antarctica/Casey", "2009-10-17"),
    shift("Antarctica/Casey", "2010-03-04"),
    shift("Antarctica/Vostok", "1994-01-31"),
    shift("Pacific/Apia", "2011-12-29"),
]


def test_the_windows_hold_the_shifts_they_are_meant_for() -> None:
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


@pytest.mark.parametrize("at", SHIFTS, ids=str)
def test_slots_are_those_of_debians_cron(at: Shift) -> None:
    start, end = at.at - 26 * HOUR, at.at + 26 * HOUR
    looks = vixie.looks(ZoneInfo(at.zone), start, end)
    compared = 0
    for text in EXPRESSIONS:
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
            compared += 1
    assert compared > 5 * len(EXPRESSIONS)


# ---------------------------------------------------------------- the rule, in words

BERLIN, LORD_HOWE, SANTIAGO, TROLL = (
    *("Europe/Berlin", "Australia/Lord_Howe"),
    *("America/Santiago", "Antarctica/Troll"),
)


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
def test_a_changing_clock(text: str, zone: str, after: str, until: str, expected: list[str]) -> None:
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
def test_days(text: str, after: str, expected: str) -> None:
    assert Recurrence.parse(text).next_after(utc(after)) == utc(expected)


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


# ---------------------------------------------------------------- properties

ZONES = [
    "UTC",
    BERLIN,
    "America/New_York",
    LORD_HOWE,
    SANTIAGO,
    TROLL,
    "Pacific/Chatham",
    "Africa/Casablanca",
]


def items(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    span = st.tuples(number, number).map(sorted).map(lambda two: f"{two[0]}-{two[1]}")
    step = st.integers(1, high - low).map(lambda n: f"/{n}")
    one = st.one_of(
        st.just("*"), number.map(str), span, step.map(lambda s: "*" + s), st.builds(str.__add__, span, step)
    )
    return st.lists(one, min_size=1, max_size=3).map(",".join)


# Days up to the 28th: every such schedule fires.
expressions = st.tuples(items(0, 59), items(0, 23), items(1, 28), items(1, 12), items(0, 6)).map(" ".join)
recurrences = st.builds(Recurrence.parse, expressions, st.sampled_from(ZONES))
around_a_shift = st.builds(
    lambda at, off: utc(at) + timedelta(seconds=off),
    st.sampled_from(
        ["2026-03-29T01:00", "2026-10-25T01:00", "2026-04-04T15:00", "2026-09-06T04:00", "2026-02-15T02:00"]
    ),
    st.floats(-30 * 3600, 30 * 3600),
)
instants = st.one_of(around_a_shift, st.datetimes(utc("1990-01-01").replace(tzinfo=None), timezones=st.just(UTC)))
instants = instants.filter(lambda at: at.year < 2120)
quickly = settings(max_examples=120, deadline=None)


@quickly
@given(recurrences, instants)
def test_the_next_slot_is_always_later(recurrence: Recurrence, after: datetime) -> None:
    slot = recurrence.next_after(after)
    if slot is not None:
        assert slot > after
        assert slot.tzinfo is UTC


@quickly
@given(recurrences, instants, st.floats(0, 60))
def test_walking_agrees_with_asking_again_and_again(recurrence: Recurrence, after: datetime, hours: float) -> None:
    until = after + hours * HOUR
    walked = list(recurrence.slots(after, until))
    asked: list[datetime] = []
    at = after
    while len(asked) <= 60 and (slot := recurrence.next_after(at)) is not None and slot <= until:
        asked.append(slot)
        at = slot
    assert asked == walked[:61]
    assert all(one < other for one, other in pairwise(walked))
    assert recurrence.latest(after, until).count == len(walked)


@quickly
@given(recurrences, instants, st.floats(0, 1), st.floats(0, 60))
def test_no_slot_is_lost_or_doubled_where_two_spans_meet(
    recurrence: Recurrence, after: datetime, part: float, hours: float
) -> None:
    until, middle = after + hours * HOUR, after + hours * HOUR * part
    whole = list(recurrence.slots(after, until))
    assert list(recurrence.slots(after, middle)) + list(recurrence.slots(middle, until)) == whole
    first, second = recurrence.latest(after, middle), recurrence.latest(middle, until)
    assert (first.count + second.count) == len(whole)
    assert (first.first or second.first) == (whole[0] if whole else None)
    assert (second.last or first.last) == (whole[-1] if whole else None)


@quickly
@given(recurrences, instants, st.integers(1, 400))
def test_counting_agrees_with_walking_over_months(recurrence: Recurrence, after: datetime, days: int) -> None:
    until = after + min(days, 40 if "*" in recurrence.expression.split()[0] else 400) * DAY
    walked = list(recurrence.slots(after, until))
    assert recurrence.latest(after, until) == summed(walked)


LEAP_DAY = vixie.looks(ZoneInfo("UTC"), utc("2032-02-28T23:00"), utc("2032-03-01T01:00"))


@quickly
@given(expressions)
def test_fields_are_read_as_debian_reads_them(text: str) -> None:
    expected = vixie.fired(vixie.read(text), LEAP_DAY)
    assert list(Recurrence.parse(text).slots(utc("2032-02-28T23:00"), utc("2032-03-01T01:00"))) == expected


@quickly
@given(st.text(st.sampled_from("0159*/-,#LW@? \tmonjan.\n٢é"), max_size=14))
def test_whatever_is_typed_is_read_or_refused_in_one_line(text: str) -> None:
    message = refusal_of(text)
    if message is None:
        assert Recurrence.parse(text).next_after(utc("2026-01-01")) is not None
    else:
        assert message.isascii()
        assert "\n" not in message


def refusal_of(text: str) -> str | None:
    try:
        Recurrence.parse(text)
    except BadSchedule as refusal:
        return str(refusal)
    return None


# ---------------------------------------------------------------- refusals

REFUSED = [
    ("", "empty"),
    ("   ", "empty"),
    ("* * * *", "has 4"),
    ("0 0 * * * *", "has 6"),
    ("0 2 * * * /usr/bin/backup", "command"),
    ("0 2 * * *\n", "line break"),
    ("0 2 * * *\r\n* * * * *", "line break"),
    ("0 2 * * *\x00", "ASCII"),
    ("0\x0b2 * * *", "ASCII"),
    ("0\u00a02 * * *", "ASCII"),
    ("\u0660 2 * * *", "ASCII"),
    ("\uff10 2 * * *", "ASCII"),
    ("² 2 * * *", "ASCII"),
    ("0 2 * * *" + ",1" * 600, "at most 1000"),
    ("TZ=UTC 0 2 * * *", "timezone"),
    ("@reboot", "crontab itself"),
    ("@every 5m", "@daily"),
    ("@", "@daily"),
    ("@daily backup", "stands alone"),
    ("60 * * * *", "the minute field '60': 60 is out of range; write 0 to 59"),
    ("* 24 * * *", "the hour field '24': 24 is out of range; write 0 to 23"),
    ("* * 0 * *", "the day-of-month field '0': 0 is out of range; write 1 to 31"),
    ("* * * 13 *", "the month field '13': 13 is out of range; write 1 to 12"),
    ("* * * * 8", "the day-of-week field '8': 8 is out of range; write 0 to 7"),
    ("5-64/30 * * * *", "64 is out of range"),
    ("9" * 900 + " * * * *", "out of range"),
    ("* 22-2 * * *", "runs backwards; write 22-23,0-2"),
    ("* 23-0 * * *", "write 23,0"),
    ("* * * nov-feb *", "write 11-12,1-2"),
    ("* * * * fri-sun", "write 5-7"),
    ("* * * * fri-mon", "write 5-6,0-1"),
    ("*5 * * * *", "'*5' is not understood"),
    ("** * * * *", "'**' is not understood"),
    ("*-5 * * * *", "not understood"),
    ("1.5 * * * *", "'1.5' is not understood"),
    ("-1 * * * *", "not understood"),
    ("1- * * * *", "not understood"),
    ("1-5-7 * * * *", "not understood"),
    ("+5 * * * *", "not understood"),
    ("1_0 * * * *", "not understood"),
    ("1;2 * * * *", "not understood"),
    ("1,,2 * * * *", "stray comma"),
    (",1 * * * *", "stray comma"),
    ("1, * * * *", "stray comma"),
    ("*/0 * * * *", "step of 0"),
    ("*/ * * * *", "not understood"),
    ("*/2/3 * * * *", "not understood"),
    ("*/-2 * * * *", "not understood"),
    ("5/15 * * * *", "write 5-59/15"),
    ("*/90 * * * *", "write at most 60"),
    ("0 */25 * * *", "write at most 24"),
    ("0 0 * * monday", "mon"),
    ("0 0 * january *", "jan"),
    ("0 0 * mon *", "the month field"),
    ("0 0 * * jan", "the day-of-week field"),
    ("jan * * * *", "the minute field"),
    ("0 0 ? * *", "'?' is not understood"),
    ("H * * * *", "'H' is not understood"),
    ("0 0 15W * *", "'15W' is not understood"),
    ("0 0 L-3 * *", "not understood"),
    ("0 0 L/2 * *", "not understood"),
    ("0 0 * * L", "not understood"),
    ("0 0 * * friL", "not understood"),
    ("0 0 * * 5#6", "not understood"),
    ("0 0 * * 5#0", "not understood"),
    ("0 0 * * 1-5#2", "not understood"),
    ("0 L * * *", "the hour field"),
    ("0 0 30 2 *", "never fire"),
    ("0 0 31 2,4,6 *", "never fire"),
    ("0 0 30 2 */2", "never fire"),
    ("0 0 LW * */7", "never fire"),
    (None, "NoneType"),
    (5, "int"),
    (["* * * * *"], "list"),
    (b"* * * * *", "bytes"),
]


def short(value: object) -> str:
    return ascii(value)[:30]


@pytest.mark.parametrize(("expression", "told"), REFUSED, ids=short)
def test_refused_expressions(expression: str, told: str) -> None:
    with pytest.raises(BadSchedule) as caught:
        Recurrence.parse(expression)
    message = str(caught.value)
    assert told in message
    assert message.startswith("bad schedule ")
    assert message.isascii()
    assert "\n" not in message
    assert len(message) < 400
    with pytest.raises(BadSchedule):
        Recurrence(expression)


@pytest.mark.parametrize(
    "text", ["* 22-2 * * *", "*5 * * * *", "1.5 * * * *", "*-5 * * * *", "1-5-7 * * * *", "1;2 * * * *"]
)
def test_what_is_refused_as_misread_the_daemon_would_have_taken(text: str) -> None:
    vixie.read(text)


@pytest.mark.parametrize(
    "text",
    [
        "00 02 * * *",
        "*/60 */24 * * *",
        "0 0 * * SUN",
        "0 0 * * mon-Fri",
        "0 0 30 2 1",
        "5-5 * * * *",
        "1-5/10 0 * * *",
        "5-05/2 0 * * mon-1/3",
    ],
)
def test_what_debian_takes_and_means_is_taken(text: str) -> None:
    expected = vixie.fired(vixie.read(text), LEAP_DAY)
    assert list(Recurrence.parse(text).slots(utc("2032-02-28T23:00"), utc("2032-03-01T01:00"))) == expected


@pytest.mark.parametrize(
    ("zone", "told"),
    [
        ("", "not a known zone"),
        (" UTC", "did you mean UTC?"),
        ("utc", "did you mean UTC?"),
        ("Europe/Berln", "did you mean Europe/Berlin?"),
        ("europe/berlin", "did you mean Europe/Berlin?"),
        ("Mars/Olympus", "Europe/Berlin"),
        ("../../etc/passwd", "not a known zone"),
        ("Europe/../UTC", "not a known zone"),
        ("/etc/localtime", "not a known zone"),
        ("/usr/share/zoneinfo/UTC", "not a known zone"),
        ("UTC\x00", "not a known zone"),
        ("UTC\n", "not a known zone"),
        ("Europe", "not a known zone"),
        ("America/Argentina", "not a known zone"),
        ("Europe/", "not a known zone"),
        ("zone.tab", "not a known zone"),
        ("tzdata.zi", "not a known zone"),
        ("leapseconds", "not a known zone"),
        ("zones", "not a known zone"),
        ("posixrules", "not a known zone"),
        ("localtime", "not a known zone"),
        ("right/UTC", "not a known zone"),
        ("posix/UTC", "not a known zone"),
        ("UTC+2", "not a known zone"),
        ("Zürich", "not a known zone"),
        ("x" * 5000, "not a known zone"),
        (None, "NoneType"),
        (1, "int"),
        (["UTC"], "list"),
        (b"UTC", "bytes"),
    ],
    ids=short,
)
def test_refused_zones(zone: str, told: str) -> None:
    with pytest.raises(BadSchedule) as caught:
        Recurrence.parse("0 2 * * *", zone)
    message = str(caught.value)
    assert told in message
    assert message.startswith("bad time zone ")
    assert message.isascii()
    assert "\n" not in message
    assert len(message) < 400


def test_a_file_that_is_not_a_zone_is_refused_wherever_zones_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Notes").write_text("not a zone")
    (tmp_path / "Folder").mkdir()
    import zoneinfo

    zoneinfo.reset_tzpath([str(tmp_path)])
    try:
        for name in ("Notes", "Folder"):
            with pytest.raises(BadSchedule, match="not a known zone"):
                Recurrence.parse("0 2 * * *", name)
    finally:
        zoneinfo.reset_tzpath()
