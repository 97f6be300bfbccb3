"""`jobrunner run TYPE`: one run, now, with its output on the terminal."""

import signal

import pytest

from harness import App, Commands, Database, sqlite_only
from harness.handlers_rows import queue, run_of, status_of

HANDLERS = """
@job("try_me", max_attempts=5)
def try_me(ctx: Context, fails: bool = False):
    print("so it begins")
    if fails:
        raise ValueError("no such table")
"""


@pytest.fixture(autouse=True)
def handlers(app: App) -> None:
    app.add(HANDLERS)


def test_run_in_the_foreground_shows_its_output_and_stands_in_the_history(
    jobrunner: Commands, database: Database
) -> None:
    other = queue(database, "try_me")
    done = jobrunner("run", "try_me", "--reason", "a look")
    assert "so it begins\n" in done.stdout
    assert f"== run {other + 1} succeeded" in done.stdout.splitlines()[-1]
    assert (run_of(database, other + 1)["attempts"], status_of(database, other)) == (1, "queued")
    assert database.value("SELECT count(*) FROM job_attempts") == 1


def test_failed_run_in_the_foreground_has_one_attempt_and_exit_status_1(
    jobrunner: Commands, database: Database
) -> None:
    done = jobrunner("run", "try_me", "--payload", '{"fails": true}', check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert "ValueError: no such table" in done.stdout
    assert database.query("SELECT status, attempts FROM job_runs") == [{"status": "dead", "attempts": 1}]


def test_interrupted_run_in_the_foreground_is_cancelled(jobrunner: Commands, app: App, database: Database) -> None:
    words = ["run", "wait_for", "--payload", f'{{"path": "{app.path("never")}"}}']
    command = jobrunner.start(*words, env={"JOBRUNNER_HEARTBEAT": "200ms"})
    database.wait_until("SELECT count(*) FROM job_runs WHERE status = 'running'")
    command.send_signal(signal.SIGINT)
    out, err = command.communicate(timeout=60)
    assert (command.returncode, "cancelling the run" in err) == (130, True), out + err
    assert database.value("SELECT status FROM job_runs") == "cancelled"
    # Its tick has ended, too.
    assert database.value("SELECT count(*) FROM job_ticks WHERE finished_at IS NULL") == 0


@sqlite_only
def test_paused_type_is_not_run_in_the_foreground_until_it_is_resumed(jobrunner: Commands, database: Database) -> None:
    jobrunner("pause", "--type", "try_me")
    command = jobrunner.start("run", "try_me")
    database.wait_until("SELECT count(*) FROM job_ticks")
    assert database.value("SELECT status FROM job_runs") == "queued"
    jobrunner("resume", "--type", "try_me")
    out, _ = command.communicate(timeout=60)
    assert command.returncode == 0
    assert "so it begins" in out


@sqlite_only
def test_run_in_the_foreground_of_an_unknown_type_writes_nothing(jobrunner: Commands, database: Database) -> None:
    done = jobrunner("run", "nobody", check=False)
    assert (done.returncode != 0, done.stdout, len(done.stderr.splitlines())) == (True, "", 1)
    assert database.value("SELECT count(*) FROM job_runs") == 0
