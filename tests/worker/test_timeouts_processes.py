"""A handler that is out of time is stopped with all its processes, while the other runs go on."""

import signal

import pytest

from harness import App, Commands, Database, wait_for
from harness.handlers_rows import attempt_of, make_due, queue, run_of, status_of
from harness.processes import is_working
from harness.slow_jobs import add_slow, notes
from harness.standstill import stop_between_transactions
from harness.waiting import whole


@pytest.mark.promise("P6", "P8")
@pytest.mark.parametrize("waits", [True, False], ids=["at work", "returned"])
def test_processes_that_a_handler_started_end_with_it(
    waits: bool, jobrunner: Commands, app: App, database: Database
) -> None:
    add_slow(app)
    run_id = queue(database, "family", {"waits": waits})
    tick = jobrunner.start("tick")
    (line,) = wait_for(lambda: notes(app, run_id), 20, "the handler's note")
    pids = [int(word) for word in line.split()]
    assert tick.wait(30) == 0
    wait_for(lambda: not any(map(is_working, pids)), 5, jobrunner.describe_leftovers)
    assert jobrunner.leftover_processes() == []
    outcome = "timed_out" if waits else "succeeded"
    assert attempt_of(database, run_id)["outcome"] == outcome


@pytest.mark.promise("P6", "P7")
def test_a_timeout_is_charged_and_waits_for_its_backoff(jobrunner: Commands, app: App, database: Database) -> None:
    add_slow(app)
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
    add_slow(app)
    queue(database, "slow_to_clean", priority=1)
    others = [queue(database, "append") for _ in range(8)]
    jobrunner.tick(env={"JOBRUNNER_CONCURRENCY": "2"}, timeout=30)
    assert {status_of(database, run_id) for run_id in others} == {"succeeded"}
    assert len(app.trace()) == 8
    last = max(attempt_of(database, run_id)["finished_at"] for run_id in others)
    (stopped,) = database.query("SELECT finished_at FROM job_attempts WHERE outcome = 'timed_out'")
    assert last < stopped["finished_at"]


ALONE = """
@job("alone", timeout={limit}, kill_after={limit})
def alone(ctx: Context):
    with open(os.environ["TRACE_FILE"], "w") as file:
        file.write(f"{{ctx.run_id}} {{ctx.attempt}} {{os.getpid()}}")
    while True:
        pass
"""


@pytest.mark.promise("P6", "P8")
def test_handler_ends_itself_if_its_tick_stalls(jobrunner: Commands, app: App, database: Database) -> None:
    app.add(ALONE.format(limit=whole(0.5)))
    run_id = jobrunner.enqueue("alone")
    tick = jobrunner.start("tick", "--grace", "500ms")
    (line,) = wait_for(app.trace, 30, "the handler is at work")
    stop_between_transactions(tick, database)
    wait_for(lambda: not is_working(line.pid), 30, "the child is dead")
    tick.send_signal(signal.SIGCONT)
    assert tick.communicate(timeout=30) == ("", "")
    (attempt,) = jobrunner.show(run_id)["attempt_log"]
    assert (attempt["outcome"], attempt["exit_signal"]) == ("timed_out", signal.SIGALRM)
