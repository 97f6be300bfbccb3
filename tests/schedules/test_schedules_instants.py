"""Ticks that come late, twice, or long after a clock change, and new rules of a zone between two ticks."""

from datetime import datetime, timedelta
from importlib import resources
from pathlib import Path

import pytest

from harness import Commands, Database
from harness.slots import NO_HANDLERS, debian_slots, expand, go_to, skipped_ranges, slots_with_runs, ticks_at_once, utc

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
# Each slot gets its run, whenever the tick comes and whatever became of the one before.
EACH = ("--misfire", "all", "--overlap", "allow")
NIGHTS = {
    "time of day": "30 2 * * *",
    "several": "0,15,45 0-3 * * *",
    "real time": "*/20 * * * *",
    "midnight": "@daily",
}
SHIFTS = {
    "Europe/Berlin": [utc(2026, 3, 29, 1), utc(2026, 10, 25, 1)],
    "Australia/Lord_Howe": [utc(2026, 4, 4, 15), utc(2026, 10, 3, 15, 30)],
    "America/Santiago": [utc(2026, 4, 5, 3), utc(2026, 9, 6, 4)],
    "Africa/Casablanca": [utc(2026, 2, 15, 2), utc(2026, 3, 22, 2)],
}


def add(jobrunner: Commands, name: str, cron: str, zone: str, *words: str, env: dict[str, str] | None = None) -> None:
    jobrunner("schedule", "add", name, "--type", "echo", "--schedule", cron, "--timezone", zone, *words, env=env)


@pytest.mark.long(sample=0.5)
@pytest.mark.promise("P3", "P12")
@pytest.mark.parametrize("zone", SHIFTS)
def test_seventy_minutes_after_a_shift_every_slot_is_seen_once(
    jobrunner: Commands, database: Database, zone: str
) -> None:
    """No tick for four hours around it, then two at once, then one that comes again."""
    steps = [SHIFTS[zone][0] - 3 * HOUR]
    go_to(database, steps[0])
    for name, cron in NIGHTS.items():
        add(jobrunner, name, cron, zone, *EACH)
        add(jobrunner, f"{name}, latest", cron, zone, "--overlap", "allow")
    for shift in SHIFTS[zone]:
        steps += [shift - 3 * HOUR, shift + 70 * MINUTE, shift + 150 * MINUTE]
    for number, step in enumerate(steps[1:]):
        go_to(database, step)
        if number % 3 == 1:
            ticks_at_once(jobrunner, 2, NO_HANDLERS)
        if number == 3:
            # The slots of a summer are not what this is about.
            database.execute("UPDATE job_definitions SET last_slot_at = ?", [database.now()])
        jobrunner.tick(env=NO_HANDLERS)
    for name, cron in NIGHTS.items():
        near = [
            slot
            for begin, end in zip((steps[1], steps[4]), (steps[3], steps[6]), strict=True)
            for slot in debian_slots(cron, zone, begin, end)
        ]
        assert slots_with_runs(database, name) == near
        assert skipped_ranges(database, name) == []
        latest = slots_with_runs(database, f"{name}, latest")
        skipped = skipped_ranges(database, f"{name}, latest")
        assert set(latest) <= set(near)
        assert len(latest) + sum(count for _, _, count in skipped) == len(near)


@pytest.mark.promise("P3")
def test_interval_keeps_its_slots_whatever_ticks_and_clock_changes_do(jobrunner: Commands, database: Database) -> None:
    shift = utc(2026, 3, 29, 1)
    go_to(database, shift - 3 * HOUR)
    add(jobrunner, "every", "every 90m from 2026-03-28T23:00:00+01:00", "Europe/Berlin", *EACH)
    for step in (-100, 0, 70, 71, 400):
        expand(jobrunner, shift + step * MINUTE)
    # Anchored at 22:00 UTC, which is also the moment of `add`: that one is not made up for.
    assert slots_with_runs(database, "every") == [shift - 3 * HOUR + n * 90 * MINUTE for n in range(1, 7)]
    assert skipped_ranges(database, "every") == []


# ---------------------------------------------------------------- new rules for a zone


