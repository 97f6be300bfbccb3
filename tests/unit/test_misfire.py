"""The plan of due slots, compared slot by slot with a model, and its cost after a long outage."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.slot_model import FOREVER, Schedule
from harness.waiting import stretched
from jobrunner.model import Definition, SlotPolicy
from jobrunner.schedules.recurrence import Recurrence
from jobrunner.schedules.slot_plan import NEVER_AGAIN, Expansion, Unfinished, jitter_offset, plan_slots

START = datetime(2026, 3, 27, 12, 0, 30, tzinfo=UTC)
NOBODY = Unfinished()
CRONS = ("* * * * *", "*/7 * * * *", "0 * * * *", "30 2 * * *", "15,45 1-3 * * *", "0 0 1 * *")
DURATIONS = st.none() | st.integers(1, 4000).map(lambda minutes: timedelta(minutes=minutes))
STATUSES = st.lists(st.sampled_from(["queued", "failed", "running"]), max_size=3)


def definition(cron: str = "* * * * *", timezone: str = "UTC", made: int = 0, **policy: Any) -> Definition:
    return Definition(
        id=1,
        name="n",
        job_type="echo",
        payload={},
        schedule=cron,
        timezone=timezone,
        last_slot_at=START,
        last_error=None,
        policy=SlotPolicy(**policy),
        runs_made=made,
    )


def judged(one: Definition, now: datetime, unfinished: Unfinished = NOBODY) -> Expansion:
    return plan_slots(one, Recurrence(one.schedule, one.timezone), now, unfinished)


@settings(max_examples=300, deadline=None)
@given(
    cron=st.sampled_from(CRONS),
    timezone=st.sampled_from(["UTC", "Europe/Berlin"]),
    minutes=st.integers(0, 3 * 24 * 60),
    misfire=st.sampled_from(["latest", "skip", "all"]),
    window=DURATIONS,
    most=st.integers(1, 200),
    overlap=st.sampled_from(["skip", "queue", "allow", "replace"]),
    start_deadline=DURATIONS,
    ends_in=DURATIONS,
    max_runs=st.none() | st.integers(1, 50),
    made=st.integers(0, 30),
    statuses=STATUSES,
    on_the_minute=st.booleans(),
)
def test_plan_of_due_slots_agrees_with_the_model(
    cron: str,
    timezone: str,
    minutes: int,
    misfire: Any,
    window: timedelta | None,
    most: int,
    overlap: Any,
    start_deadline: timedelta | None,
    ends_in: timedelta | None,
    max_runs: int | None,
    made: int,
    statuses: list[str],
    on_the_minute: bool,
) -> None:
    # On the minute, too: there a slot is exactly as late as a window is long.
    now = START + timedelta(minutes=minutes, seconds=30 if on_the_minute else 0)
    ends_at = None if ends_in is None else START + ends_in
    one = definition(
        cron,
        timezone,
        made,
        misfire=misfire,
        misfire_window=window,
        misfire_most=most,
        overlap=overlap,
        start_deadline=start_deadline,
        ends_at=ends_at,
        max_runs=None if max_runs is None else made + max_runs,
    )
    model = Schedule("n", cron, timezone, overlap=overlap, ends_at=ends_at, made=made)
    model.misfire = misfire
    model.window = window or (timedelta(minutes=2) if misfire == "skip" else FOREVER)
    model.most = most if misfire == "all" else 1
    model.start_deadline = start_deadline or FOREVER
    model.know_slots(START, now)
    # One that has had all its runs is not looked at any more: that is what the hint is for.
    model.max_runs = 10**9 if max_runs is None else made + max_runs
    unfinished = Unfinished(any=bool(statuses), waiting=bool({"queued", "failed"} & set(statuses)))
    asked = judged(one, now, unfinished)
    runs, skipped = model.tick(now, statuses)
    assert list(asked.slots) == runs
    assert [(each.first, each.last, each.count, each.reason) for each in asked.skipped] == skipped
    assert (asked.watermark or START) == model.watermark


def test_next_slot_is_right_after_a_skipped_slot() -> None:
    now = START + timedelta(minutes=5)
    asked = judged(definition(), now, Unfinished(any=True, waiting=True))
    assert asked.slots == ()
    assert [each.reason for each in asked.skipped] == ["misfire", "overlap"]
    assert asked.next_run_at == datetime(2026, 3, 27, 12, 6, tzinfo=UTC)
    assert asked.ended is None


@pytest.mark.parametrize(
    ("policy", "made", "reason"),
    [
        ({"ends_at": START + timedelta(minutes=5)}, 0, "ends_at"),
        ({"max_runs": 3}, 2, "max_runs"),
        ({"max_runs": 3}, 7, "max_runs"),
    ],
)
def test_ended_schedule_has_no_next_slot(policy: dict[str, Any], made: int, reason: str) -> None:
    asked = judged(definition(made=made, **policy), START + timedelta(minutes=5))
    assert (asked.ended, asked.next_run_at) == (reason, NEVER_AGAIN)


def test_slot_at_ends_at_still_gets_a_run() -> None:
    end = datetime(2026, 3, 27, 12, 3, tzinfo=UTC)
    asked = judged(definition(misfire="all", ends_at=end), START + timedelta(hours=1))
    assert asked.slots[-1] == end
    assert len(asked.slots) == 3


def test_watermark_in_the_future_has_no_due_slots() -> None:
    """The clock stepped back."""
    asked = judged(definition(), START - timedelta(hours=2))
    assert (asked.slots, asked.skipped, asked.watermark) == ((), (), None)
    assert asked.next_run_at == datetime(2026, 3, 27, 12, 1, tzinfo=UTC)


@pytest.mark.parametrize("misfire", ["latest", "all"])
def test_year_of_minutely_slots_is_planned_quickly(misfire: str) -> None:
    one = definition(misfire=misfire, misfire_most=1000)
    began = time.monotonic()
    asked = judged(one, START + timedelta(days=365))
    assert len(asked.slots) == (1000 if misfire == "all" else 1)
    assert asked.skipped[0].count == 525_600 - len(asked.slots)
    # Measured: 0.02 s.
    assert time.monotonic() - began < stretched(3)


def test_newest_slots_of_an_irregular_schedule_are_found() -> None:
    """A thousand of them since the watermark, all but a few at its very beginning."""
    one = definition("* 12 27 3 *", misfire="all", misfire_most=40)
    asked = judged(one, START + timedelta(days=300))
    assert (len(asked.slots), asked.skipped[0].count) == (40, 19)
    assert asked.slots[-1] == datetime(2026, 3, 27, 12, 59, tzinfo=UTC)
    # A hand may set a watermark anywhere; the look back must not leave the calendar.
    old = one._replace(last_slot_at=datetime(1900, 1, 1, tzinfo=UTC), schedule="0 0 29 2 *")
    assert len(judged(old, START).slots) == 31


def test_jitter_is_spread_over_names_and_depends_on_nothing_else() -> None:
    hour = timedelta(hours=1)
    names = [f"schedule {n}" for n in range(400)]
    offsets = [jitter_offset(definition(jitter=hour)._replace(name=name, id=n)) for n, name in enumerate(names)]
    assert offsets == [jitter_offset(definition("0 0 * * *", jitter=hour)._replace(name=name)) for name in names]
    assert all(timedelta(0) <= offset < hour for offset in offsets)
    quarters = [sum(n * hour / 4 <= offset < (n + 1) * hour / 4 for offset in offsets) for n in range(4)]
    assert min(quarters) > 60
    assert jitter_offset(definition()) == timedelta(0)


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        ({"misfire_window": timedelta(minutes=5)}, "misfire"),
        ({"start_deadline": timedelta(minutes=5)}, "start_deadline"),
    ],
)
def test_slot_at_the_end_of_a_misfire_window_counts_and_at_the_start_deadline_does_not(
    policy: dict[str, Any], reason: str
) -> None:
    one, slot = definition("0 13 * * *", **policy), datetime(2026, 3, 27, 13, tzinfo=UTC)
    end, moment = slot + timedelta(minutes=5), timedelta(microseconds=1)
    last = end if reason == "misfire" else end - moment
    assert judged(one, last).slots == (slot,)
    asked = judged(one, last + moment)
    assert (asked.slots, [each.reason for each in asked.skipped]) == ((), [reason])
