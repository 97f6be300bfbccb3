"""`jobrunner loop`: ticks without cron, each a process that ends, until a signal comes."""

import os
import signal
import subprocess
import time

import pytest

from harness import App, Commands, Database, sqlite_only, wait_for
from harness.handlers_rows import attempts_of, queue, run_of, status_of, wait_until_running
from harness.loops import check_stopped, ready_file, ready_loop, stop_loop
from harness.processes import command_line
from harness.stops import log_lines, wait_until_at_work

HANDLERS = """
from jobrunner import fixed

@job("look")
def look(ctx: Context, path: str):
    with open(path + ".new", "w") as file:
        file.write(os.environ.get("ONLY_AT_FIRST", "unset"))
    os.rename(path + ".new", path)


@job("again", timeout="5m", backoff=fixed("0s", jitter=0))
def again(ctx: Context):
    leave_trace(ctx)
    if ctx.attempt == 1:
        time.sleep(60)
"""


def worker_of(database: Database, run_id: int) -> int:
    """The process of the tick that has claimed a run."""
    return int(str(run_of(database, run_id)["locked_by"]).split(":")[1])


def test_loop_starts_tick_after_tick_each_a_process_that_ends(jobrunner: Commands, database: Database) -> None:
    loop = ready_loop(jobrunner)
    run_id = queue(database, "echo")
    database.wait_until("SELECT count(*) >= 3 AS enough FROM job_ticks WHERE finished_at IS NOT NULL")
    database.wait_until("SELECT status = 'succeeded' AS done FROM job_runs WHERE id = ?", [run_id])
    said = stop_loop(jobrunner, loop)
    assert said.splitlines()[0].startswith("ok: ")
    assert said.splitlines()[1:2] == ["jobrunner: ready: a tick each 1s"]
    workers = [row["worker"].split(":")[1] for row in database.query("SELECT worker FROM job_ticks")]
    assert str(loop.pid) not in workers
    assert len(set(workers)) == len(workers)


@sqlite_only
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGHUP])
def test_loop_without_work_ends_at_once(stop: signal.Signals, jobrunner: Commands) -> None:
    stop_loop(jobrunner, ready_loop(jobrunner, every="1m"), stop)


@pytest.mark.promise("P9")
def test_handler_at_work_may_finish_when_the_loop_is_stopped(jobrunner: Commands, app: App, database: Database) -> None:
    run_id = queue(database, "wait_for", {"path": str(app.path("go"))}, priority=1)
    waiting = queue(database, "append")
    loop = ready_loop(jobrunner, "--grace=60s", "--concurrency=1", every="1m")
    wait_until_at_work(app, run_id)
    loop.send_signal(signal.SIGTERM)
    wait_for(lambda: not ready_file(jobrunner).exists(), 20, "it is not ready any more")
    app.release("go")
    said = check_stopped(jobrunner, loop)
    assert "stopping; ticks at work: " in said.splitlines()[-1]
    assert (status_of(database, run_id), status_of(database, waiting)) == ("succeeded", "queued")
    assert database.value("SELECT count(*) FROM job_runs WHERE status = 'running'") == 0


