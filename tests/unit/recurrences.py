"""What the tests of recurrences share: instants in short, shifts of clocks, and schedules at random."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import settings
from hypothesis import strategies as st

from harness import vixie
from jobrunner.schedules.recurrence import Recurrence, Slots

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def summed(slots: list[datetime]) -> Slots:
    return Slots(slots[0], slots[-1], len(slots)) if slots else Slots(None, None, 0)


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


BERLIN, LORD_HOWE, SANTIAGO, TROLL = (
    *("Europe/Berlin", "Australia/Lord_Howe"),
    *("America/Santiago", "Antarctica/Troll"),
)
ZONES = ["UTC", BERLIN, "America/New_York", LORD_HOWE, SANTIAGO, TROLL, "Pacific/Chatham", "Africa/Casablanca"]


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

LEAP_DAY = vixie.looks(ZoneInfo("UTC"), utc("2032-02-28T23:00"), utc("2032-03-01T01:00"))


def assert_one_line(message: str, told: str, begins: str = "bad schedule ") -> None:
    """An expression is refused with the remedy, in one short line that any terminal shows."""
    assert told in message
    assert message.startswith(begins)
    assert message.isascii()
    assert "\n" not in message
    assert len(message) < 400