class Zones:
    """A folder of zone files, as a host has one, whose rules change when a new version is installed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {"PYTHONTZPATH": str(folder)}

    def install(self, zone: str, rules_of: str) -> None:
        path = self.folder / zone
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(resources.files("tzdata").joinpath("zoneinfo", *rules_of.split("/")).read_bytes())


@pytest.fixture
def zones(tmp_path: Path) -> Zones:
    found = Zones(tmp_path / "zones")
    found.install("Europe/Berlin", "Europe/Berlin")
    return found


def tick_at(jobrunner: Commands, database: Database, zones: Zones, instant: datetime) -> None:
    go_to(database, instant + 5 * timedelta(seconds=1))
    jobrunner.tick(env=NO_HANDLERS | zones.env)


def next_run_at(database: Database) -> datetime:
    found = database.value("SELECT next_run_at FROM job_definitions")
    assert isinstance(found, datetime)
    return found


NOON = ("noon", "0 12 * * *", "Europe/Berlin", "--overlap", "allow")


@pytest.mark.promise("P3")
def test_a_slot_that_new_rules_move_later_does_not_run_before_its_time(
    jobrunner: Commands, database: Database, zones: Zones
) -> None:
    """Summer time is given up: noon is an hour later than the row says."""
    go_to(database, utc(2026, 5, 1, 12))
    add(jobrunner, *NOON, env=zones.env)
    assert next_run_at(database) == utc(2026, 5, 2, 10)
    zones.install("Europe/Berlin", "Etc/GMT-1")
    tick_at(jobrunner, database, zones, utc(2026, 5, 2, 10))
    assert slots_with_runs(database, "noon") == []
    assert next_run_at(database) == utc(2026, 5, 2, 11)
    for day in (2, 3):
        tick_at(jobrunner, database, zones, utc(2026, 5, day, 11))
    assert slots_with_runs(database, "noon") == [utc(2026, 5, 2, 11), utc(2026, 5, 3, 11)]
    assert skipped_ranges(database, "noon") == []


@pytest.mark.promise("P3")
def test_a_slot_that_new_rules_move_earlier_is_the_new_one_and_not_lost(
    jobrunner: Commands, database: Database, zones: Zones
) -> None:
    """The row's next_run_at is when to look; which slots there are is found out then, by the rules of that moment."""
    go_to(database, utc(2026, 5, 1, 12))
    add(jobrunner, *NOON, env=zones.env)
    zones.install("Europe/Berlin", "Etc/GMT-3")
    tick_at(jobrunner, database, zones, utc(2026, 5, 2, 9))
    tick_at(jobrunner, database, zones, utc(2026, 5, 2, 10))
    assert slots_with_runs(database, "noon") == [utc(2026, 5, 2, 9)]
    tick_at(jobrunner, database, zones, utc(2026, 5, 3, 9))
    assert slots_with_runs(database, "noon") == [utc(2026, 5, 2, 9), utc(2026, 5, 3, 9)]
    assert skipped_ranges(database, "noon") == []


@pytest.mark.promise("P3", "P12")
def test_new_time_zone_rules_after_a_week_without_ticks_lose_no_slot(
    jobrunner: Commands, database: Database, zones: Zones
) -> None:
    """All slots of the week are those of the rules that are there when it looks."""
    go_to(database, utc(2026, 5, 1, 12))
    add(jobrunner, *NOON, "--misfire", "all", env=zones.env)
    zones.install("Europe/Berlin", "Etc/GMT-1")
    tick_at(jobrunner, database, zones, utc(2026, 5, 8, 10))
    assert slots_with_runs(database, "noon") == [utc(2026, 5, day, 11) for day in range(2, 8)]


def test_zone_removed_by_new_time_zone_data_loses_no_slot(
    jobrunner: Commands, database: Database, zones: Zones
) -> None:
    zones.install("Test/Town", "Etc/GMT-1")
    go_to(database, utc(2026, 5, 1, 12))
    add(jobrunner, "noon", "0 12 * * *", "Test/Town", "--overlap", "allow", env=zones.env)
    (zones.folder / "Test" / "Town").unlink()
    tick_at(jobrunner, database, zones, utc(2026, 5, 2, 11))
    assert slots_with_runs(database, "noon") == []
    assert "not a known zone" in database.value("SELECT last_error FROM job_definitions")
    zones.install("Test/Town", "Etc/GMT-2")
    tick_at(jobrunner, database, zones, utc(2026, 5, 2, 11, 10))
    assert slots_with_runs(database, "noon") == [utc(2026, 5, 2, 10)]
    assert database.value("SELECT last_error FROM job_definitions") is None
