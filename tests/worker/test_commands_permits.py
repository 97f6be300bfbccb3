"""Commands and the handlers beside them use no more than the permits of their host."""

import os
from pathlib import Path

import pytest

from harness import App, Commands, Database, wait_for
from harness.command_jobs import ECHO, HOLD, at_work, shell, with_handlers, write_jobs
from harness.commands import COMMAND
from harness.environments import as_nobody
from harness.handlers_rows import make_due, queue, run_of, status_of


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
    app.end(tick, "go")
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
    app.end(tick, "go")
    assert {status_of(database, run_id) for run_id in ones} == {"succeeded"}


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
    app.end(tick, "go")
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
