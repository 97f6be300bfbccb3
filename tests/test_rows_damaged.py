"""Rows damaged by hand: every tick goes on with the others, and every command that looks at them shows them."""

import json
import re
from typing import Any

import pytest

from harness import Commands, Database, sqlite_only
from harness.handlers_rows import queue, run_of
from harness.slots import utc

ESCAPES = "\x1b[2J\x1b]0;owned\x07\r\n\x9b31m\u202e"
DEEP = '{"a": ' + "[" * 3000 + "]" * 3000 + "}"
FAR = {"sqlite": [9 * 10**18, -9 * 10**18], "postgresql": ["infinity", "-infinity"]}
FARTHER = {"sqlite": ["tomorrow", 1.5], "postgresql": ["294276-12-31 00:00:00+00", "4000-01-01 00:00:00+00 BC"]}


def damaged(database: Database, column: str, value: object, **values: Any) -> int:
    """A queued run with one column as no code of ours would write it."""
    run_id = queue(database, values.pop("job_type", "echo"), **values)
    cast = "CAST(? AS JSONB)" if database.name == "postgresql" and column in ("payload", "progress", "result") else "?"
    database.execute(f"UPDATE job_runs SET {column} = {cast} WHERE id = ?", [value, run_id])
    return run_id


def running(database: Database, column: str, value: object) -> int:
    at = database.now()
    lease = {"locked_by": "elsewhere:1:ab", "host": "elsewhere", "lease_token": "0" * 32, "locked_until": at}
    return damaged(database, column, value, status="running", started_at=at, attempts=1, **lease)


def at_every_command(jobrunner: Commands, *runs: int) -> None:
    """Nothing fails, nothing acts on the terminal, and JSON is JSON."""
    for command in (["status"], ["schedule", "list"], *(["show", str(run_id)] for run_id in runs)):
        text = jobrunner(*command)
        assert text.stderr == ""
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text.stdout)
        if command[0] != "show" or int(command[1]) % 4 == 1:
            json.loads(jobrunner(*command, "--json").stdout, parse_constant=pytest.fail)


@pytest.mark.promise("P1")
def test_a_run_with_a_damaged_payload_ends_and_its_neighbours_are_done(jobrunner: Commands, database: Database) -> None:
    payloads = ["[1]", '"text"', "1", "null", DEEP]
    if database.name == "sqlite":
        payloads += ['{"half', "", "NaN", '{"a": NaN}', '{"a": 1e400}', '{"a": "\\ud800\\u0000"}', '{"a": 1, "a": 2}']
    runs = {text: damaged(database, "payload", text) for text in payloads}
    good = queue(database, "echo", {"a": 1})
    at_every_command(jobrunner)
    done = jobrunner.tick()
    assert (done.stdout, done.stderr) == ("", "")
    assert run_of(database, good)["status"] == "succeeded"
    ends = database.query("SELECT id, status, error_type FROM job_runs WHERE id <> ?", [good])
    assert {row["status"] for row in ends} <= {"dead", "succeeded"}
    for text in payloads[:5]:
        assert {"id": runs[text], "status": "dead", "error_type": "bad_payload"} in ends
    at_every_command(jobrunner, *runs.values())


@pytest.mark.promise("P1")
def test_numbers_and_times_out_of_all_bounds_stop_no_tick(jobrunner: Commands, database: Database) -> None:
    far = FAR[database.name] + FARTHER[database.name]
    runs = [damaged(database, column, value) for column in ("run_at", "scheduled_for", "created_at") for value in far]
    runs += [damaged(database, "max_attempts", value) for value in (0, -1, 2**31 - 1)]
    runs += [damaged(database, "priority", value) for value in (-(2**15), 2**15 - 1)]
    runs += [damaged(database, "timeout", value) for value in (-5.0, 1e300, 1e-300, 1e12)]
    runs += [running(database, "locked_until", value) for value in far]
    runs += [running(database, column, None) for column in ("host", "started_at", "claimed_at", "heartbeat_at")]
    runs += [running(database, column, value) for column in ("started_at", "heartbeat_at") for value in far]
    runs += [damaged(database, "finished_at", value, status="dead", finished_at=database.now()) for value in far]
    runs += [damaged(database, "run_at", value, status="failed") for value in far]
    if database.name == "postgresql":
        runs += [damaged(database, "timeout", value) for value in ("NaN", "Infinity", "-Infinity")]
    good = queue(database, "echo", {"a": 1})
    assert jobrunner("status").stderr == ""
    done = jobrunner.tick()
    assert (done.stdout, done.stderr) == ("", "")
    assert run_of(database, good)["status"] == "succeeded"
    assert database.query("SELECT id, host FROM job_runs WHERE status = 'running'") == []
    # Those that seem to have ended ages ago were pruned by that tick.
    left = {row["id"] for row in database.query("SELECT id FROM job_runs")}
    at_every_command(jobrunner, *(run_id for run_id in runs[::5] if run_id in left))


