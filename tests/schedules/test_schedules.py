"""Slots become runs, each once, whatever the ticks do, and a slot without a run is recorded."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from harness import Commands, Database
from harness.slots import (
    BERLIN,
    NO_HANDLERS,
    add,
    debian_slots,
    expand,
    go_to,
    skipped_ranges,
    slots_with_runs,
    ticks_at_once,
    utc,
)

SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)


def expected(slots: Iterable[datetime], steps: list[datetime]) -> tuple[list[datetime], list[Any]]:
    """Per step of the clock: the newest slot gets a run, older ones make one skipped range."""
    slots, runs, skipped = list(slots), [], []
    for before, now in pairwise(steps):
        due = [slot for slot in slots if before < slot <= now]
        runs += due[-1:]
        if len(due) > 1:
            skipped.append((due[0], due[-2], len(due) - 1))
    return runs, skipped


MONTH = {"night": "30 2 * * *", "quarters": "15,45 1-3 * * *", "real time": "0 */6 * * *", "monday": "0 9 * * mon"}


@pytest.mark.long(sample=1)
@pytest.mark.parametrize(
    ("begin", "days"),
    [(utc(2026, 3, 13, 12), 15), (utc(2026, 3, 28, 12), 16), (utc(2026, 10, 23, 12), 5)],
    ids=["March", "and on over the change", "October"],
)
@pytest.mark.promise("P3", "P12")
def test_a_month_over_a_daylight_saving_change(
    jobrunner: Commands, database: Database, begin: datetime, days: int
) -> None:
    """A step a day, so that each night has its tick; around the change a step for each slot.

    Now and then it is three ticks at once, and a day without any.
    """
    end = begin + timedelta(days=days)
    slots = {name: debian_slots(cron, BERLIN, begin, end) for name, cron in MONTH.items()}
    changes = (utc(2026, 3, 29, 1), utc(2026, 10, 25, 1))
    near = [s for each in slots.values() for s in each if min(abs(s - change) for change in changes) < 3 * HOUR]
    steps = {slot + 5 * SECOND for slot in near} | {begin + timedelta(days=day) for day in range(1, days + 1)}
    steps.discard(begin + timedelta(days=days - 2))
    go_to(database, begin)
    for name, cron in MONTH.items():
        add(jobrunner, name, cron)
    for number, step in enumerate(sorted(steps)):
        go_to(database, step)
        if number % 6 == 3:
            ticks_at_once(jobrunner, 3, NO_HANDLERS)
        else:
            assert jobrunner.tick(env=NO_HANDLERS).stderr == ""
    for name in MONTH:
        runs, skipped = expected(slots[name], [begin, *sorted(steps)])
        assert slots_with_runs(database, name) == runs
        assert skipped_ranges(database, name) == skipped
        assert len(runs) + sum(count for _, _, count in skipped) == len(slots[name])
    assert database.value("SELECT count(*) FROM job_runs WHERE run_at <> scheduled_for") == 0


def test_slot_in_a_dst_gap_runs_right_after_it_and_slot_in_a_fold_runs_once(
    jobrunner: Commands, database: Database
) -> None:
    """By hand, from the clocks of Berlin: 02:30 is not there on 29 March, and is there twice on 25 October."""
    for day, slot in ((utc(2026, 3, 28, 12), utc(2026, 3, 29, 1)), (utc(2026, 10, 24, 12), utc(2026, 10, 25, 0, 30))):
        go_to(database, day)
        name = f"{day:%B}"
        add(jobrunner, name, "30 2 * * *")
        for minutes in (-30, 0, 60, 90):
            expand(jobrunner, slot + timedelta(minutes=minutes, seconds=1))
        assert slots_with_runs(database, name) == [slot]
        assert skipped_ranges(database, name) == []


@pytest.mark.promise("P3", "P12")
def test_ten_ticks_at_once_on_many_slots_and_definitions(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    for number in range(6):
        add(jobrunner, f"n{number}", "*/10 * * * *", "UTC")
    go_to(database, utc(2026, 5, 1, 18, 5))
    ticks_at_once(jobrunner, 10, NO_HANDLERS)
    for number in range(6):
        assert slots_with_runs(database, f"n{number}") == [utc(2026, 5, 1, 18)]
        assert skipped_ranges(database, f"n{number}") == [(utc(2026, 5, 1, 12, 10), utc(2026, 5, 1, 17, 50), 35)]


@pytest.mark.promise("P3")
def test_slot_is_not_expanded_again_after_its_history_was_deleted(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    add(jobrunner, "hourly", "@hourly")
    go_to(database, utc(2026, 5, 1, 15, 30))
    jobrunner.tick()
    assert slots_with_runs(database, "hourly") == [utc(2026, 5, 1, 15)]
    for table in ("job_attempts", "job_runs", "job_events", "job_ticks"):
        database.execute(f"DELETE FROM {table}")
    database.execute("UPDATE job_definitions SET next_run_at = NULL")
    jobrunner.tick()
    assert database.query("SELECT id FROM job_runs") == []


@pytest.mark.promise("P3")
@pytest.mark.promise("P10", on="sqlite")
def test_slot_is_not_expanded_again_after_the_clock_stepped_back(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    add(jobrunner, "hourly", "@hourly")
    for instant in (utc(2026, 5, 1, 13, 1), utc(2026, 5, 1, 12, 30), utc(2026, 5, 1, 13, 1), utc(2026, 5, 1, 14, 0, 1)):
        expand(jobrunner, instant)
    assert slots_with_runs(database, "hourly") == [utc(2026, 5, 1, 13), utc(2026, 5, 1, 14)]


def test_slots_before_a_schedule_was_added_get_no_runs(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12, 0, 1))
    add(jobrunner, "minutely", "* * * * *")
    jobrunner.tick(env=NO_HANDLERS)
    assert slots_with_runs(database, "minutely") == []
    assert skipped_ranges(database, "minutely") == []
    expand(jobrunner, utc(2026, 5, 1, 12, 1, 0))
    assert slots_with_runs(database, "minutely") == [utc(2026, 5, 1, 12, 1)]


@pytest.mark.promise("P3")
def test_schedule_removed_and_added_again_fires_no_slot_twice(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    add(jobrunner, "daily", "0 13 * * *", "UTC")
    expand(jobrunner, utc(2026, 5, 1, 13, 0, 1))
    jobrunner("schedule", "remove", "daily")
    go_to(database, utc(2026, 5, 1, 13, 0, 10))
    add(jobrunner, "daily", "0 13 * * *", "UTC")
    jobrunner.tick(env=NO_HANDLERS)
    assert slots_with_runs(database, "daily") == [utc(2026, 5, 1, 13)]
    jobrunner("schedule", "remove", "daily")
    expand(jobrunner, utc(2026, 5, 5, 12))
    add(jobrunner, "daily", "0 13 * * *", "UTC")
    expand(jobrunner, utc(2026, 5, 5, 13, 0, 1))
    assert slots_with_runs(database, "daily") == [utc(2026, 5, 1, 13), utc(2026, 5, 5, 13)]
    assert skipped_ranges(database, "daily") == []
    actions = [row["action"] for row in database.query("SELECT action FROM job_events ORDER BY id")]
    assert actions == ["add schedule", "remove schedule"] * 2 + ["add schedule"]


@pytest.mark.promise("P3")
@pytest.mark.promise("P10", on="sqlite")
def test_schedule_added_again_after_the_clock_stepped_back_fires_no_slot_twice(
    jobrunner: Commands, database: Database
) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    add(jobrunner, "hourly", "@hourly", "UTC")
    expand(jobrunner, utc(2026, 5, 1, 13, 0, 1))
    jobrunner("schedule", "remove", "hourly")
    go_to(database, utc(2026, 5, 1, 12, 30))
    add(jobrunner, "hourly", "@hourly", "UTC")
    for instant in (utc(2026, 5, 1, 13, 0, 1), utc(2026, 5, 1, 14, 0, 1)):
        expand(jobrunner, instant)
    assert slots_with_runs(database, "hourly") == [utc(2026, 5, 1, 13), utc(2026, 5, 1, 14)]
