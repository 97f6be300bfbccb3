"""A row that a person broke by hand is reported and skipped; everything else goes on."""

import pytest

from harness import Commands, Database
from harness.slots import NO_HANDLERS, expand, go_to, skipped_ranges, slots_with_runs, utc


def add(jobrunner: Commands, name: str) -> None:
    jobrunner("schedule", "add", name, "--type", "echo", "--cron", "@hourly", "--overlap", "allow")


@pytest.mark.long(sample=0.5)
@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        ("timezone", "Atlantis/Capital", "Atlantis/Capital"),
        ("timezone", "../../etc/passwd", "bad time zone"),
        ("timezone", "", "bad time zone"),
        ("schedule", "61 * * * *", "61"),
        ("schedule", "1," * 400 + "1 * * *", "bad schedule"),
        ("schedule", "\x1b[31m\n* * * *", "bad schedule"),
        ("job_type", "no type\n", "job type"),
        ("payload", {"a": "x" * 300_000}, "larger than"),
        ("payload", [1], "JSON object"),
    ],
    ids=lambda value: str(value)[:20].encode("unicode_escape").decode(),
)
@pytest.mark.promise("P12")
def test_definition_broken_by_hand_is_reported_and_the_others_are_expanded(
    jobrunner: Commands, database: Database, column: str, value: object, told: str
) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    for name in ("first", "broken", "last"):
        add(jobrunner, name)
    if isinstance(value, list):
        value, cast = "[1]", "CAST(? AS JSONB)" if database.name == "postgresql" else "?"
    else:
        cast = "?"
    database.execute(f"UPDATE job_definitions SET {column} = {cast} WHERE name = 'broken'", [value])
    for hour in (13, 14):
        go_to(database, utc(2026, 5, 1, hour, 0, 1))
        done = jobrunner.tick(env=NO_HANDLERS)
        assert (done.stdout, done.stderr) == ("", "")
    for name in ("first", "last"):
        assert slots_with_runs(database, name) == [utc(2026, 5, 1, 13), utc(2026, 5, 1, 14)]
    assert slots_with_runs(database, "broken") == []
    problems = {row["name"]: row["last_error"] for row in jobrunner.status()["schedules"]}
    assert told in problems["broken"]
    assert (problems["first"], problems["last"]) == (None, None)
    assert "broken" in jobrunner("status").stdout
    (event,) = database.query("SELECT action, detail FROM job_events WHERE action = 'cannot expand'")
    assert event["detail"]["problem"] == problems["broken"]
    assert len(problems["broken"]) <= 500


def test_corrected_definition_is_expanded_again(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    add(jobrunner, "hourly")
    database.execute("UPDATE job_definitions SET timezone = 'Nowhere'")
    expand(jobrunner, utc(2026, 5, 1, 14, 0, 1))
    database.execute("UPDATE job_definitions SET timezone = 'UTC'")
    jobrunner.tick(env=NO_HANDLERS)
    assert slots_with_runs(database, "hourly") == [utc(2026, 5, 1, 14)]
    assert skipped_ranges(database, "hourly") == [(utc(2026, 5, 1, 13), utc(2026, 5, 1, 13), 1)]
    (row,) = jobrunner.status()["schedules"]
    assert row["last_error"] is None


@pytest.mark.parametrize("broken", ["[1]", '"text"'], ids=["array", "text"])
def test_run_with_a_payload_broken_by_hand_ends_dead_and_others_are_done(
    jobrunner: Commands, database: Database, broken: str
) -> None:
    bad, good = jobrunner.enqueue("echo"), jobrunner.enqueue("echo")
    mark = "CAST(? AS JSONB)" if database.name == "postgresql" else "?"
    database.execute(f"UPDATE job_runs SET payload = {mark} WHERE id = ?", [broken, bad])
    assert jobrunner.tick().stderr == ""
    assert jobrunner.show(good)["status"] == "succeeded"
    shown = jobrunner.show(bad)
    assert (shown["status"], shown["error_type"], shown["attempts"]) == ("dead", "bad_payload", 1)
    assert "JSON object" in shown["last_error"]