@pytest.mark.promise("P12")
def test_damaged_times_of_a_schedule_stop_no_other(jobrunner: Commands, database: Database) -> None:
    far = FAR[database.name] + FARTHER[database.name]
    places = [(column, value) for column in ("last_slot_at", "next_run_at", "updated_at") for value in far]
    for number, (column, value) in enumerate(places):
        jobrunner("schedule", "add", f"n{number}", "--type", "echo", "--cron", "@hourly")
        database.execute(f"UPDATE job_definitions SET {column} = ? WHERE name = ?", [value, f"n{number}"])
    jobrunner("schedule", "add", "whole", "--type", "echo", "--cron", "* * * * *")
    database.execute(
        "UPDATE job_definitions SET last_slot_at = ?, next_run_at = NULL WHERE name = 'whole'", [utc(2026, 1, 1)]
    )
    for _ in range(2):
        done = jobrunner.tick(env={"JOBRUNNER_IMPORT": None})
        assert (done.stdout, done.stderr) == ("", "")
    whole = "SELECT count(*) FROM job_runs r JOIN job_definitions d ON d.id = r.definition_id WHERE d.name = 'whole'"
    assert database.value(whole) >= 1
    at_every_command(jobrunner)


def test_texts_and_shapes_that_nobody_wrote_are_shown_safely(jobrunner: Commands, database: Database) -> None:
    texts = ("job_type", "locked_by", "host", "lease_token", "last_error", "error_type", "idempotency_key", "output")
    runs = [running(database, column, ESCAPES[:32]) for column in texts]
    runs += [running(database, "progress", shape) for shape in ("[1]", '"x"', "5", "true", '{"done": {}}', DEEP)]
    runs += [damaged(database, "result", DEEP, job_type="nobody's")]
    runs += [damaged(database, "job_type", "", job_type="x")]
    now = database.now()
    ticks = [("[1]", ESCAPES), ('{"a": {"b": 1}}', "a"), ('"x"', "b"), (None, "c")]
    for counts, host in ticks:
        cast = "CAST(? AS JSONB)" if database.name == "postgresql" else "?"
        database.execute(
            f"INSERT INTO job_ticks (host, worker, version, started_at, counts, error) VALUES (?, ?, '', ?, {cast}, ?)",
            [host, ESCAPES, now, counts, ESCAPES],
        )
    event = "INSERT INTO job_events (at, actor, action, run_id, detail) VALUES (?, ?, ?, ?, ?)"
    database.execute(event, [now, ESCAPES, ESCAPES, runs[0], {"why": ESCAPES}])
    jobrunner("schedule", "add", "n", "--type", "echo", "--cron", "@daily")
    database.execute("UPDATE job_definitions SET name = ?, source = ?, last_error = ?", [ESCAPES, "\x1b", ESCAPES])
    at_every_command(jobrunner)
    done = jobrunner.tick("-v")
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", done.stderr)
    assert database.value("SELECT count(*) FROM job_runs WHERE status = 'running'") == 0
    at_every_command(jobrunner, *runs)


@sqlite_only
def test_bytes_that_are_no_text_are_shown_as_such(jobrunner: Commands, database: Database) -> None:
    """SQLite keeps whatever was written, e.g. from a terminal in Latin-1."""
    runs = []
    for column in ("last_error", "payload", "result", "job_type", "idempotency_key"):
        for value in ("CAST(x'ff00e9' AS TEXT)", "x'ff00e9'"):
            runs.append(queue(database, "echo"))
            database.execute(f"UPDATE job_runs SET {column} = {value} WHERE id = ?", [runs[-1]])
    good = queue(database, "echo")
    jobrunner("schedule", "add", "n", "--type", "echo", "--cron", "@daily")
    database.execute("UPDATE job_definitions SET last_error = CAST(x'e9' AS TEXT), next_run_at = NULL")
    at_every_command(jobrunner)
    assert jobrunner.tick().stderr == ""
    assert database.value("SELECT status FROM job_runs WHERE id = ?", [good]) == "succeeded"
    at_every_command(jobrunner, *runs)


def test_a_status_that_is_none_is_refused_by_the_database(jobrunner: Commands, database: Database) -> None:
    run_id = queue(database, "echo")
    for change in ("status = 'paused'", "status = 'running'", "status = 'dead'", "attempts = -1", "payload = NULL"):
        with pytest.raises(Exception, match=r"(?i)constraint"):
            database.execute(f"UPDATE job_runs SET {change}")
    jobrunner.tick()
    assert run_of(database, run_id)["status"] == "succeeded"
