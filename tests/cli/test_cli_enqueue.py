"""`jobrunner enqueue`: what it prints, what it writes, what it refuses."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from harness import App, Commands, Database

LIMIT = 256 * 1024


def run_of(database: Database, run_id: int = 1) -> dict[str, Any]:
    (row,) = database.query("SELECT * FROM job_runs WHERE id = ?", [run_id])
    return row


def test_enqueue_prints_only_the_id(jobrunner: Commands, database: Database) -> None:
    done = jobrunner("enqueue", "echo", "--payload", '{"a": [1, null, "ä"]}')
    assert (done.stdout, done.stderr) == ("1\n", "")
    row = run_of(database)
    assert row["payload"] == {"a": [1, None, "ä"]}
    assert (row["job_type"], row["status"], row["attempts"], row["priority"]) == ("echo", "queued", 0, 0)
    assert abs(row["run_at"] - database.now()) < timedelta(seconds=30)
    assert jobrunner("enqueue", "echo").stdout == "2\n"
    assert run_of(database, 2)["payload"] == {}


def test_json_is_one_line_with_id_and_created(jobrunner: Commands) -> None:
    assert jobrunner("enqueue", "echo", "--json").stdout == (
        '{"id": 1, "created": true, "replaced": false, "dropped": false}\n'
    )


def test_the_payload_is_read_from_a_file_and_from_standard_input(
    jobrunner: Commands, database: Database, tmp_path: Path
) -> None:
    file = tmp_path / "payload.json"
    file.write_text('{"from": "file"}\n')
    jobrunner("enqueue", "echo", "--payload", f"@{file}")
    jobrunner("enqueue", "echo", "--payload", "-", stdin='{"from": "stdin"}')
    assert [run_of(database, n)["payload"]["from"] for n in (1, 2)] == ["file", "stdin"]


def test_a_payload_of_just_the_limit_is_taken_and_comes_back_whole(jobrunner: Commands, database: Database) -> None:
    text = json.dumps({"a": "x" * (LIMIT - len('{"a":""}'))}, separators=(",", ":"))
    assert len(text) == LIMIT
    jobrunner("enqueue", "echo", "--payload", "-", stdin=text)
    assert run_of(database)["payload"] == json.loads(text)
    refused = jobrunner("enqueue", "echo", "--payload", "-", stdin=text[:-2] + 'y"}', check=False)
    assert refused.returncode == 2
    assert database.value("SELECT count(*) FROM job_runs") == 1


@pytest.mark.promise("P4")
def test_enqueue_with_a_used_key_prints_the_existing_id(jobrunner: Commands, database: Database) -> None:
    first = jobrunner("enqueue", "echo", "--key", "k", "--json").json()
    again = jobrunner("enqueue", "echo", "--key", "k", "--payload", '{"other": 1}', "--json").json()
    assert [(each["id"], each["created"]) for each in (first, again)] == [(1, True), (1, False)]
    assert jobrunner("enqueue", "echo", "--key", "k").stdout == "1\n"
    assert database.value("SELECT count(*) FROM job_runs") == 1


@pytest.mark.promise("P4")
def test_keys_are_per_job_type(jobrunner: Commands) -> None:
    assert jobrunner.enqueue("echo", key="k") != jobrunner.enqueue("append", key="k")


@pytest.mark.promise("P4")
def test_a_key_outlives_its_run_that_was_deleted_by_hand(jobrunner: Commands, database: Database) -> None:
    run_id = jobrunner.enqueue("echo", key="k")
    database.execute("DELETE FROM job_runs")
    assert (
        jobrunner("enqueue", "echo", "--key", "k", "--json").json().items() >= {"id": run_id, "created": False}.items()
    )


def test_a_later_run_waits_for_its_time(jobrunner: Commands, app: App, database: Database) -> None:
    jobrunner("enqueue", "append", "--run-at", "+5m")
    assert abs(run_of(database)["run_at"] - database.now() - timedelta(minutes=5)) < timedelta(seconds=30)
    jobrunner.tick()
    assert app.trace() == []
    database.move_clock(timedelta(minutes=5, seconds=1))
    jobrunner.tick()
    assert len(app.trace()) == 1


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2031-01-31T09:00:00Z", datetime(2031, 1, 31, 9, tzinfo=UTC)),
        ("2031-01-31T09:00:00.25+01:00", datetime(2031, 1, 31, 8, 0, 0, 250_000, tzinfo=UTC)),
        ("2031-01-31 09:00-05:30", datetime(2031, 1, 31, 14, 30, tzinfo=UTC)),
    ],
)
def test_an_instant_with_an_offset_is_kept(jobrunner: Commands, database: Database, text: str, instant: Any) -> None:
    jobrunner("enqueue", "echo", "--run-at", text)
    assert run_of(database)["run_at"] == instant


def test_a_higher_priority_runs_first(jobrunner: Commands, app: App) -> None:
    ids = {priority: jobrunner.enqueue("append", priority=priority) for priority in (0, -5, 7, 1000)}
    jobrunner.tick(env={"JOBRUNNER_CONCURRENCY": "1"})
    assert [line.run_id for line in app.trace()] == [ids[priority] for priority in (1000, 7, 0, -5)]


def test_max_attempts_of_the_run_beats_that_of_its_type(jobrunner: Commands, database: Database) -> None:
    jobrunner("enqueue", "fail", "--max-attempts", "1")
    jobrunner.tick()
    row = run_of(database)
    assert (row["status"], row["attempts"], row["max_attempts"]) == ("dead", 1, 1)


def test_timeout_of_the_run_beats_that_of_its_type(jobrunner: Commands, database: Database) -> None:
    jobrunner("enqueue", "sleep", "--payload", '{"seconds": 60}', "--timeout", "500ms", "--max-attempts", "1")
    jobrunner.tick()
    assert (run_of(database)["status"], run_of(database)["timeout"]) == ("dead", 0.5)
    assert [entry["outcome"] for entry in jobrunner.show(1)["attempt_log"]] == ["timed_out"]


def test_a_run_without_a_timeout_says_so(jobrunner: Commands, database: Database) -> None:
    jobrunner("enqueue", "echo", "--timeout", "none")
    jobrunner.tick()
    assert (run_of(database)["status"], run_of(database)["timeout"]) == ("succeeded", 0)


def test_an_unknown_type_is_refused_unless_allowed(jobrunner: Commands, database: Database) -> None:
    jobrunner.refused(2, "enqueue", "nope", says=["'nope'", "--allow-unknown"])
    assert database.query("SELECT id FROM job_runs") == []
    assert jobrunner("enqueue", "nope", "--allow-unknown").stdout == "1\n"
    jobrunner.tick()
    assert run_of(database)["status"] == "queued"


def test_an_allowed_unknown_type_needs_no_handlers(jobrunner: Commands, app: App) -> None:
    app.write("handlers", "raise RuntimeError('broken')")
    refused = jobrunner("enqueue", "echo", check=False)
    assert refused.returncode == 78
    assert "handlers" in refused.stderr
    assert jobrunner("enqueue", "echo", "--allow-unknown").stdout == "1\n"


def test_payload_limit_setting_holds_for_every_way_to_enqueue(jobrunner: Commands, tmp_path: Path) -> None:
    file = tmp_path / "payload.json"
    file.write_text('{"a": "xxxxxxxxxxxxxxxxxxxx"}')
    limited = {"JOBRUNNER_PAYLOAD_LIMIT": "20"}
    for source, stdin in ((file.read_text(), None), (f"@{file}", None), ("-", file.read_text())):
        assert "20 bytes" in jobrunner.refused(2, "enqueue", "echo", "--payload", source, stdin=stdin, env=limited)
