"""Rows written by hand: the database refuses what no code can read; the rest is shown, and stops no tick."""

import json
import re
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from harness import Commands, Database, sqlite_only
from harness.handlers_rows import queue, run_of
from harness.slots import utc

ESCAPES = "\x1b[2J\x1b]0;owned\x07\r\n\x9b31m\u202e"
REFUSED = (sqlite3.IntegrityError, psycopg.IntegrityError, psycopg.DataError)
BEYOND = {
    "sqlite": [9 * 10**18, -9 * 10**18, "tomorrow", 1.5, b"1"],
    "postgresql": ["infinity", "-infinity", "294276-12-31 00:00:00+00", "4000-01-01 00:00:00+00 BC"],
}
EDGES = [datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)]
NO_JSON = ['{"half', "", "NaN", '{"a": NaN}', "x", b"\xff"]
SPANS = [-60.0, 1e300, 1e12, "soon", b"\xff"]
COUNTS = [0, -5, "soon", b"\xff"]
NO_ROWS: Mapping[str, Mapping[str, Sequence[object]]] = {
    "job_runs": {
        "status": ["paused", "running", "dead"],
        "attempts": [-1, "many"],
        "max_attempts": COUNTS,
        "timeout": [*SPANS, "NaN", "Infinity"],
        "payload": [*NO_JSON, None],
        "result": NO_JSON,
        "progress": NO_JSON,
    },
    "job_definitions": {
        "payload": [*NO_JSON, None],
        "misfire": ["sometimes", "", None],
        "overlap": ["sometimes", "", None],
        "misfire_most": [*COUNTS, 10_001],
        "misfire_window": [*SPANS, 0.0, 1e-7],
        "start_deadline": [*SPANS, 0.0],
        "jitter": [*SPANS, 0.0],
        "max_runs": [*COUNTS, 10**9 + 1],
        "runs_made": [-1, "soon", None],
    },
    "job_ticks": {"counts": NO_JSON, "left_due": NO_JSON, "ended_by": ["soon"]},
    "job_events": {"detail": NO_JSON},
}
INSTANTS = {
    "job_runs": (
        "run_at", "scheduled_for", "start_deadline_at", "claimed_at", "started_at", "heartbeat_at", "failed_at",
        "cancel_requested_at", "incompatible_at", "created_at", "updated_at",
    ),
    "job_definitions": (
        "ends_at", "last_slot_at", "next_run_at", "paused_at", "removed_at", "created_at", "updated_at",
    ),
    "job_ticks": ("started_at", "listening_at", "finished_at"),
    "job_events": ("at",),
    "job_state": ("pruned_at",),
}  # fmt: skip


def assert_refused(database: Database, change: str, value: object) -> None:
    try:
        database.execute(change, [value])
    except REFUSED:
        return
    pytest.fail(f"taken: {change} of {value!r}")


@pytest.mark.promise("P1", "P12")
def test_database_refuses_values_that_no_code_can_read(database: Database, jobrunner: Commands) -> None:
    run_id, at = queue(database, "echo"), database.now()
    insert_definition(database, "n")
    database.execute("INSERT INTO job_ticks (host, worker, version, started_at) VALUES ('h', 'w', '', ?)", [at])
    database.execute("INSERT INTO job_events (at, actor, action, detail) VALUES (?, 'a', 'b', ?)", [at, {}])
    before = {table: database.query(f"SELECT * FROM {table}") for table in INSTANTS}
    for table, columns in NO_ROWS.items():
        for column, values in columns.items():
            for value in values:
                if isinstance(value, bytes) and database.name == "postgresql":
                    continue  # its parameters have types
                assert_refused(database, f"UPDATE {table} SET {column} = ?", value)
    for table, names in INSTANTS.items():
        for name in names:
            for value in BEYOND[database.name]:
                assert_refused(database, f"UPDATE {table} SET {name} = ?", value)
    for value in BEYOND[database.name]:
        leased = "status = 'running', locked_by = 'o', lease_token = 't'"
        assert_refused(database, f"UPDATE job_runs SET {leased}, locked_until = ?", value)
        assert_refused(database, "UPDATE job_runs SET status = 'dead', finished_at = ?", value)
    assert_refused(database, "UPDATE job_definitions SET misfire = 'all', overlap = ?", "replace")
    assert {table: database.query(f"SELECT * FROM {table}") for table in INSTANTS} == before
    assert jobrunner.tick().stderr == ""
    assert run_of(database, run_id)["status"] == "succeeded"


