"""Commands together with handlers, permits, other ticks, and every way to enqueue."""

import os
import signal
from datetime import timedelta
from pathlib import Path

import pytest

from harness import App, Commands, Database, wait_for
from harness.command_jobs import array, shell, write_jobs
from harness.commands import COMMAND
from harness.environments import as_nobody
from harness.handlers_rows import attempts_of, make_due, queue, run_of, status_of, wait_until_running

HOLD = shell("touch at-work-$JOBRUNNER_RUN_ID; until [ -e go ]; do sleep 0.05; done")
ECHO = array("/bin/echo", "hello")


def at_work(app: App) -> int:
    return len(list(app.folder.glob("at-work-*")))


def with_handlers(app: App, text: str, imports: str = "handlers") -> None:
    write_jobs(app, text)
    app.imports = imports


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

    listed = jobrunner("jobs", "--json", env=env).json()
    assert [(job["job_type"], job["max_attempts"], job["timeout_seconds"]) for job in listed] == [
        ("backup", 2, None),
        ("other", 5, 900.0),
    ]
    assert "waits 60s, 300s" in jobrunner("jobs", env=env).stdout

    jobrunner("schedule", "add", "daily", "--type", "other", "--cron", "@daily", env=env)
    database.move_clock(timedelta(days=1))
    assert jobrunner("tick", "--types", "other", env=env).stderr == ""
    assert (status_of(database, 1), status_of(database, 2)) == ("queued", "succeeded")
    assert jobrunner("status", "--json", env=env).json()["handlers_problem"] is None
    wrong = jobrunner("tick", "--types", "backup,nope", env=env, check=False)
    assert (wrong.returncode, "'nope'" in wrong.stderr, status_of(database, 1)) == (2, True, "queued")
    assert jobrunner.tick(env=env).stderr == ""
    row = run_of(database, 1)
    assert (row["status"], row["max_attempts"], row["timeout"]) == ("succeeded", 2, 0)


@pytest.mark.promise("P8")
@pytest.mark.parametrize(
    ("source", "reason"), [("raise ValueError('no')", "ValueError: no"), ("import time; time.sleep(600)", "within 2s")]
)
def test_commands_run_even_if_the_handlers_cannot_be_imported(
    source: str, reason: str, jobrunner: Commands, app: App, database: Database
) -> None:
    app.write("broken", source)
    with_handlers(app, f"[jobs.backup]\ncommand = {ECHO}\n", "handlers,broken")
    commands = [queue(database, "backup") for _ in range(6)]
    handler = queue(database, "append")
    done = jobrunner.tick(env={"JOBRUNNER_START_LIMIT": "2s", "JOBRUNNER_CONCURRENCY": "2"}, check=False)
    assert done.returncode == 78
    assert len(done.stderr.splitlines()) == 1
    assert "'broken'" in done.stderr
    assert reason in done.stderr
    assert {status_of(database, run_id) for run_id in commands} == {"succeeded"}
    assert (status_of(database, handler), attempts_of(database, handler)) == ("queued", [])
    # To enqueue a command, nothing needs to be imported.
    jobrunner.enqueue("backup")


def test_a_command_and_a_handler_of_one_name_are_refused(jobrunner: Commands, app: App, database: Database) -> None:
    with_handlers(app, f"[jobs.append]\ncommand = {ECHO}\n[jobs.fine]\ncommand = {ECHO}\n")
    handler, fine = queue(database, "echo"), queue(database, "fine")
    for words in (["tick"], ["jobs"]):
        done = jobrunner(*words, check=False)
        assert (done.returncode, len(done.stderr.splitlines())) == (78, 1)
        assert "'append'" in done.stderr
        assert "'handlers'" in done.stderr
        assert "jobrunner.toml" in done.stderr
    assert (status_of(database, handler), status_of(database, fine)) == ("queued", "succeeded")


@pytest.mark.promise("P2")
def test_commands_and_handlers_share_the_permits_of_a_host(jobrunner: Commands, app: App, database: Database) -> None:
    with_handlers(app, f"[jobs.hold]\ncommand = {HOLD}\n")
    first = [
        queue(database, "hold", priority=9),
        queue(database, "wait_for", {"path": str(app.path("go"))}, priority=8),
    ]
    # The others are of either kind, and wait for a place, in this tick and in others.
    env = {"JOBRUNNER_CONCURRENCY": "2"}
    tick = jobrunner.start("tick", env=env)
    wait_for(lambda: at_work(app) + len(app.trace()) == 2, 20, "both are at work")
    others = [queue(database, each) for each in ("hold", "append") * 4]
    for _ in range(2):
        jobrunner.tick(env=env)
    assert {status_of(database, run_id) for run_id in others} == {"queued"}
    assert {status_of(database, run_id) for run_id in first} == {"running"}
    app.release("go")
    assert tick.wait(60) == 0
    jobrunner.tick(env=env)
    assert database.value("SELECT count(*) FROM job_runs WHERE status = 'succeeded'") == 10
    assert database.value("SELECT count(*) FROM job_attempts") == 10


