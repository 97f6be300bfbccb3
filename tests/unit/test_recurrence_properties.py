"""Properties of every schedule, checked from random instants."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

from hypothesis import assume, given
from hypothesis import strategies as st

from harness import vixie
from jobrunner.errors import BadSchedule
from jobrunner.schedules.recurrence import Recurrence
from unit.recurrences import DAY, HOUR, LEAP_DAY, expressions, instants, quickly, recurrences, summed, utc


@quickly
@given(recurrences, instants)
def test_the_next_slot_is_always_later(recurrence: Recurrence, after: datetime) -> None:
    slot = recurrence.next_after(after)
    if slot is not None:
        assert slot > after
        assert slot.tzinfo is UTC


@quickly
@given(recurrences, instants)
def test_next_and_previous_agree(recurrence: Recurrence, at: datetime) -> None:
    later, earlier = recurrence.next_after(at), recurrence.previous_before(at)
    assume(later is not None and earlier is not None)
    assert earlier < at < later
    # Between the two there is at most one slot: the instant asked from.
    assert set(recurrence.slots(earlier, later)) - {at} == {later}
    assert recurrence.next_after(earlier) in (at, later)
    assert recurrence.previous_before(later) in (at, earlier)
    assert recurrence.next_after(recurrence.previous_before(later)) == later
    assert recurrence.previous_before(recurrence.next_after(earlier)) == earlier


@quickly
@given(recurrences, instants, st.floats(0, 60))
def test_slots_agrees_with_repeated_next_after(recurrence: Recurrence, after: datetime, hours: float) -> None:
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
def test_no_slot_is_lost_or_doubled_at_the_border_of_two_spans(
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
def test_latest_agrees_with_slots_over_months(recurrence: Recurrence, after: datetime, days: int) -> None:
    until = after + min(days, 40 if "*" in recurrence.expression.split()[0] else 400) * DAY
    walked = list(recurrence.slots(after, until))
    assert recurrence.latest(after, until) == summed(walked)


@quickly
@given(expressions)
def test_fields_are_read_as_debian_reads_them(text: str) -> None:
    expected = vixie.fired(vixie.read(text), LEAP_DAY)
    assert list(Recurrence.parse(text).slots(utc("2032-02-28T23:00"), utc("2032-03-01T01:00"))) == expected


@quickly
@given(st.text(st.sampled_from("0159*/-,#LW@? \tmonjan.\n٢é"), max_size=14))
def test_any_text_is_read_as_a_schedule_or_refused_in_one_line(text: str) -> None:
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
