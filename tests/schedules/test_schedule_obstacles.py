"""The reason why an active schedule makes no runs is shown, and can be removed."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from harness import App, Commands, Database
from harness.declarations import declare, deploy, one
from harness.slots import expand, go_to, slots_with_runs, utc

NOON = utc(2026, 5, 1, 12)
HOUR = timedelta(hours=1)


def problem(jobrunner: Commands, name: str = "n") -> str | None:
    rows = {row["name"]: row for row in jobrunner("schedule", "list", "--json").json()}
    said: str | None = rows[name]["problem"]
    return said


def assert_shown_everywhere(jobrunner: Commands, said: str) -> None:
    for words in (["schedule", "list"], ["status"], ["schedule", "show", "n"], ["schedule", "next", "n"]):
        assert said in jobrunner(*words).stdout


@pytest.mark.promise("P12")
def test_waiting_run_of_a_renamed_type_does_not_silently_stop_its_schedule(
    jobrunner: Commands, app: App, database: Database
) -> None:
    go_to(database, NOON)
    deploy(jobrunner, code=one("n", "@hourly"))
    expand(jobrunner, NOON + HOUR)
    run_id = database.value("SELECT id FROM job_runs")
    declare(app, code=one("n", "@hourly").replace("scheduled", "renamed"))
    said = f"before run {run_id}, of its former type 'scheduled', has ended"
    applied = jobrunner("apply", check=False)
    assert (applied.returncode, applied.stderr.count("\n"), said in applied.stderr) == (1, 1, True)
    assert database.value("SELECT job_type FROM job_definitions") == "renamed"
    expand(jobrunner, NOON + 2 * HOUR)
    assert slots_with_runs(database, "n") == [NOON + HOUR]
    found = problem(jobrunner)
    assert found is not None
    assert said in found
    assert_shown_everywhere(jobrunner, found)
    # As it says.
    assert f"jobrunner cancel {run_id}" in found
    jobrunner("cancel", str(run_id))
    assert problem(jobrunner) is None
    assert jobrunner("apply").stderr == ""
    expand(jobrunner, NOON + 3 * HOUR)
    assert slots_with_runs(database, "n") == [NOON + HOUR, NOON + 3 * HOUR]


def test_apply_accepts_a_waiting_run_of_a_former_type_that_is_still_served(
    jobrunner: Commands, app: App, database: Database
) -> None:
    go_to(database, NOON)
    deploy(jobrunner, file='[schedules.n]\njob = "echo"\nschedule = "@hourly"\n')
    expand(jobrunner, NOON + HOUR)
    declare(app, file='[schedules.n]\njob = "append"\nschedule = "@hourly"\n')
    assert jobrunner("apply").stderr == ""


@pytest.mark.promise("P3", "P12")
def test_schedule_recovers_after_a_host_clock_was_ahead(jobrunner: Commands, database: Database) -> None:
    """The slots that got their runs while it was ahead do not get them again."""
    go_to(database, NOON)
    jobrunner("schedule", "add", "n", "--type", "echo", "--cron", "@hourly", "--misfire", "all", "--overlap", "allow")
    jobrunner("schedule", "add", "ends", "--type", "echo", "--cron", "@hourly", "--ends-at", "2026-05-01T14:30:00Z")
    expand(jobrunner, NOON + 3 * HOUR)
    made = [NOON + n * HOUR for n in (1, 2, 3)]
    assert slots_with_runs(database, "n") == made
    # The clock is right again.
    expand(jobrunner, NOON + 1.5 * HOUR)
    assert slots_with_runs(database, "n") == made
    said = problem(jobrunner)
    assert said is not None
    assert "no slot up to 2026-05-01T15:00:00Z gets a run: a clock was ahead" in said
    assert "schedule resume n --from now" in said
    assert_shown_everywhere(jobrunner, said)
    assert jobrunner("schedule", "next", "n", "--json").json()[0]["scheduled_for"] == "2026-05-01T16:00:00Z"
    told = jobrunner("schedule", "resume", "n", "--from", "now").stdout
    assert (
        "schedule n: not paused; slots up to 2026-05-01 15:00:00Z are expanded again, because a clock was ahead" in told
    )
    assert "next slot 2026-05-01 14:00:00Z" in told
    assert (problem(jobrunner), problem(jobrunner, "ends") is None) == (None, False)
    assert "schedule ends: not paused; slots up to" in jobrunner("schedule", "resume", "--all", "--from", "now").stdout
    assert problem(jobrunner, "ends") is None
    (event, _, _) = database.query("SELECT detail FROM job_events WHERE action = 'resume schedule' ORDER BY id")
    assert event["detail"]["watermark"]["from"] == "2026-05-01T15:00:00Z"
    expand(jobrunner, NOON + 2 * HOUR)
    expand(jobrunner, NOON + 4 * HOUR)
    assert slots_with_runs(database, "n") == [*made, NOON + 4 * HOUR]


def end_before_its_slot(jobrunner: Commands, database: Database) -> datetime:
    """The slot of a run that was at work when the clock that had been ahead was set right, and has ended at noon."""
    go_to(database, NOON)
    jobrunner("schedule", "add", "n", "--type", "echo", "--schedule", "@hourly", "--overlap", "allow")
    expand(jobrunner, NOON + 9 * HOUR)
    (slot,) = slots_with_runs(database, "n")
    go_to(database, NOON)
    row = {"status": "succeeded", "finished_at": database.now()}
    database.execute("UPDATE job_runs SET status = ?, finished_at = ?", [*row.values()])
    jobrunner("schedule", "resume", "n", "--from", "now")
    return slot


def assert_has_no_second_run(jobrunner: Commands, database: Database, slot: datetime) -> None:
    expand(jobrunner, NOON + 9 * HOUR)
    assert slots_with_runs(database, "n").count(slot) == 1
    assert database.value("SELECT count(*) FROM job_runs WHERE status = 'queued' AND scheduled_for = ?", [slot]) == 0


@pytest.mark.promise("P3")
def test_slot_gets_no_second_run_after_its_run_has_ended_before_it_and_is_older_than_its_retention(
    jobrunner: Commands, database: Database
) -> None:
    slot = end_before_its_slot(jobrunner, database)
    brief = {"JOBRUNNER_KEEP_SUCCEEDED": "1h"}
    assert jobrunner("prune", env=brief).stdout == "deleted\nnothing\n"
    go_to(database, NOON + 8 * HOUR)
    assert jobrunner("prune", env=brief).stdout == "deleted\nnothing\n"
    assert_has_no_second_run(jobrunner, database, slot)
    go_to(database, NOON + 11 * HOUR)
    jobrunner("prune", env=brief)
    assert slot not in slots_with_runs(database, "n")


@pytest.mark.promise("P3")
def test_slot_gets_no_second_run_after_its_run_has_ended_before_it_and_was_archived(
    jobrunner: Commands, database: Database, tmp_path: Path
) -> None:
    slot = end_before_its_slot(jobrunner, database)
    go_to(database, NOON + 8 * HOUR)
    # All that has ended is copied: another database would expand the slot again, too.
    for until in ("1h", (NOON + 24 * HOUR).isoformat()):
        told = jobrunner("archive", "runs", "--until", until, tmp_path / f"until-{until}").stdout
        assert "wrote 1 runs" in told
        assert told.endswith("deleted 0 runs; 1 stay or were gone\n")
    assert_has_no_second_run(jobrunner, database, slot)
    assert "deleted 0 runs; 1 stay" in jobrunner("archive", "finish", tmp_path / "until-1h").stdout
    go_to(database, NOON + 11 * HOUR)
    jobrunner("archive", "runs", "--until", "1h", tmp_path / "later")
    assert slot not in slots_with_runs(database, "n")
