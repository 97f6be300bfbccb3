"""Removing or renaming a schedule loses no slot that is due, and a renamed one keeps its history."""

from datetime import timedelta

import pytest

from harness import App, Commands, Database
from harness.declarations import applied, declare, deploy, one
from harness.slots import NO_HANDLERS, expand, go_to, skipped_ranges, slots_with_runs, utc

NOON = utc(2026, 5, 1, 12)
HOUR, SECOND = timedelta(hours=1), timedelta(seconds=1)
SLOT = NOON + HOUR


def add(jobrunner: Commands, *names: str) -> None:
    for name in names:
        jobrunner("schedule", "add", name, "--type", "echo", "--cron", "@hourly", "--overlap", "allow")


@pytest.mark.promise("P12")
def test_slot_due_at_the_removal_of_its_schedule_has_a_run_or_is_recorded_as_skipped(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """By command, and by an apply that knows it no more."""
    go_to(database, NOON)
    add(jobrunner, "by command", "paused")
    jobrunner("schedule", "pause", "paused")
    deploy(jobrunner, code=one("by apply", "@hourly"), file="")
    go_to(database, SLOT + SECOND)
    for name in ("by command", "paused"):
        jobrunner("schedule", "remove", name)
    declare(app, code="")
    assert applied(jobrunner)["disabled"] == ["by apply"]
    assert slots_with_runs(database, "by command") == slots_with_runs(database, "by apply") == [SLOT]
    assert slots_with_runs(database, "paused") == []
    assert skipped_ranges(database, "paused") == [(SLOT, SLOT, 1)]
    # In this order on both databases.
    told = "from 2026-05-01T13:00:00Z, to 2026-05-01T13:00:00Z, count 1, reason paused"
    assert told in jobrunner("schedule", "show", "paused").stdout
    assert jobrunner.tick(env=NO_HANDLERS).stderr == ""
    assert database.value("SELECT count(*) AS n FROM job_runs") == 2


@pytest.mark.promise("P3", "P12")
def test_a_renamed_schedule_keeps_its_history_and_loses_no_slot(jobrunner: Commands, database: Database) -> None:
    go_to(database, NOON)
    add(jobrunner, "old", "taken", "removed")
    jobrunner("schedule", "remove", "removed")
    go_to(database, SLOT + SECOND)
    for name in ("taken", "removed"):
        jobrunner.refused(
            1, "schedule", "edit", "old", "--name", name, says=[f"there is a schedule named '{name}' already"]
        )
    done = jobrunner("schedule", "edit", "old", "--name", "new")
    assert done.stdout == "schedule new: name changed; next slot 2026-05-01 14:00:00Z\n"
    expand(jobrunner, SLOT + HOUR + SECOND)
    assert slots_with_runs(database, "new") == [SLOT, SLOT + HOUR]
    shown = jobrunner("schedule", "show", "new", "--json").json()
    assert [event["action"] for event in shown["events"]] == ["edit schedule", "add schedule"]
    assert shown["events"][0]["detail"] == {"changed": {"name": {"from": "old", "to": "new"}}}
    assert "there is no schedule named 'old'" in jobrunner("schedule", "show", "old", check=False).stderr


@pytest.mark.promise("P3", "P12")
def test_a_schedule_that_code_renames_keeps_its_history_also_after_a_rollback(
    jobrunner: Commands, app: App, database: Database
) -> None:
    go_to(database, NOON)
    deploy(jobrunner, code=one("old", "@hourly"))
    (old_id,) = (row["id"] for row in database.query("SELECT id FROM job_definitions"))
    go_to(database, SLOT + SECOND)
    renamed = one("new", "@hourly", renamed_from="old", max_runs=5)
    declare(app, code=renamed)
    assert applied(jobrunner)["changed"]["old"]["name"] == ("old", "new")
    assert applied(jobrunner)["unchanged"] == 1
    assert slots_with_runs(database, "new") == [SLOT]
    # A rollback knows nothing of the new name; what comes after it is no second renaming.
    declare(app, code=one("old", "@hourly"))
    back = applied(jobrunner)
    assert (back["added"], back["disabled"]) == (["old"], ["new"])
    declare(app, code=renamed)
    again = jobrunner("apply").stdout.splitlines()
    assert again[0].startswith("+ new: scheduled at @hourly UTC (the code), was removed ")
    assert again[0].endswith(", 1 of 5 runs made")
    assert again[1:] == ["- old: no longer in the code", "1 added, 1 disabled, 0 unchanged"]
    assert database.value("SELECT id FROM job_definitions WHERE name = 'new'") == old_id


def test_renamed_from_a_name_that_is_still_declared_is_refused(
    jobrunner: Commands, app: App, database: Database
) -> None:
    file = '[schedules.new]\njob = "echo"\nschedule = "@daily"\nrenamed_from = "old"\n'
    declare(app, file=file + file.replace("new", "old").replace('renamed_from = "old"\n', ""))
    refused = jobrunner("apply", check=False)
    assert refused.returncode == 78
    assert "renamed_from 'old', which is still declared" in refused.stderr
