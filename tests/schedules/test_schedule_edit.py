"""`jobrunner schedule edit`: the new declaration holds from now on; no slot is lost or fires twice."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from harness import Commands, Database
from harness.locks import locked_definition, wait_for_lock
from harness.slots import NO_HANDLERS, expand, go_to, skipped_ranges, slots_with_runs, utc

HOURLY = ["schedule", "add", "n", "--type", "echo", "--cron", "@hourly"]


def events(database: Database, action: str) -> list[dict[str, Any]]:
    found = database.query("SELECT detail FROM job_events WHERE action = ? ORDER BY id", [action])
    return [row["detail"] for row in found]


def shown(jobrunner: Commands, name: str = "n") -> dict[str, Any]:
    answer: dict[str, Any] = jobrunner("schedule", "show", name, "--json").json()
    return answer


@pytest.mark.promise("P12")
def test_edit_records_the_old_and_new_value_of_each_field(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    jobrunner(*HOURLY, "--jitter", "5m", "--max-runs", "9", "--payload", '{"a": 1}')
    done = jobrunner(
        *["schedule", "edit", "n", "--cron", "0 9 * * *", "--timezone", "Europe/Berlin", "--type", "append"],
        *["--payload", '{"b": [2]}', "--description", "the morning's", "--overlap", "queue", "--misfire", "all"],
        *["--misfire-most", "7", "--misfire-window", "2h", "--start-deadline", "90s", "--jitter", "none"],
        *["--max-runs", "none", "--ends-at", "2027-01-01T00:00:00+01:00"],
    )
    assert done.stdout.endswith("; next slot 2026-05-02 07:00:00Z\n")
    (detail,) = events(database, "edit schedule")
    assert detail == {
        "changed": {
            "job_type": {"from": "echo", "to": "append"},
            "schedule": {"from": "@hourly", "to": "0 9 * * *"},
            "timezone": {"from": "UTC", "to": "Europe/Berlin"},
            "payload": {"from": {"a": 1}, "to": {"b": [2]}},
            "description": {"from": None, "to": "the morning's"},
            "misfire": {"from": "latest", "to": "all"},
            "misfire_window": {"from": None, "to": 7200},
            "misfire_most": {"from": 100, "to": 7},
            "overlap": {"from": "skip", "to": "queue"},
            "start_deadline": {"from": None, "to": 90},
            "jitter": {"from": 300, "to": None},
            "ends_at": {"from": None, "to": "2026-12-31T23:00:00Z"},
            "max_runs": {"from": 9, "to": None},
        }
    }
    row = shown(jobrunner)
    assert {name: row[name] for name in ("job_type", "payload", "misfire", "jitter", "max_runs")} == {
        "job_type": "append",
        "payload": {"b": [2]},
        "misfire": "all",
        "jitter": None,
        "max_runs": None,
    }


def test_edit_without_a_change_records_no_event(jobrunner: Commands, database: Database) -> None:
    jobrunner(*HOURLY)
    before = database.query("SELECT * FROM job_definitions")
    assert jobrunner("schedule", "edit", "n", "--cron", " @hourly ", "--overlap", "skip").stdout == (
        "schedule n: not changed\n"
    )
    assert database.query("SELECT * FROM job_definitions") == before
    assert events(database, "edit schedule") == []


@pytest.mark.promise("P3", "P12")
def test_edit_keeps_slots_due_by_the_old_expression_and_the_new_one_counts_from_now(
    jobrunner: Commands, database: Database
) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    jobrunner(*HOURLY)
    go_to(database, utc(2026, 5, 1, 14, 0, 20))
    jobrunner("schedule", "edit", "n", "--cron", "*/5 * * * *")
    assert slots_with_runs(database, "n") == [utc(2026, 5, 1, 14)]
    assert skipped_ranges(database, "n") == [(utc(2026, 5, 1, 13), utc(2026, 5, 1, 13), 1)]
    expand(jobrunner)
    assert slots_with_runs(database, "n") == [utc(2026, 5, 1, 14)]
    database.execute("UPDATE job_runs SET status = 'cancelled', finished_at = run_at")  # out of the way of the next
    expand(jobrunner, utc(2026, 5, 1, 14, 5, 1))
    assert slots_with_runs(database, "n") == [utc(2026, 5, 1, 14), utc(2026, 5, 1, 14, 5)]


@pytest.mark.promise("P3")
def test_slots_of_the_new_expression_before_the_edit_get_no_runs(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    jobrunner(*HOURLY, "--misfire", "all", "--overlap", "allow")
    go_to(database, utc(2026, 5, 1, 12, 47))
    jobrunner("schedule", "edit", "n", "--cron", "*/5 * * * *")
    expand(jobrunner, utc(2026, 5, 1, 12, 55, 1))
    assert slots_with_runs(database, "n") == [utc(2026, 5, 1, 12, 50), utc(2026, 5, 1, 12, 55)]
    assert skipped_ranges(database, "n") == []


@pytest.mark.promise("P3", "P12")
def test_an_edit_that_waited_for_a_tick_sees_what_the_tick_did(jobrunner: Commands, database: Database) -> None:
    """The tick is played by hand, so that the edit surely begins while it is at it."""
    go_to(database, utc(2026, 5, 1, 12))
    jobrunner(*HOURLY, "--overlap", "allow")
    go_to(database, utc(2026, 5, 1, 13, 0, 1))
    slot = utc(2026, 5, 1, 13)
    with locked_definition(database, "n") as execute:
        edit = jobrunner.start("schedule", "edit", "n", "--cron", "*/5 * * * *")
        wait_for_lock(database)
        execute("UPDATE job_definitions SET last_slot_at = ?, next_run_at = ?", [slot, utc(2026, 5, 1, 14)])
        execute(
            "INSERT INTO job_runs (definition_id, scheduled_for, run_at, created_at, updated_at, job_type, payload,"
            " status, priority) SELECT id, ?, ?, ?, ?, job_type, payload, 'queued', 0 FROM job_definitions",
            [slot] * 4,
        )
    assert (edit.wait(60), edit.communicate()[1]) == (0, "")
    expand(jobrunner)
    assert slots_with_runs(database, "n") == [slot]
    assert skipped_ranges(database, "n") == []


@pytest.mark.promise("P3")
def test_a_slot_of_both_expressions_fires_once(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    jobrunner(*HOURLY, "--overlap", "allow")
    expand(jobrunner, utc(2026, 5, 1, 13, 0, 1))
    for cron in ("0,30 * * * *", "0 13 * * *", "@hourly", "* * * * *"):
        jobrunner("schedule", "edit", "n", "--schedule", cron)
        expand(jobrunner)
    assert slots_with_runs(database, "n") == [utc(2026, 5, 1, 13)]


@pytest.mark.promise("P3")
def test_edit_of_the_payload_keeps_the_watermark_and_the_slots(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    jobrunner(*HOURLY)
    jobrunner("schedule", "pause", "n")
    go_to(database, utc(2026, 5, 1, 14, 30))
    jobrunner("schedule", "edit", "n", "--payload", '{"a": 2}')
    jobrunner("schedule", "resume", "n", "--from", "missed")
    expand(jobrunner)
    assert slots_with_runs(database, "n") == [utc(2026, 5, 1, 14)]
    assert database.query("SELECT payload FROM job_runs") == [{"payload": {"a": 2}}]


@pytest.mark.promise("P12")
def test_edit_of_a_paused_schedule_records_the_slots_passed_over(jobrunner: Commands, database: Database) -> None:
    """The new expression could not tell which slots those were."""
    go_to(database, utc(2026, 5, 1, 12))
    jobrunner(*HOURLY)
    jobrunner("schedule", "pause", "n")
    go_to(database, utc(2026, 5, 1, 14, 30))
    assert "paused" in jobrunner("schedule", "edit", "n", "--cron", "*/10 * * * *").stdout
    assert skipped_ranges(database, "n") == [(utc(2026, 5, 1, 13), utc(2026, 5, 1, 14), 2)]
    jobrunner("schedule", "resume", "n", "--from", "missed")
    expand(jobrunner)
    assert slots_with_runs(database, "n") == []


@pytest.mark.promise("P3")
def test_later_ends_at_gives_no_runs_to_slots_in_between(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    jobrunner(*HOURLY, "--ends-at", "2026-05-01T13:30:00Z")
    expand(jobrunner, utc(2026, 5, 1, 18, 30))
    assert slots_with_runs(database, "n") == [utc(2026, 5, 1, 13)]
    assert jobrunner("schedule", "list").stdout.splitlines()[1].split()[4:6] == ["never", "again"]
    done = jobrunner("schedule", "edit", "n", "--ends-at", "none", "--overlap", "allow")
    assert done.stdout.endswith("next slot 2026-05-01 19:00:00Z\n")
    expand(jobrunner)
    assert slots_with_runs(database, "n") == [utc(2026, 5, 1, 13)]
    expand(jobrunner, utc(2026, 5, 1, 19, 0, 1))
    assert slots_with_runs(database, "n") == [utc(2026, 5, 1, 13), utc(2026, 5, 1, 19)]
    assert skipped_ranges(database, "n") == []


@pytest.mark.promise("P3", "P12")
def test_edits_and_ticks_at_once_lose_no_slot_and_fire_none_twice(jobrunner: Commands, database: Database) -> None:
    """The slot of 13:00 is due when all of them begin; by the new words 12:30 would have been one."""
    names = [f"n{number}" for number in range(4)]
    go_to(database, utc(2026, 5, 1, 12))
    for name in names:
        jobrunner("schedule", "add", name, *HOURLY[3:], "--overlap", "allow")
    go_to(database, utc(2026, 5, 1, 13, 0, 1))
    started = []
    for name in names:
        started.append(jobrunner.start("schedule", "edit", name, "--cron", "0,30 * * * *"))
        started.append(jobrunner.start("tick", env=NO_HANDLERS))
    ends = [process.communicate(timeout=90) for process in started]
    assert [process.returncode for process in started] == [0] * len(started), ends
    expand(jobrunner)
    for name in names:
        assert slots_with_runs(database, name) == [utc(2026, 5, 1, 13)]
        assert skipped_ranges(database, name) == []
    assert len(events(database, "edit schedule")) == len(names)


def test_two_concurrent_edits_are_both_kept(jobrunner: Commands, database: Database) -> None:
    jobrunner(*HOURLY)
    changes = (["--jitter", "5m"], ["--overlap", "queue"], ["--description", "d"], ["--payload", '{"a": 1}'])
    started = [jobrunner.start("schedule", "edit", "n", *words) for words in changes]
    ends = [process.communicate(timeout=90) for process in started]
    assert [process.returncode for process in started] == [0] * 4, ends
    row = shown(jobrunner)
    assert (row["jitter"], row["overlap"], row["description"], row["payload"]) == (300, "queue", "d", {"a": 1})
    assert len(events(database, "edit schedule")) == 4


BAD = {
    "nothing": [],
    "an expression": ["--cron", "61 * * * *"],
    "a zone": ["--timezone", "Mars"],
    "never": ["--cron", "0 0 30 2 *"],
    "a payload": ["--payload", "none"],
    "a policy": ["--misfire", "sometimes"],
    "a contradiction": ["--misfire", "all", "--overlap", "replace"],
    "a duration": ["--jitter", "soon"],
    "an end without an offset": ["--ends-at", "2027-01-01T00:00:00"],
    "no runs": ["--max-runs", "0"],
    "a type": ["--type", "two words"],
}


@pytest.mark.parametrize("words", BAD.values(), ids=BAD.keys())
def test_a_bad_edit_is_refused_in_one_line_and_changes_nothing(
    jobrunner: Commands, database: Database, words: list[str]
) -> None:
    jobrunner(*HOURLY)
    before = database.query("SELECT * FROM job_definitions")
    jobrunner.refused(2, "schedule", "edit", "n", *words)
    assert database.query("SELECT * FROM job_definitions") == before
    assert events(database, "edit schedule") == []


@pytest.mark.parametrize(("source", "place"), [("code", "the code"), ("file", "jobrunner.toml")])
def test_schedule_of_code_cannot_be_edited_but_can_be_paused(
    jobrunner: Commands, database: Database, source: str, place: str
) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    jobrunner(*HOURLY)
    database.execute("UPDATE job_definitions SET source = ?", [source])
    before = database.query("SELECT * FROM job_definitions")
    for words in (["edit", "n", "--cron", "@daily"], ["remove", "n"]):
        refused = jobrunner("schedule", *words, check=False)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert f"is kept in {place}; change it there and run: jobrunner apply" in refused.stderr
    assert database.query("SELECT * FROM job_definitions") == before
    jobrunner("schedule", "pause", "n")
    jobrunner("schedule", "trigger", "n")
    jobrunner("schedule", "backfill", "n", "--since", "2026-05-01T10:00:00Z", "--until", "2026-05-01T11:00:00Z")
    jobrunner("schedule", "resume", "n")
    assert database.value("SELECT count(*) FROM job_runs") == 3


def test_a_removed_name_cannot_be_edited(jobrunner: Commands, database: Database) -> None:
    jobrunner(*HOURLY)
    jobrunner("schedule", "remove", "n")
    assert "was removed" in jobrunner.refused(1, "schedule", "edit", "n", "--jitter", "5m")


def test_a_clock_that_stepped_back_does_not_lower_the_watermark(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    jobrunner(*HOURLY)
    expand(jobrunner, utc(2026, 5, 1, 14, 0, 1))
    go_to(database, utc(2026, 5, 1, 12, 30))
    jobrunner("schedule", "edit", "n", "--cron", "0 * * * *", "--overlap", "allow")
    watermark = datetime.fromisoformat(shown(jobrunner)["last_slot_at"])
    assert watermark >= utc(2026, 5, 1, 14)
    expand(jobrunner, utc(2026, 5, 1, 14, 0, 1) + timedelta(seconds=1))
    assert slots_with_runs(database, "n") == [utc(2026, 5, 1, 14)]
