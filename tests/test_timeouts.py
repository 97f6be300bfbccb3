"""A timeout stops the work: asked first, interrupted, then killed, with every process that the handler started."""

import signal
from pathlib import Path

import pytest

from harness import App, Commands, Database, wait_for
from harness.handlers_rows import attempt_of, make_due, queue, run_of, status_of
from harness.processes import is_working

SLOW = r"""
import signal, subprocess, sys
from pathlib import Path

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]
STUBBORN = [sys.executable, "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True)\n"
            "time.sleep(600)"]


def note(ctx, text):
    with open(f"{os.environ['TRACE_FILE']}-{ctx.run_id}", "a") as file:
        file.write(text + "\n")


@job("polite", timeout="500ms", kill_after="20s")
def polite(ctx: Context):
    while not ctx.cancelled:
        time.sleep(0.01)
    note(ctx, f"cancelled with {ctx.time_left.total_seconds()} s left")
    raise RuntimeError("ended in good order")


@job("finishing", timeout="500ms", kill_after="20s")
def finishing(ctx: Context):
    while not ctx.cancelled:
        time.sleep(0.01)
    return "done, if late"


@job("deaf", timeout="500ms", kill_after="1s")
def deaf(ctx: Context):
    note(ctx, "began")
    try:
        try:
            time.sleep(600)
        except Exception:
            note(ctx, "took it for an error of its own")
    finally:
        note(ctx, "cleaned up")


@job("slow_to_clean", timeout="500ms", kill_after="1s")
def slow_to_clean(ctx: Context):
    try:
        time.sleep(600)
    finally:
        note(ctx, "cleaning")
        time.sleep(600)
        note(ctx, "cleaned up")


@job("family", timeout="3s", kill_after="1s")
def family(ctx: Context, waits: bool):
    # A grandchild that obeys, and one that ignores SIGTERM and has a child of its own.
    obeys = subprocess.Popen(SLEEP)
    script = f"import subprocess; print(subprocess.Popen({SLEEP!r}).pid, flush=True); " + STUBBORN[2]
    stubborn = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    pids = [os.getpid(), obeys.pid, stubborn.pid, int(stubborn.stdout.readline())]
    assert stubborn.stdout.readline() == "up\n"
    note(ctx, " ".join(map(str, pids)))
    if waits:
        time.sleep(600)


@job("command", timeout="500ms", kill_after="20s")
def command(ctx: Context):
    subprocess.run(SLEEP, check=True)


@job("again", timeout="300ms", kill_after="1s", backoff=exponential("2m", jitter=0), max_attempts=2)
def again(ctx: Context):
    time.sleep(600)
"""


def notes(app: App, run_id: int) -> list[str]:
    path = Path(f"{app.trace_file}-{run_id}")
    return path.read_text().splitlines() if path.exists() else []


@pytest.mark.promise("P6", "P8")
@pytest.mark.parametrize("waits", [True, False], ids=["at work", "returned"])
def test_processes_that_a_handler_started_end_with_it(
    waits: bool, jobrunner: Commands, app: App, database: Database
) -> None:
    app.add(SLOW)
    run_id = queue(database, "family", {"waits": waits})
    tick = jobrunner.start("tick")
    (line,) = wait_for(lambda: notes(app, run_id), 20, "the handler's note")
    pids = [int(word) for word in line.split()]
    assert tick.wait(30) == 0
    wait_for(lambda: not any(map(is_working, pids)), 5, jobrunner.describe_leftovers)
    assert jobrunner.leftover_processes() == []
    outcome = "timed_out" if waits else "succeeded"
    assert attempt_of(database, run_id)["outcome"] == outcome


@pytest.mark.promise("P6")
def test_handler_that_polls_for_cancel_ends_in_order(jobrunner: Commands, app: App, database: Database) -> None:
    app.add(SLOW)
    run_id, finishing = queue(database, "polite"), queue(database, "finishing")
    jobrunner.tick(timeout=15)  # not the 20 s of kill_after
    attempt = attempt_of(database, run_id)
    assert notes(app, run_id) == ["cancelled with 0.0 s left"]
    assert (attempt["outcome"], attempt["error_type"], attempt["exit_signal"]) == ("timed_out", "timeout", None)
    assert attempt["error"] == "timed out after 500ms"
    # Asked at once: half of kill_after later it would have been interrupted.
    assert (attempt["finished_at"] - attempt["started_at"]).total_seconds() < 8
    assert (run_of(database, run_id)["status"], run_of(database, run_id)["last_error"]) == ("failed", attempt["error"])
    # What is done is done: doing it once more would be worse.
    assert (status_of(database, finishing), run_of(database, finishing)["result"]) == ("succeeded", "done, if late")


