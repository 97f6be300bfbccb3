"""`jobrunner retry`, `cancel`, `discard` and `show`: each id is handled on its own."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from harness import App, Commands, Database
from harness.handlers_rows import queue

STATUSES = ("queued", "running", "succeeded", "failed", "dead", "cancelled")


def insert(database: Database, status: str) -> int:
    """A run as the named status leaves it, three attempts of three used."""
    at = database.now() - timedelta(hours=1)
    row: dict[str, Any] = {
        "status": status,
        "attempts": 3,
        "max_attempts": 3,
        "run_at": at,
        "created_at": at,
        "updated_at": at,
    }
    if status == "running":
        row |= {"locked_by": "host:1:ab", "host": "host", "lease_token": "0" * 32, "started_at": at}
        row |= {"locked_until": database.now() + timedelta(minutes=1)}
    elif status in ("succeeded", "dead", "cancelled"):
        row["finished_at"] = at
    if status == "cancelled":
        row["cancel_requested_at"] = at
    return queue(database, "echo", **row)


def insert_each(database: Database) -> dict[str, int]:
    return {status: insert(database, status) for status in STATUSES}


def rows(database: Database) -> dict[int, dict[str, Any]]:
    return {row["id"]: row for row in database.query("SELECT * FROM job_runs")}


@pytest.mark.parametrize(
    ("words", "taken"),
    [
        (["retry"], {"failed": "queued", "dead": "queued", "cancelled": "queued"}),
        (["retry", "--force"], {"failed": "queued", "dead": "queued", "cancelled": "queued", "succeeded": "queued"}),
        (["cancel"], {"queued": "cancelled", "failed": "cancelled", "running": "running"}),
        (["discard", "--reason", "of no use"], {"queued": "dead", "failed": "dead", "cancelled": "dead"}),
    ],
    ids=" ".join,
)
@pytest.mark.promise("P12")
def test_each_status_is_changed_or_refused(
    jobrunner: Commands, database: Database, words: list[str], taken: dict[str, str]
) -> None:
    ids = insert_each(database)
    before = rows(database)
    done = jobrunner(*words, *ids.values(), 4711, check=False)
    assert done.returncode == 1
    after = rows(database)
    for status, run_id in ids.items():
        if status in taken:
            assert after[run_id]["status"] == taken[status]
            assert f"run {run_id}: " in done.stdout
        else:
            assert after[run_id] == before[run_id]
            assert f"jobrunner: run {run_id} is {status}: " in done.stderr
    assert "there is no run 4711" in done.stderr
    assert len(done.stderr.splitlines()) == 1 + len(STATUSES) - len(taken)
    assert len(done.stdout.splitlines()) == len(taken)
    events = database.query("SELECT actor, action, run_id FROM job_events ORDER BY id")
    assert {event["run_id"] for event in events} == {ids[status] for status in taken}
    assert all("@" in event["actor"] for event in events)


def test_change_that_succeeds_for_every_run_exits_with_0(jobrunner: Commands, database: Database) -> None:
    first, second = insert(database, "dead"), insert(database, "cancelled")
    done = jobrunner("retry", first, second, first)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"run {first}: queued again\nrun {second}: queued again\n"


def test_a_retried_run_is_due_now_with_one_more_attempt(jobrunner: Commands, database: Database) -> None:
    for status in ("failed", "dead", "cancelled"):
        run_id = insert(database, status)
        jobrunner("retry", run_id)
        row = rows(database)[run_id]
        assert (row["attempts"], row["max_attempts"]) == (3, 4)
        assert abs(row["run_at"] - database.now()) < timedelta(seconds=30)
        cleared = ("finished_at", "cancel_requested_at", "locked_by", "locked_until", "lease_token")
        assert [row[name] for name in cleared] == [None] * len(cleared)


def test_a_dead_run_that_is_retried_is_attempted_again(jobrunner: Commands, app: App) -> None:
    run_id = jobrunner.enqueue("fail", max_attempts=1)
    jobrunner.tick()
    assert jobrunner.show(run_id)["status"] == "dead"
    jobrunner("retry", run_id)
    app.write("handlers", app.path("handlers.py").read_text().replace("raise RuntimeError(message)", "return"))
    jobrunner.tick()
    shown = jobrunner.show(run_id)
    assert (shown["status"], shown["attempts"], shown["last_error"]) == ("succeeded", 2, None)
    assert [entry["outcome"] for entry in shown["attempt_log"]] == ["failed", "succeeded"]
    assert [event["action"] for event in shown["event_log"]] == ["retry"]


def test_a_cancelled_waiting_run_is_never_started(jobrunner: Commands, app: App, database: Database) -> None:
    run_id = jobrunner.enqueue("append")
    assert jobrunner("cancel", run_id).stdout == f"run {run_id}: cancelled\n"
    jobrunner.tick()
    assert app.trace() == []
    assert rows(database)[run_id]["finished_at"] is not None


def test_discard_records_the_user_and_the_reason(jobrunner: Commands, database: Database) -> None:
    run_id = jobrunner.enqueue("echo")
    jobrunner("discard", run_id, "--reason", "sent by hand\nalready")
    shown = jobrunner.show(run_id)
    assert (shown["status"], shown["error_type"]) == ("dead", "discarded")
    assert shown["last_error"] == "sent by hand already"
    (event,) = shown["event_log"]
    assert event["detail"]["reason"] == "sent by hand already"
    assert "@" in event["actor"]


def test_show_has_every_column_under_its_name(jobrunner: Commands, database: Database) -> None:
    run_id = jobrunner.enqueue("echo", {"a": {"b": [1, "ä"]}}, key="k", timeout="90s", run_at="2026-01-05T09:30:00Z")
    place = {"value": [3, {"ä": None}], "steps": {"load": 1.5}}
    database.execute("UPDATE job_runs SET checkpoint = ?", [place])
    jobrunner.tick()
    shown = jobrunner.show(run_id)
    (row,) = database.query("SELECT * FROM job_runs")
    assert set(shown) == {*row, "waits_for", "explanation", "attempt_log", "event_log", "trace_id"}
    for name, value in row.items():
        if isinstance(value, datetime):
            assert datetime.fromisoformat(shown[name]) == value
            assert shown[name].endswith("Z")
        else:
            assert shown[name] == value, name
    assert shown["payload"] == shown["result"] == {"a": {"b": [1, "ä"]}}
    assert shown["checkpoint"] == place


def test_show_has_a_log_of_attempts(jobrunner: Commands, app: App, database: Database) -> None:
    app.add("""
        @job("loud", max_attempts=2)
        def loud(ctx: Context):
            print(f"output of attempt {ctx.attempt}")
            raise ValueError(f"attempt {ctx.attempt} failed")
    """)
    run_id = jobrunner.enqueue("loud")
    jobrunner.tick(env={"JOBRUNNER_HOST": "alpha"})
    database.move_clock(timedelta(hours=1))
    jobrunner.tick(env={"JOBRUNNER_HOST": "beta"})
    log = jobrunner.show(run_id)["attempt_log"]
    assert [(entry["attempt"], entry["host"], entry["outcome"]) for entry in log] == [
        (1, "alpha", "failed"),
        (2, "beta", "failed"),
    ]
    for number, entry in enumerate(log, 1):
        assert (entry["error_type"], entry["error"]) == ("ValueError", f"attempt {number} failed")
        assert "Traceback (most recent call last)" in entry["traceback"]
        assert 'raise ValueError(f"attempt {ctx.attempt} failed")' in entry["traceback"]
        assert f"output of attempt {number}\n" in entry["output"]
        started, finished = (datetime.fromisoformat(entry[name]) for name in ("started_at", "finished_at"))
        assert started.tzinfo is not None
        assert timedelta(0) <= finished - started < timedelta(seconds=60)
    assert database.value("SELECT status FROM job_runs") == "dead"


def test_show_without_json_prints_the_same_and_no_control_characters(jobrunner: Commands, app: App) -> None:
    app.add(r"""
        @job("hostile", max_attempts=1)
        def hostile(ctx: Context):
            print("\x1b[2J\x1b]0;owned\x07first line\nsecond line\r\u202e")
            raise ValueError("\x1b[31mred\u2028next\x00\ud800")
    """)
    run_id = jobrunner.enqueue("hostile", {})
    jobrunner.tick()
    text = jobrunner("show", run_id).stdout
    for word in ("hostile", "dead", "ValueError", "Traceback", "first line", "second line", "attempt 1"):
        assert word in text
    assert not [character for character in text if ord(character) < 32 and character != "\n"]
    assert not {"\x7f", "\u2028", "\u202e"} & set(text)


def test_output_has_times_in_utc_whatever_the_zone_of_the_host(jobrunner: Commands, database: Database) -> None:
    run_id = jobrunner.enqueue("echo", run_at="2031-07-01T12:00:00Z")
    shown = jobrunner("show", run_id, "--json", env={"TZ": "Asia/Kolkata", "PGTZ": "America/New_York"}).json()
    assert datetime.fromisoformat(shown["run_at"]) == datetime(2031, 7, 1, 12, tzinfo=UTC)
    assert "2031-07-01 12:00:00Z" in jobrunner("show", run_id, env={"TZ": "Asia/Kolkata"}).stdout