@sqlite_only
def test_ctrl_c_reaches_each_tick_once_and_leaves_the_grace_period(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """A terminal sends it to each process of its group. A second one would end the grace period."""
    run_id = queue(database, "wait_for", {"path": str(app.path("go"))})
    loop = ready_loop(jobrunner, "--grace=10m", every="1m")
    wait_until_at_work(app, run_id)
    os.killpg(loop.pid, signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        loop.wait(1)
    assert status_of(database, run_id) == "running"
    app.release("go")
    check_stopped(jobrunner, loop)
    assert status_of(database, run_id) == "succeeded"


@pytest.mark.promise("P9")
def test_second_signal_ends_the_grace_period_and_the_run_is_returned(
    jobrunner: Commands, app: App, database: Database
) -> None:
    run_id = queue(database, "sleep", {"seconds": 60})
    loop = ready_loop(jobrunner, "--grace=10m", every="1m")
    wait_until_at_work(app, run_id)
    loop.send_signal(signal.SIGTERM)
    with pytest.raises(subprocess.TimeoutExpired):
        loop.wait(1)
    assert status_of(database, run_id) == "running"
    stop_loop(jobrunner, loop)
    assert (status_of(database, run_id), run_of(database, run_id)["attempts"]) == ("queued", 0)


@pytest.mark.promise("P1", "P6")
def test_run_of_a_killed_tick_is_recovered_by_the_next_one(jobrunner: Commands, app: App, database: Database) -> None:
    app.add(HANDLERS)
    run_id = queue(database, "again")
    loop = ready_loop(jobrunner)
    wait_until_at_work(app, run_id)
    os.kill(worker_of(database, run_id), signal.SIGKILL)
    database.wait_until("SELECT status = 'succeeded' AS done FROM job_runs WHERE id = ?", [run_id], 30)
    wait_for(ready_file(jobrunner).exists, 30, "it is ready again")
    said = stop_loop(jobrunner, loop)
    assert [each["outcome"] for each in attempts_of(database, run_id)] == ["lease_expired", "succeeded"]
    assert "jobrunner: ticks fail: one was killed by signal 9" in said.splitlines()
    assert said.count("jobrunner: ticks do their work again") == 1


def test_tick_with_a_long_run_keeps_no_other_tick_from_starting(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """As under cron. With every place taken by a long run the ticks beside it end at once: they do not pile up."""
    long = queue(database, "wait_for", {"path": str(app.path("go"))}, priority=1)
    loop = ready_loop(jobrunner, "--concurrency=2")
    wait_until_at_work(app, long)
    short = queue(database, "append")
    database.wait_until("SELECT status = 'succeeded' AS done FROM job_runs WHERE id = ?", [short])
    assert status_of(database, long) == "running"
    assert worker_of(database, long) not in [line.pid for line in app.trace()]
    other = queue(database, "wait_for", {"path": str(app.path("go"))})
    wait_until_running(database, other)
    ended = "SELECT count(*) FROM job_ticks WHERE finished_at IS NOT NULL"
    before = database.value(ended)
    wait_for(lambda: database.value(ended) >= before + 3, 30, "three more ticks have ended")
    assert database.value("SELECT count(*) FROM job_ticks WHERE finished_at IS NULL") <= 3
    app.release("go")
    database.wait_until("SELECT count(*) = 3 AS done FROM job_runs WHERE status = 'succeeded'")
    stop_loop(jobrunner, loop)


@pytest.mark.promise("P2")
def test_two_loops_of_one_host_do_each_run_once(jobrunner: Commands, app: App, database: Database) -> None:
    loops = [ready_loop(jobrunner, "--linger", every="2s"), ready_loop(jobrunner, every="2s", number=2)]
    run_ids = []
    for _ in range(10):
        run_ids += [queue(database, "append"), queue(database, "append")]
        time.sleep(0.1)
    database.wait_until("SELECT count(*) = 20 AS done FROM job_runs WHERE status = 'succeeded'", deadline_seconds=60)
    for loop in loops:
        loop.send_signal(signal.SIGTERM)
    for loop in loops:
        assert loop.wait() == 0
    assert sorted(line.run_id for line in app.trace()) == run_ids
    assert database.value("SELECT count(*) FROM job_attempts") == 20
    assert jobrunner.leftover_processes() == []


def test_listening_tick_is_relieved_by_the_next_one(jobrunner: Commands, database: Database) -> None:
    loop = ready_loop(jobrunner, "--linger", every="2s")
    database.wait_until("SELECT count(*) >= 2 AS enough FROM job_ticks WHERE listening_at IS NOT NULL")
    database.wait_until("SELECT count(*) >= 1 AS enough FROM job_ticks WHERE finished_at IS NOT NULL")
    run_id = queue(database, "echo")
    database.wait_until("SELECT status = 'succeeded' AS done FROM job_runs WHERE id = ?", [run_id])
    stop_loop(jobrunner, loop)
    ends = {row["ended_by"] for row in database.query("SELECT ended_by FROM job_ticks WHERE finished_at IS NOT NULL")}
    assert "superseded" in ends
    assert log_lines(jobrunner.app, "linger")


@sqlite_only
def test_options_and_files_are_those_of_each_tick(jobrunner: Commands, app: App, database: Database) -> None:
    app.add(HANDLERS)
    env_file = app.path("app.env")
    env_file.write_text("JOBRUNNER_CONCURRENCY=1\nONLY_AT_FIRST=yes\n")
    env_file.chmod(0o600)
    run_id = queue(database, "wait_for", {"path": str(app.path("go"))}, priority=2)
    options = ("--type=wait_for", "--type", "look", "--no-strict", "--budget", "40s", "--linger", "-v")
    loop = ready_loop(jobrunner, "--env-file", env_file, *options)
    wait_until_at_work(app, run_id)
    words = command_line(worker_of(database, run_id)).split(" tick ")[1]
    given = "--budget=40s --no-strict --linger=2m --type=wait_for --type=look --verbose"
    assert words == f"--env-file={env_file} {given}"
    # The next tick reads the file anew: what it does not say any more is gone.
    env_file.write_text("JOBRUNNER_CONCURRENCY=2\n")
    queue(database, "look", {"path": str(app.path("seen"))})
    wait_for(app.path("seen").exists, 30, "the second run")
    assert app.path("seen").read_text() == "unset"
    app.release("go")
    loop.send_signal(signal.SIGTERM)
    assert loop.wait() == 0