SPAN = shell("echo begin >> spans; sleep 0.05; echo end >> spans")
HANDLER_SPAN = """
@job("handler_span")
def handler_span(ctx: Context):
    for word in ("begin", "end"):
        with open(os.environ["SPANS"], "a") as spans:
            spans.write(word + "\\n")
        time.sleep(0.02)
"""


@pytest.mark.promise("P1", "P2")
def test_overlapping_ticks_never_run_more_than_the_permits_of_a_host(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.add(HANDLER_SPAN)
    with_handlers(app, f"[jobs.span]\ncommand = {SPAN}\n")
    runs = [queue(database, each) for each in ("span", "handler_span") * 12]
    env = {"JOBRUNNER_CONCURRENCY": "3", "SPANS": str(app.path("spans"))}
    ticks = [jobrunner.start("tick", env=env) for _ in range(5)]
    for tick in ticks:
        assert tick.communicate(timeout=90) == ("", "")
        assert tick.returncode == 0
    assert {status_of(database, run_id) for run_id in runs} == {"succeeded"}
    assert database.value("SELECT count(*) FROM job_attempts") == len(runs)
    now = most = 0
    for word in app.path("spans").read_text().split():
        now += 1 if word == "begin" else -1
        most = max(most, now)
    assert 1 <= most <= 3


@pytest.mark.promise("P2")
def test_command_type_can_have_a_lower_limit_than_its_host(jobrunner: Commands, app: App, database: Database) -> None:
    write_jobs(app, f"[jobs.one]\ncommand = {HOLD}\nconcurrency = 1\n[jobs.fine]\ncommand = {ECHO}\n")
    ones = [queue(database, "one", priority=1) for _ in range(3)]
    fine = [queue(database, "fine") for _ in range(3)]
    tick = jobrunner.start("tick")
    wait_for(lambda: {status_of(database, run_id) for run_id in fine} == {"succeeded"}, 20, database.describe)
    jobrunner.tick()
    assert [status_of(database, run_id) for run_id in ones] == ["running", "queued", "queued"]
    app.release("go")
    assert tick.wait(30) == 0
    assert {status_of(database, run_id) for run_id in ones} == {"succeeded"}


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
    app.release("go")
    assert tick.wait(30) == 0
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


def as_another_user() -> list[str]:
    """The words that run a command as a user of its own who may read what is ours: root is not held by the limit."""
    if os.geteuid() != 0:
        return as_nobody().split()
    user = 61_000 + os.getpid() % 4_000
    rights = ["--inh-caps=+dac_override", "--ambient-caps=+dac_override"]
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *rights]


@pytest.mark.promise("P1", "P8")
def test_a_host_out_of_processes_fails_the_run_and_not_the_tick(
    jobrunner: Commands, app: App, database: Database
) -> None:
    write_jobs(app, f"[jobs.hold]\ncommand = {HOLD}\n")
    jobrunner.command = as_another_user()[0]
    words = [*as_another_user()[1:], COMMAND, "tick"]
    env = {"JOBRUNNER_STATE_DIR": str(jobrunner.home / "state of that user")}
    hold = queue(database, "hold")
    tick = jobrunner.start(*words, env=env)
    wait_for(lambda: at_work(app) == 1, 20, database.describe)
    threads = sum(1 for _ in Path(f"/proc/{tick.pid}/task").iterdir())
    app.release("go")
    assert tick.communicate(timeout=30) == ("", "")
    # Enough for the tick itself, and for nothing else.
    runs = [queue(database, "hold") for _ in range(3)]
    done = jobrunner(*words[:-2], "prlimit", f"--nproc={threads}", *words[-2:], env=env)
    assert (done.returncode, done.stderr) == (0, "")
    for run_id in runs:
        row = run_of(database, run_id)
        assert (row["status"], row["attempts"], row["error_type"]) == ("failed", 1, "not_started")
        assert row["last_error"] == "no process can be started: Resource temporarily unavailable"
        make_due(database, run_id)
    assert jobrunner(*words, env=env).stderr == ""
    assert {status_of(database, run_id) for run_id in (hold, *runs)} == {"succeeded"}


def test_run_is_running_from_the_start_of_its_command(jobrunner: Commands, app: App, database: Database) -> None:
    write_jobs(app, f"[jobs.hold]\ncommand = {HOLD}\n")
    run_id = queue(database, "hold")
    tick = jobrunner.start("tick", env={"JOBRUNNER_LEASE": "2s"})
    wait_until_running(database, run_id)
    first = run_of(database, run_id)["locked_until"]
    database.wait_until("SELECT locked_until > ? AS renewed FROM job_runs WHERE id = ?", [first, run_id])
    assert "hold" in jobrunner("status").stdout
    app.release("go")
    assert tick.wait(30) == 0
    assert (status_of(database, run_id), run_of(database, run_id)["locked_until"]) == ("succeeded", None)