@pytest.mark.promise("P6", "P8")
def test_handler_that_ignores_the_cancel_is_interrupted_and_cleans_up(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.add(SLOW)
    run_id, slow = queue(database, "deaf"), queue(database, "slow_to_clean")
    jobrunner.tick(timeout=30)
    attempt = attempt_of(database, run_id)
    assert notes(app, run_id) == ["began", "cleaned up"]
    assert (attempt["outcome"], attempt["exit_signal"]) == ("timed_out", None)
    # Who takes longer than kill_after to clean up is killed.
    attempt = attempt_of(database, slow)
    assert notes(app, slow) == ["cleaning"]
    assert (attempt["outcome"], attempt["exit_signal"]) == ("timed_out", signal.SIGKILL)
    assert attempt["error"] == "timed out after 500ms; it had to be killed"
    lasted = (attempt["finished_at"] - attempt["started_at"]).total_seconds()
    assert 1.4 < lasted < 10


@pytest.mark.promise("P12")
def test_the_stacks_at_the_time_of_the_timeout_are_recorded(jobrunner: Commands, app: App, database: Database) -> None:
    app.add(SLOW)
    deaf, command = queue(database, "deaf"), queue(database, "command")
    jobrunner.tick(timeout=15)
    (shown,) = jobrunner.show(deaf)["attempt_log"]
    assert "most recent call first" in shown["traceback"]
    assert "in deaf" in shown["traceback"]
    assert "in deaf" in jobrunner("show", deaf).stdout
    attempt = attempt_of(database, command)
    # The command got SIGTERM with its group, so the handler ended long before kill_after.
    assert (attempt["outcome"], attempt["exit_signal"]) == ("timed_out", None)
    assert "subprocess.py" in attempt["traceback"]


@pytest.mark.promise("P6", "P7")
def test_a_timeout_is_charged_and_waits_for_its_backoff(jobrunner: Commands, app: App, database: Database) -> None:
    app.add(SLOW)
    run_id = queue(database, "again")
    jobrunner.tick(timeout=20)
    row = run_of(database, run_id)
    assert (row["status"], row["attempts"], row["error_type"]) == ("failed", 1, "timeout")
    assert (row["run_at"] - row["failed_at"]).total_seconds() == 120
    make_due(database, run_id)
    jobrunner.tick(timeout=20)
    row = run_of(database, run_id)
    assert (row["status"], row["attempts"], row["error_type"]) == ("dead", 2, "timeout")


@pytest.mark.promise("P6", "P8")
def test_other_runs_go_on_while_a_handler_is_being_stopped(jobrunner: Commands, app: App, database: Database) -> None:
    app.add(SLOW)
    queue(database, "slow_to_clean", priority=1)
    others = [queue(database, "append") for _ in range(8)]
    jobrunner.tick(env={"JOBRUNNER_CONCURRENCY": "2"}, timeout=30)
    assert {status_of(database, run_id) for run_id in others} == {"succeeded"}
    assert len(app.trace()) == 8
    last = max(attempt_of(database, run_id)["finished_at"] for run_id in others)
    (stopped,) = database.query("SELECT finished_at FROM job_attempts WHERE outcome = 'timed_out'")
    assert last < stopped["finished_at"]


ALONE = """
@job("alone", timeout="500ms", kill_after="500ms")
def alone(ctx: Context):
    with open(os.environ["TRACE_FILE"], "w") as file:
        file.write(f"{ctx.run_id} {ctx.attempt} {os.getpid()}")
    while True:
        pass
"""


@pytest.mark.promise("P6", "P8")
def test_handler_ends_itself_if_its_tick_stalls(jobrunner: Commands, app: App, database: Database) -> None:
    app.add(ALONE)
    run_id = jobrunner.enqueue("alone")
    tick = jobrunner.start("tick", "--grace", "500ms")
    (line,) = wait_for(app.trace, 30, "the handler is at work")
    tick.send_signal(signal.SIGSTOP)
    wait_for(lambda: not is_working(line.pid), 30, "the child is dead")
    tick.send_signal(signal.SIGCONT)
    assert tick.communicate(timeout=30) == ("", "")
    (attempt,) = jobrunner.show(run_id)["attempt_log"]
    assert (attempt["outcome"], attempt["exit_signal"]) == ("timed_out", signal.SIGALRM)