def insert_definition(database: Database, name: str, **values: Any) -> None:
    row = {"name": name, "job_type": "echo", "payload": {}, "schedule": "@hourly", "timezone": "UTC"}
    row |= dict.fromkeys(("last_slot_at", "created_at", "updated_at"), database.now()) | {"source": "command"} | values
    marks = ", ".join("?" * len(row))
    database.execute(f"INSERT INTO job_definitions ({', '.join(row)}) VALUES ({marks})", row.values())


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
def test_a_run_whose_payload_is_no_object_ends_and_its_neighbours_are_done(
    jobrunner: Commands, database: Database
) -> None:
    no_objects = ["[1]", '"text"', "1", "null"]
    others = [deep(database), '{"a": 1e400}', '{"a": 1%s.5}' % ("0" * 400), '{"a": 1%s}' % ("0" * 4000)]
    if database.name == "sqlite":
        others += ['{"a": "\\ud800\\u0000"}', '{"a": 1, "a": 2}']
    runs = {text: damaged(database, "payload", text) for text in no_objects + others}
    good = queue(database, "echo", {"a": 1})
    at_every_command(jobrunner)
    done = jobrunner.tick()
    assert (done.stdout, done.stderr) == ("", "")
    assert run_of(database, good)["status"] == "succeeded"
    ends = database.query("SELECT id, status, error_type FROM job_runs WHERE id <> ?", [good])
    assert {row["status"] for row in ends} <= {"dead", "succeeded"}
    for text in no_objects:
        assert {"id": runs[text], "status": "dead", "error_type": "bad_payload"} in ends
    at_every_command(jobrunner, *runs.values())


def deep(database: Database) -> str:
    # SQLite takes no JSON that is deeper.
    depth = 900 if database.name == "sqlite" else 3000
    return '{"a": ' + "[" * depth + "]" * depth + "}"


@pytest.mark.promise("P1")
def test_numbers_and_times_at_their_bounds_stop_no_tick(jobrunner: Commands, database: Database) -> None:
    runs = [damaged(database, column, at) for column in ("run_at", "scheduled_for", "created_at") for at in EDGES]
    runs += [damaged(database, "max_attempts", value) for value in (1, 2**31 - 1)]
    runs += [damaged(database, "priority", value) for value in (-(2**15), 2**15 - 1)]
    runs += [damaged(database, "timeout", value) for value in (316224000.0, 1e-300, 0.0)]
    runs += [running(database, "locked_until", value) for value in EDGES]
    runs += [running(database, column, None) for column in ("host", "started_at", "claimed_at", "heartbeat_at")]
    runs += [running(database, column, value) for column in ("started_at", "heartbeat_at") for value in EDGES]
    runs += [damaged(database, "finished_at", value, status="dead", finished_at=database.now()) for value in EDGES]
    runs += [damaged(database, "run_at", value, status="failed") for value in EDGES]
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
def test_times_of_a_schedule_at_the_ends_of_the_calendar_stop_no_other(jobrunner: Commands, database: Database) -> None:
    places = [(column, value) for column in ("last_slot_at", "next_run_at", "updated_at") for value in EDGES]
    for number, (column, value) in enumerate(places):
        insert_definition(database, f"n{number}", **{column: value})
    insert_definition(database, "whole", schedule="* * * * *", last_slot_at=utc(2026, 1, 1))
    for _ in range(2):
        done = jobrunner.tick(env={"JOBRUNNER_IMPORT": None})
        assert (done.stdout, done.stderr) == ("", "")
    whole = "SELECT count(*) FROM job_runs r JOIN job_definitions d ON d.id = r.definition_id WHERE d.name = 'whole'"
    assert database.value(whole) >= 1
    at_every_command(jobrunner)


@pytest.mark.long(sample=0.5)
def test_unexpected_texts_and_types_in_rows_are_shown_safely(jobrunner: Commands, database: Database) -> None:
    texts = ("job_type", "locked_by", "host", "lease_token", "last_error", "error_type", "idempotency_key", "output")
    runs = [running(database, column, ESCAPES[:32]) for column in texts]
    runs += [
        running(database, "progress", shape) for shape in ("[1]", '"x"', "5", "true", '{"done": {}}', deep(database))
    ]
    runs += [damaged(database, "result", deep(database), job_type="nobody's")]
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
def test_bytes_in_a_text_column_are_shown_as_bytes(jobrunner: Commands, database: Database) -> None:
    """SQLite keeps whatever was written, e.g. from a terminal in Latin-1."""
    runs = []
    for column in ("last_error", "job_type", "idempotency_key"):
        runs.append(queue(database, "echo"))
        database.execute(f"UPDATE job_runs SET {column} = CAST(x'ff00e9' AS TEXT) WHERE id = ?", [runs[-1]])
    good = queue(database, "echo")
    jobrunner("schedule", "add", "n", "--type", "echo", "--cron", "@daily")
    database.execute("UPDATE job_definitions SET last_error = CAST(x'e9' AS TEXT), next_run_at = NULL")
    at_every_command(jobrunner)
    assert jobrunner.tick().stderr == ""
    assert database.value("SELECT status FROM job_runs WHERE id = ?", [good]) == "succeeded"
    at_every_command(jobrunner, *runs)
