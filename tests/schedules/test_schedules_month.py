"""A month of slots over a clock change, with a tick for each: every slot once, as in Debian's cron."""

from datetime import timedelta

import pytest

from harness import Commands, Database
from harness.slots import NO_HANDLERS, add, debian_slots, go_to, skipped_ranges, slots_with_runs, utc

BERLIN = "Europe/Berlin"
SCHEDULES = {"in the gap": "30 2 * * *", "twice a day": "0 */12 * * *", "sunday nights": "15 1-3 * * sun"}


@pytest.mark.timeout(600)
@pytest.mark.promise("P3")
@pytest.mark.long
def test_a_month_with_a_tick_per_slot_runs_each_slot_once(jobrunner: Commands, database: Database) -> None:
    spend_days(jobrunner, database, 30)


@pytest.mark.promise("P3")
@pytest.mark.long(sample=1)
def test_days_around_a_change_of_the_clock_with_a_tick_per_slot_run_each_slot_once(
    jobrunner: Commands, database: Database
) -> None:
    spend_days(jobrunner, database, 8)


def spend_days(jobrunner: Commands, database: Database, days: int) -> None:
    """In the middle of them Berlin's clocks go forward."""
    middle = utc(2026, 3, 30, 12, 30)
    begin, end = middle - timedelta(days=days / 2), middle + timedelta(days=days / 2)
    go_to(database, begin)
    for name, cron in SCHEDULES.items():
        add(jobrunner, name, cron)
    slots = {name: debian_slots(cron, BERLIN, begin, end) for name, cron in SCHEDULES.items()}
    for slot in sorted({slot for each in slots.values() for slot in each}):
        go_to(database, slot + timedelta(seconds=3))
        jobrunner("tick", env=NO_HANDLERS)
    assert {name: slots_with_runs(database, name) for name in SCHEDULES} == slots
    assert [skipped_ranges(database, name) for name in SCHEDULES] == [[]] * len(SCHEDULES)
    # Two nights have the change in them: the month must not be one without.
    assert utc(2026, 3, 29, 1) in slots["in the gap"]
    assert len(slots["in the gap"]) == days
