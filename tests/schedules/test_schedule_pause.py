"""`jobrunner schedule pause` and `resume`, for one schedule or all, also after a backup was restored."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from harness import Commands, Database
from harness.slots import NO_HANDLERS, expand, go_to, skipped_ranges, slots_with_runs, utc


def add(jobrunner: Commands, *names: str) -> None:
    for name in names:
        jobrunner("schedule", "add", name, "--type", "echo", "--cron", "@hourly", "--overlap", "allow")


def listed(jobrunner: Commands) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in jobrunner("schedule", "list", "--json").json()}


@pytest.mark.promise("P12")
def test_paused_schedule_makes_no_runs_and_resume_reports_the_slots_passed_over(
    jobrunner: Commands, database: Database
) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    add(jobrunner, "n")
    assert jobrunner("schedule", "pause", "n").stdout == "schedule n: paused\n"
    assert jobrunner("schedule", "list").stdout.splitlines()[1].split()[-2] == "paused"
    expand(jobrunner, utc(2026, 5, 1, 15, 30))
    assert jobrunner("schedule", "pause", "n").stdout.startswith("schedule n: paused since 2026-05-01 12:00:")
    done = jobrunner("schedule", "resume", "n")
    assert done.stdout == "schedule n: resumed; next slot 2026-05-01 16:00:00Z; 3 slots passed over\n"
    expand(jobrunner)
    assert slots_with_runs(database, "n") == []
    assert skipped_ranges(database, "n") == [(utc(2026, 5, 1, 13), utc(2026, 5, 1, 15), 3)]
    expand(jobrunner, utc(2026, 5, 1, 16, 0, 1))
    assert slots_with_runs(database, "n") == [utc(2026, 5, 1, 16)]
    rows = database.query("SELECT action, actor, detail FROM job_events ORDER BY id")
    assert [row["action"] for row in rows] == ["add schedule", "pause schedule", "skip slots", "resume schedule"]
    assert rows[2]["detail"]["reason"] == "paused"
    assert all("@" in row["actor"] for row in rows)


@pytest.mark.promise("P3", "P12")
def test_misfire_policy_decides_about_slots_after_resume_from_missed(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    add(jobrunner, "latest", "all")
    jobrunner("schedule", "edit", "all", "--misfire", "all")
    jobrunner("schedule", "pause", "--all")
    go_to(database, utc(2026, 5, 1, 15, 30))
    done = jobrunner("schedule", "resume", "latest", "--from", "missed")
    assert done.stdout == "schedule latest: resumed; the next tick decides on 3 slots\n"
    jobrunner("schedule", "resume", "all", "--from", "missed")
    expand(jobrunner)
    assert slots_with_runs(database, "latest") == [utc(2026, 5, 1, 15)]
    assert skipped_ranges(database, "latest") == [(utc(2026, 5, 1, 13), utc(2026, 5, 1, 14), 2)]
    assert slots_with_runs(database, "all") == [utc(2026, 5, 1, hour) for hour in (13, 14, 15)]


def test_resume_does_not_change_a_schedule_that_is_not_paused(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    add(jobrunner, "n")
    go_to(database, utc(2026, 5, 1, 13, 0, 1))
    assert jobrunner("schedule", "resume", "n").stdout == "schedule n: not paused\n"
    expand(jobrunner)
    assert slots_with_runs(database, "n") == [utc(2026, 5, 1, 13)]


@pytest.mark.promise("P3", "P12")
def test_slot_due_during_concurrent_pauses_and_ticks_has_a_run_or_is_recorded_as_skipped(
    jobrunner: Commands, database: Database
) -> None:
    names = [f"n{number}" for number in range(5)]
    go_to(database, utc(2026, 5, 1, 12))
    add(jobrunner, *names)
    go_to(database, utc(2026, 5, 1, 13, 0, 1))
    started = [jobrunner.start("schedule", "pause", name) for name in names]
    started += [jobrunner.start("tick", env=NO_HANDLERS) for _ in range(3)]
    ends = [process.communicate(timeout=90) for process in started]
    assert [process.returncode for process in started] == [0] * len(started), ends
    paused = {name: row["last_slot_at"] for name, row in listed(jobrunner).items() if row["paused_at"]}
    assert set(paused) == set(names)
    go_to(database, utc(2026, 5, 1, 13, 30))
    for name in names:
        jobrunner("schedule", "resume", name)
    expand(jobrunner)
    for name in names:
        runs, skipped = slots_with_runs(database, name), skipped_ranges(database, name)
        one = utc(2026, 5, 1, 13)
        assert (runs, skipped) in (([one], []), ([], [(one, one, 1)]))


@pytest.mark.promise("P3", "P12")
def test_resume_all_from_now_after_a_restored_backup_expands_no_past_slot(
    jobrunner: Commands, database: Database
) -> None:
    """The procedure after a restore: the slots of 14 and 15 ran, and the backup of 13:30 knows nothing of it."""
    go_to(database, utc(2026, 5, 1, 12))
    add(jobrunner, "a", "b", "asleep")
    jobrunner("schedule", "pause", "asleep")
    expand(jobrunner, utc(2026, 5, 1, 13, 30))
    backup = {table: database.query(f"SELECT id FROM {table}") for table in ("job_runs", "job_events", "job_attempts")}
    watermarks = database.query("SELECT id, last_slot_at, next_run_at FROM job_definitions")
    for hour in (14, 15):
        expand(jobrunner, utc(2026, 5, 1, hour, 0, 1))
    assert slots_with_runs(database, "a") == [utc(2026, 5, 1, hour) for hour in (13, 14, 15)]
    for table, rows in backup.items():
        database.execute(f"DELETE FROM {table} WHERE id > ?", [max((row["id"] for row in rows), default=0)])
    for row in watermarks:
        database.execute(
            "UPDATE job_definitions SET last_slot_at = ?, next_run_at = ? WHERE id = ?",
            [row["last_slot_at"], row["next_run_at"], row["id"]],
        )
    done = jobrunner("schedule", "resume", "--all", "--from", "now")
    assert done.stdout.splitlines() == [
        "schedule a: not paused; next slot 2026-05-01 16:00:00Z; 2 slots passed over",
        "schedule b: not paused; next slot 2026-05-01 16:00:00Z; 2 slots passed over",
        "schedule asleep: resumed; next slot 2026-05-01 16:00:00Z; 3 slots passed over",
        "active from now: 3",
    ]
    expand(jobrunner)
    for name in ("a", "b"):
        assert slots_with_runs(database, name) == [utc(2026, 5, 1, 13)]
        assert skipped_ranges(database, name) == [(utc(2026, 5, 1, 14), utc(2026, 5, 1, 15), 2)]
    assert slots_with_runs(database, "asleep") == []
    expand(jobrunner, utc(2026, 5, 1, 16, 0, 1))
    for name in ("a", "b"):
        assert slots_with_runs(database, name) == [utc(2026, 5, 1, 13), utc(2026, 5, 1, 16)]
        assert len(skipped_ranges(database, name)) == 1


def test_pause_all_and_resume_all_change_every_schedule(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    add(jobrunner, "a", "b", "gone")
    jobrunner("schedule", "remove", "gone")
    jobrunner("schedule", "pause", "b")
    assert jobrunner("schedule", "pause", "--all").stdout == "schedule a: paused\npaused: 1\n"
    expand(jobrunner, utc(2026, 5, 1, 13, 0, 1))
    assert database.value("SELECT count(*) FROM job_runs") == 0
    jobrunner("schedule", "resume", "--all", "--from", "missed")
    expand(jobrunner)
    assert [slots_with_runs(database, name) for name in ("a", "b", "gone")] == [[utc(2026, 5, 1, 13)]] * 2 + [[]]
    assert all(row["paused_at"] is None for row in listed(jobrunner).values())


@pytest.mark.parametrize(
    "words",
    [["pause"], ["resume"], ["pause", "n", "--all"], ["resume", "n", "--all", "--from", "now"], ["resume", "--all"]],
    ids=" ".join,
)
def test_pause_needs_a_name_or_all(jobrunner: Commands, database: Database, words: list[str]) -> None:
    add(jobrunner, "n")
    jobrunner.refused(2, "schedule", *words)
    assert listed(jobrunner)["n"]["paused_at"] is None


def test_a_schedule_can_be_added_paused(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    done = jobrunner("schedule", "add", "n", "--type", "echo", "--cron", "@hourly", "--paused")
    assert done.stdout == "schedule n: paused\n"
    expand(jobrunner, utc(2026, 5, 1, 13, 0, 1))
    assert slots_with_runs(database, "n") == []
    found = jobrunner("schedule", "show", "n", "--json").json()
    assert found["paused_by"] == found["events"][0]["actor"]


def test_waiting_runs_are_done_while_their_schedule_is_paused(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    add(jobrunner, "n")
    jobrunner("schedule", "trigger", "n")
    jobrunner("schedule", "pause", "n")
    jobrunner.tick()
    assert database.query("SELECT status FROM job_runs") == [{"status": "succeeded"}]


def test_resume_of_an_ended_schedule_passes_over_no_slot(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    add(jobrunner, "n")
    jobrunner("schedule", "edit", "n", "--ends-at", "2026-05-01T13:30:00Z")
    jobrunner("schedule", "pause", "n")
    go_to(database, utc(2026, 5, 1, 12) + timedelta(days=3))
    assert jobrunner("schedule", "resume", "n").stdout == (
        "schedule n: resumed; next slot never again; 1 slot passed over\n"
    )
    assert datetime.fromisoformat(listed(jobrunner)["n"]["last_slot_at"]) >= utc(2026, 5, 4, 12)
