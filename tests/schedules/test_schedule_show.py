"""`jobrunner schedule show` and `list`: the declaration, the runs, and who changed what."""

import re
from datetime import datetime, timedelta
from typing import Any

import pytest

from harness import Commands, Database
from harness.slots import expand, go_to, utc


def shown(jobrunner: Commands, name: str, *words: object) -> dict[str, Any]:
    answer: dict[str, Any] = jobrunner("schedule", "show", name, "--json", *words).json()
    return answer


def fields(text: str) -> dict[str, str]:
    """The lines above the first table, by name."""
    lines = (re.split(r"\s{2,}", line, maxsplit=1) for line in text.partition("\n\n")[0].splitlines())
    return {found[0]: found[1] for found in lines}


def test_schedule_show_prints_the_declaration_in_plain_words(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    jobrunner(
        *["schedule", "add", "n", "--type", "echo", "--cron", "0 9 * * 1-5", "--timezone", "Europe/Berlin"],
        *["--description", "the morning's report", "--misfire", "all", "--misfire-window", "6h", "--overlap", "queue"],
        *["--start-deadline", "10m", "--jitter", "90s", "--max-runs", "5", "--payload", '{"to": "ops"}'],
    )
    found = fields(jobrunner("schedule", "show", "n").stdout)
    assert found["description"] == "the morning's report"
    assert found["fires at"] == "0 9 * * 1-5 (Europe/Berlin)"
    assert "Monday" in found["in words"]
    assert found["payload"] == '{"to": "ops"}'
    assert found["kept in"] == "a command"
    assert found["misfire"].endswith("at most 100 at once, none after 6h")
    assert found["overlap"] == "queue: one run waits while another is running"
    assert "10m" in found["start deadline"]
    assert "1m30s" in found["jitter"]
    assert found["max runs"] == "0 of 5 made"
    assert found["next slot"] == "2026-05-04 07:00:00Z"
    assert not {"paused", "removed", "problem", "ends at"} & found.keys()


@pytest.mark.promise("P12")
def test_schedule_show_prints_why_slots_have_no_runs(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    jobrunner("schedule", "add", "n", "--type", "fail", "--cron", "@hourly")
    go_to(database, utc(2026, 5, 1, 15, 0, 30))
    jobrunner.tick()
    jobrunner("schedule", "trigger", "n")
    found = shown(jobrunner, "n")
    newest, of_slot = found["runs"]
    assert (newest["origin"], newest["scheduled_for"], newest["late_seconds"]) == ("trigger", None, None)
    assert (of_slot["origin"], of_slot["status"], of_slot["error_type"]) == ("slot", "failed", "RuntimeError")
    assert datetime.fromisoformat(of_slot["scheduled_for"]) == utc(2026, 5, 1, 15)
    assert 30 <= of_slot["late_seconds"] < 90
    actions = [event["action"] for event in found["events"]]
    assert actions == ["trigger schedule", "skip slots", "add schedule"]
    assert found["events"][1]["detail"]["count"] == 2
    assert [event["actor"] == "tick" for event in found["events"]] == [False, True, False]
    text = jobrunner("schedule", "show", "n").stdout
    assert re.search(r"2026-05-01 15:00:00Z +slot +failed +2026-05-01 15:00:3\dZ +3\ds +RuntimeError: as asked", text)
    assert re.search(r"tick +skip slots +- +from [^,]+, to [^,]+, count 2, reason misfire", text)


def test_lateness_counts_until_the_first_start(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    jobrunner("schedule", "add", "n", "--type", "fail", "--cron", "@hourly")
    go_to(database, utc(2026, 5, 1, 13, 0, 10))
    jobrunner.tick()
    first = shown(jobrunner, "n")["runs"][0]["late_seconds"]
    database.move_clock(timedelta(minutes=20))
    jobrunner.tick()
    (run,) = shown(jobrunner, "n")["runs"]
    assert (run["attempts"], run["late_seconds"]) == (2, first)


def test_schedule_show_lists_the_newest_runs_first_up_to_the_limit(jobrunner: Commands, database: Database) -> None:
    jobrunner("schedule", "add", "n", "--type", "echo", "--cron", "@hourly")
    for _ in range(4):
        jobrunner("schedule", "trigger", "n")
    found = shown(jobrunner, "n", "--limit", 3)
    assert [row["id"] for row in found["runs"]] == [4, 3, 2]
    assert [row["run_id"] for row in found["events"]] == [4, 3, 2]
    assert len(shown(jobrunner, "n")["events"]) == 5


def test_schedule_show_prints_who_paused_and_when(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    jobrunner("schedule", "add", "n", "--type", "echo", "--cron", "@hourly")
    jobrunner("schedule", "pause", "n", env={"SUDO_USER": "ada", "LOGNAME": "eve", "JOBRUNNER_HOST": "web1"})
    found = fields(jobrunner("schedule", "show", "n").stdout)
    assert re.fullmatch(r"since 2026-05-01 12:00:\d\dZ by ada as \w+@web1", found["paused"])
    assert found["next slot"] == "paused"
    # By hand: the one who paused it before had nothing to do with this.
    jobrunner("schedule", "resume", "n")
    database.move_clock(timedelta(hours=1))
    database.execute("UPDATE job_definitions SET paused_at = ?", [database.now()])
    assert fields(jobrunner("schedule", "show", "n").stdout)["paused"].endswith("by an unknown user")


def test_removed_schedule_is_shown_and_is_listed_with_all(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    for name in ("gone", "here"):
        jobrunner("schedule", "add", name, "--type", "echo", "--cron", "@hourly")
    jobrunner("schedule", "remove", "gone")
    assert [row["name"] for row in jobrunner("schedule", "list", "--json").json()] == ["here"]
    everyone = jobrunner("schedule", "list", "--all", "--json").json()
    assert [(row["name"], row["removed_at"] is None) for row in everyone] == [("gone", False), ("here", True)]
    assert jobrunner("schedule", "list", "--all").stdout.splitlines()[1].split()[-2] == "removed"
    found = fields(jobrunner("schedule", "show", "gone").stdout)
    assert (found["next slot"], found["removed"][:16]) == ("removed", "2026-05-01 12:00")


BROKEN = {"timezone": "Mars/Base", "schedule": "sometimes", "job_type": "two words"}


@pytest.mark.parametrize(("column", "value"), BROKEN.items())
def test_schedule_show_prints_a_problem_before_a_tick_has_found_it(
    jobrunner: Commands, database: Database, column: str, value: str
) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    jobrunner("schedule", "add", "n", "--type", "echo", "--cron", "@hourly")
    database.execute(f"UPDATE job_definitions SET {column} = ?", [value])
    told = fields(jobrunner("schedule", "show", "n").stdout)["problem"]
    assert value in told
    expand(jobrunner, utc(2026, 5, 1, 13, 0, 1))
    assert shown(jobrunner, "n")["problem"] == shown(jobrunner, "n")["last_error"] == told


def test_a_payload_that_the_settings_allow_is_no_problem(jobrunner: Commands, database: Database) -> None:
    """It is larger than is allowed by default."""
    env = {"JOBRUNNER_PAYLOAD_LIMIT": "1000000"}
    go_to(database, utc(2026, 5, 1, 12))
    payload = f'{{"a": "{"x" * 300_000}"}}'
    words = ["schedule", "add", "n", "--type", "echo", "--cron", "@hourly", "--payload", "-"]
    assert jobrunner(*words, stdin=payload, env=env).stdout == "schedule n: next slot 2026-05-01 13:00:00Z\n"
    edited = jobrunner("schedule", "edit", "n", "--cron", "@daily", env=env)
    assert edited.stdout == "schedule n: schedule changed; next slot 2026-05-02 00:00:00Z\n"
    jobrunner("schedule", "pause", "n", env=env)
    assert "next slot 2026-05-02" in jobrunner("schedule", "resume", "n", env=env).stdout
    assert jobrunner("schedule", "show", "n", "--json", env=env).json()["problem"] is None


NAMED = ["show", "edit", "remove", "pause", "resume", "trigger", "backfill"]
WORDS = {"edit": ["--jitter", "5m"], "backfill": ["--since", "2026-05-01T00:00:00Z", "--until", "2026-05-01T00:00:00Z"]}


@pytest.mark.parametrize("command", NAMED)
def test_unknown_schedule_name_is_refused_with_the_nearest_name(
    jobrunner: Commands, database: Database, command: str
) -> None:
    jobrunner("schedule", "add", "nightly", "--type", "echo", "--cron", "@hourly")
    before = database.query("SELECT * FROM job_definitions")
    for name, hint in (("nigthly", "did you mean 'nightly'?"), ("a\nb", "schedule list"), ("\udcff", "schedule list")):
        assert hint in jobrunner.refused(1, "schedule", command, name, *WORDS.get(command, []))
    assert database.query("SELECT * FROM job_definitions") == before


HOSTILE = "\x1b[31mred\x1b[0m \u202eeman\nsecond line"


def test_control_characters_in_a_row_do_not_reach_the_terminal(jobrunner: Commands, database: Database) -> None:
    jobrunner("schedule", "add", "n", "--type", "echo", "--cron", "@hourly")
    jobrunner("schedule", "trigger", "n")
    database.execute(
        "UPDATE job_definitions SET name = ?, description = ?, payload = ?, timezone = ?, last_error = ?, source = ?",
        [HOSTILE, HOSTILE, {"\x1b]0;": HOSTILE}, "\x1b[2J", HOSTILE, "\x1b[3J"],
    )
    database.execute("UPDATE job_events SET actor = ?, action = ?", [HOSTILE, "\x1b[1m"])
    database.execute("UPDATE job_runs SET error_type = ?, last_error = ?", [HOSTILE, HOSTILE])
    for words in (["list"], ["show", HOSTILE], ["pause", HOSTILE], ["resume", HOSTILE], ["pause", "--all"]):
        done = jobrunner("schedule", *words)
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", done.stdout + done.stderr), words
        assert "second line" not in {line.strip() for line in done.stdout.splitlines()}
    assert shown(jobrunner, HOSTILE)["description"] == HOSTILE


def test_description_is_kept_unchanged_and_is_cleared_by_none(jobrunner: Commands, database: Database) -> None:
    said = f"a\n b {'x' * 900}"
    jobrunner("schedule", "add", "n", "--type", "echo", "--cron", "@hourly", "--description", said)
    assert shown(jobrunner, "n")["description"] == said
    jobrunner.refused(2, "schedule", "edit", "n", "--description", "\udcff")
    jobrunner("schedule", "edit", "n", "--description", "none")
    assert shown(jobrunner, "n")["description"] is None


def test_schedule_add_stores_each_slot_option(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    jobrunner(
        *[
            "schedule",
            "add",
            "n",
            "--type",
            "echo",
            "--schedule",
            "every 10m",
            "--misfire",
            "skip",
            "--overlap",
            "replace",
        ],
        *["--misfire-window", "1h", "--start-deadline", "2m", "--jitter", "30", "--ends-at", "2026-06-01T00:00:00Z"],
        *["--max-runs", "3", "--misfire-most", "9"],
    )
    row = shown(jobrunner, "n")
    said = ("schedule", "misfire", "misfire_window", "misfire_most", "overlap", "start_deadline", "jitter", "max_runs")
    assert [row[name] for name in said] == ["every 10m", "skip", 3600, 9, "replace", 120, 30, 3]
    assert datetime.fromisoformat(row["ends_at"]) == utc(2026, 6, 1)
    assert datetime.fromisoformat(row["next_run_at"]) == utc(2026, 5, 1, 12, 10)
