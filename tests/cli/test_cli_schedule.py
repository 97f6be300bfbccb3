"""`jobrunner schedule add`, `list` and `remove`."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from harness import Commands, Database

NIGHTLY = ["schedule", "add", "nightly", "--type", "echo", "--cron", "30  2 * * *", "--timezone", "Europe/Berlin"]


def listed(jobrunner: Commands) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in jobrunner("schedule", "list", "--json").json()}


def at_noon(database: Database) -> None:
    database.set_clock_offset(datetime(2026, 5, 1, 12, tzinfo=UTC) - datetime.now(UTC))


@pytest.mark.promise("P12")
def test_schedule_add_prints_the_next_slot_and_records_an_event(jobrunner: Commands, database: Database) -> None:
    at_noon(database)
    done = jobrunner(*NIGHTLY, "--payload", '{"a": 1}')
    assert (done.stdout, done.stderr) == ("schedule nightly: next slot 2026-05-02 00:30:00Z\n", "")
    row = listed(jobrunner)["nightly"]
    assert (row["job_type"], row["schedule"], row["timezone"]) == ("echo", "30 2 * * *", "Europe/Berlin")
    assert (row["payload"], row["last_error"]) == ({"a": 1}, None)
    assert datetime.fromisoformat(row["next_run_at"]) == datetime(2026, 5, 2, 0, 30, tzinfo=UTC)
    (event,) = database.query("SELECT actor, action, definition_id, detail FROM job_events")
    assert (event["action"], event["definition_id"]) == ("add schedule", row["id"])
    assert event["detail"]["schedule"] == "30 2 * * *"
    assert "@" in event["actor"]


def test_the_payload_goes_into_each_run(jobrunner: Commands, database: Database, tmp_path: Path) -> None:
    at_noon(database)
    file = tmp_path / "payload.json"
    file.write_text('{"from": "file"}')
    jobrunner("schedule", "add", "n", "--type", "echo", "--cron", "@hourly", "--payload", f"@{file}")
    jobrunner("schedule", "add", "m", "--type", "echo", "--cron", "@hourly", "--payload", "-", stdin='{"from": "-"}')
    database.move_clock(timedelta(hours=1, seconds=1))
    jobrunner.tick()
    rows = database.query("SELECT payload, result, scheduled_for, run_at FROM job_runs ORDER BY id")
    assert [row["result"]["from"] for row in rows] == ["file", "-"]
    assert {row["scheduled_for"] for row in rows} == {datetime(2026, 5, 1, 13, tzinfo=UTC)}


def test_time_zone_of_a_schedule_is_utc_by_default(jobrunner: Commands, database: Database) -> None:
    at_noon(database)
    done = jobrunner("schedule", "add", "n", "--type", "echo", "--cron", "0 2 * * *", env={"TZ": "Asia/Tokyo"})
    assert done.stdout == "schedule n: next slot 2026-05-02 02:00:00Z\n"
    assert listed(jobrunner)["n"]["timezone"] == "UTC"


def test_list_is_a_table_for_people(jobrunner: Commands, database: Database) -> None:
    assert jobrunner("schedule", "list").stdout == "no schedules\n"
    assert jobrunner("schedule", "list", "--json").json() == []
    at_noon(database)
    jobrunner(*NIGHTLY)
    heading, line = jobrunner("schedule", "list").stdout.splitlines()
    assert heading.split()[:3] == ["NAME", "TYPE", "SCHEDULE"]
    assert line.split() == [
        "nightly",
        "echo",
        *["30", "2", "*", "*", "*"],
        "Europe/Berlin",
        "2026-05-02",
        "00:30:00Z",
        "-",
    ]


def test_a_name_is_taken_until_it_is_removed(jobrunner: Commands, database: Database) -> None:
    jobrunner(*NIGHTLY)
    assert "'nightly'" in jobrunner.refused(1, *NIGHTLY[:-4], "--cron", "@daily")
    assert listed(jobrunner)["nightly"]["schedule"] == "30 2 * * *"
    jobrunner("schedule", "remove", "nightly")
    jobrunner(*NIGHTLY[:-4], "--cron", "@daily")
    assert listed(jobrunner)["nightly"]["schedule"] == "@daily"
    assert database.value("SELECT count(*) FROM job_definitions") == 1


def test_eight_concurrent_adds_of_a_name_add_it_once(jobrunner: Commands, database: Database) -> None:
    started = [jobrunner.start(*NIGHTLY) for _ in range(8)]
    ends = [process.communicate(timeout=60) for process in started]
    assert sorted(process.returncode for process in started) == [0] + [1] * 7, ends
    assert database.value("SELECT count(*) FROM job_definitions") == 1


@pytest.mark.promise("P12")
def test_remove_keeps_runs_and_history(jobrunner: Commands, database: Database) -> None:
    at_noon(database)
    jobrunner("schedule", "add", "n", "--type", "echo", "--cron", "@hourly")
    database.move_clock(timedelta(hours=1))
    jobrunner.tick()
    assert jobrunner("schedule", "remove", "n").stdout == "schedule n: removed\n"
    assert listed(jobrunner) == {}
    database.move_clock(timedelta(hours=5))
    jobrunner.tick()
    assert database.value("SELECT count(*) FROM job_runs WHERE status = 'succeeded'") == 1
    assert database.value("SELECT count(*) FROM job_runs") == 1
    actions = [row["action"] for row in database.query("SELECT action FROM job_events ORDER BY id")]
    assert actions == ["add schedule", "remove schedule"]


def test_remove_of_an_unknown_schedule_is_refused(jobrunner: Commands) -> None:
    for name in ("none", "a\nb"):
        jobrunner.refused(1, "schedule", "remove", name)


def test_the_longest_expression_is_kept_whole(jobrunner: Commands) -> None:
    every_minute = ",".join(map(str, range(60)))
    cron = f"{every_minute} {','.join(map(str, range(24)))} {','.join(map(str, range(1, 32)))} * *"
    assert len(cron) > 300
    jobrunner("schedule", "add", "long", "--type", "echo", "--schedule", cron)
    assert listed(jobrunner)["long"]["schedule"] == cron
