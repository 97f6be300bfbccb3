"""Commands together with handlers, permits, other ticks, and every way to enqueue."""

import signal
from datetime import timedelta

import pytest

from harness import App, Commands, Database, wait_for
from harness.at_work import BEATS
from harness.command_jobs import ECHO, HOLD, array, at_work, shell, with_handlers, write_jobs
from harness.handlers_rows import attempts_of, queue, run_of, status_of, wait_until_running
from harness.waiting import span


def test_every_command_knows_commands_without_any_python(jobrunner: Commands, app: App, database: Database) -> None:
    write_jobs(
        app,
        f"""
        [jobs.backup]
        command = {ECHO}
        max_attempts = 2
        timeout = "none"
        kill_after = "1m"
        backoff = {{ waits = ["1m", "5m"] }}
        [jobs.other]
        command = {ECHO}
        """,
    )
    env = {"JOBRUNNER_IMPORT": None}
    assert jobrunner("enqueue", "backup", env=env).stdout == "1\n"
    row = run_of(database, 1)
    assert (row["max_attempts"], row["timeout"]) == (None, None)
    unknown = jobrunner("enqueue", "backups", env=env, check=False)
    assert (unknown.returncode, "it has backup, other" in unknown.stderr) == (2, True)
    assert database.value("SELECT count(*) FROM job_runs") == 1

    listed = jobrunner("types", "--json", env=env).json()
    assert [(job["job_type"], job["max_attempts"], job["timeout"]) for job in listed] == [
        ("backup", 2, None),
        ("other", 5, 900.0),
    ]
    assert "waits 60s, 300s" in jobrunner("types", env=env).stdout

    jobrunner("schedule", "add", "daily", "--type", "other", "--cron", "@daily", env=env)
    database.move_clock(timedelta(days=1))
    assert jobrunner("tick", "--type", "other", env=env).stderr == ""
    assert (status_of(database, 1), status_of(database, 2)) == ("queued", "succeeded")
    assert jobrunner("status", "--json", env=env).json()["handlers_problem"] is None
    wrong = jobrunner("tick", "--type", "backup", "--type", "nope", env=env, check=False)
    assert (wrong.returncode, "'nope'" in wrong.stderr, status_of(database, 1)) == (2, True, "queued")
    assert jobrunner.tick(env=env).stderr == ""
    row = run_of(database, 1)
    assert (row["status"], row["max_attempts"], row["timeout"]) == ("succeeded", 2, 0)


@pytest.mark.promise("P8")
@pytest.mark.parametrize(
    ("source", "reason"),
    [("raise ValueError('no')", "ValueError: no"), ("import time; time.sleep(600)", "it did not finish within ")],
)
def test_commands_run_even_if_the_handlers_cannot_be_imported(
    source: str, reason: str, jobrunner: Commands, app: App, database: Database
) -> None:
    app.write("broken", source)
    with_handlers(app, f"[jobs.backup]\ncommand = {ECHO}\n", "handlers,broken")
    commands = [queue(database, "backup") for _ in range(6)]
    handler = queue(database, "append")
    jobrunner.refused(
        78, "tick", env={"JOBRUNNER_START_LIMIT": span(2), "JOBRUNNER_CONCURRENCY": "2"}, says=["'broken'", reason]
    )
    assert {status_of(database, run_id) for run_id in commands} == {"succeeded"}
    assert (status_of(database, handler), attempts_of(database, handler)) == ("queued", [])
    # To enqueue a command, nothing needs to be imported.
    jobrunner.enqueue("backup")


def test_a_command_and_a_handler_of_one_name_are_refused(jobrunner: Commands, app: App, database: Database) -> None:
    with_handlers(app, f"[jobs.append]\ncommand = {ECHO}\n[jobs.fine]\ncommand = {ECHO}\n")
    handler, fine = queue(database, "echo"), queue(database, "fine")
    for words in (["tick"], ["types"]):
        jobrunner.refused(78, *words, says=["'append'", "'handlers'", "jobrunner.toml"])
    assert (status_of(database, handler), status_of(database, fine)) == ("queued", "succeeded")


@pytest.mark.promise("P7")
def test_quarantined_command_is_started_alone_in_its_tick(jobrunner: Commands, app: App, database: Database) -> None:
    with_handlers(app, f"[jobs.hold]\ncommand = {HOLD}\n[jobs.fine]\ncommand = {ECHO}\n")
    quarantined = queue(database, "hold", lease_expiries=2, attempts=2)
    others = [queue(database, each, priority=5) for each in ("fine", "append") * 2]
    tick = jobrunner.start("tick")
    wait_for(lambda: at_work(app) == 1, 20, "the quarantined run is running")
    with pytest.raises(AssertionError):
        wait_for(lambda: database.value("SELECT count(*) FROM job_attempts"), 2)
    assert database.value("SELECT count(*) FROM job_runs WHERE status = 'running'") == 1
    app.end(tick, "go")
    assert {status_of(database, run_id) for run_id in (quarantined, *others)} == {"succeeded"}


@pytest.mark.promise("P7", "P8")
def test_a_command_that_takes_its_tick_down_ends_dead(jobrunner: Commands, app: App, database: Database) -> None:
    write_jobs(
        app,
        f"""
        [jobs.poison]
        command = {shell("kill -KILL $PPID; exec sleep 600")}
        max_attempts = 3
        [jobs.fine]
        command = {ECHO}
        """,
    )
    poison = queue(database, "poison", priority=1)
    fine = [queue(database, "fine") for _ in range(3)]
    for attempts in (1, 2, 3):
        assert jobrunner.tick(check=False).returncode == -signal.SIGKILL
        wait_for(lambda: jobrunner.leftover_processes() == [], 20, jobrunner.describe_leftovers)
        assert run_of(database, poison)["attempts"] == attempts
        database.move_clock(timedelta(minutes=2))
        jobrunner.tick()
        database.move_clock(timedelta(hours=1))
    assert (status_of(database, poison), run_of(database, poison)["error_type"]) == ("dead", "lease_expired")
    assert {status_of(database, run_id) for run_id in fine} == {"succeeded"}


@pytest.mark.promise("P1", "P8")
def test_too_long_an_argument_list_fails_its_run_only(jobrunner: Commands, app: App, database: Database) -> None:
    write_jobs(app, f"[jobs.long]\ncommand = {array('/bin/true', '{payload.a}')}\n[jobs.fine]\ncommand = {ECHO}\n")
    long = queue(database, "long", {"a": "x" * 200_000}, priority=1)
    fine = [queue(database, "fine") for _ in range(3)]
    assert jobrunner.tick().stderr == ""
    row = run_of(database, long)
    assert (row["status"], row["attempts"], row["error_type"]) == ("failed", 1, "not_started")
    assert row["last_error"] == "no process can be started: Argument list too long"
    assert row["run_at"] > database.now()
    assert {status_of(database, run_id) for run_id in fine} == {"succeeded"}


def test_run_is_running_from_the_start_of_its_command(jobrunner: Commands, app: App, database: Database) -> None:
    write_jobs(app, f"[jobs.hold]\ncommand = {HOLD}\n")
    run_id = queue(database, "hold")
    tick = jobrunner.start("tick", env=BEATS)
    wait_until_running(database, run_id)
    first = run_of(database, run_id)["locked_until"]
    database.wait_until("SELECT locked_until > ? AS renewed FROM job_runs WHERE id = ?", [first, run_id])
    assert "hold" in jobrunner("status").stdout
    app.end(tick, "go")
    assert (status_of(database, run_id), run_of(database, run_id)["locked_until"]) == ("succeeded", None)
