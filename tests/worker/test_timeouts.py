"""A timeout stops the work: the handler is asked first, interrupted, then killed."""

import signal

import pytest

from harness import App, Commands, Database
from harness.handlers_rows import attempt_of, queue, run_of, status_of
from harness.slow_jobs import add_slow, notes
from harness.waiting import stretched


@pytest.mark.promise("P6")
def test_handler_that_polls_for_cancel_ends_in_order(jobrunner: Commands, app: App, database: Database) -> None:
    limit = add_slow(app)
    run_id, finishing = queue(database, "polite"), queue(database, "finishing")
    jobrunner.tick(timeout=15)  # not the 20 s of kill_after
    attempt = attempt_of(database, run_id)
    assert notes(app, run_id) == ["cancelled with 0.0 s left"]
    assert (attempt["outcome"], attempt["error_type"], attempt["exit_signal"]) == ("timed_out", "timeout", None)
    assert attempt["error"] == f"timed out after {limit}s"
    # Asked at once: half of kill_after later it would have been interrupted.
    assert (attempt["finished_at"] - attempt["started_at"]).total_seconds() < stretched(8)
    assert (run_of(database, run_id)["status"], run_of(database, run_id)["last_error"]) == ("failed", attempt["error"])
    # What is done is done: doing it once more would be worse.
    assert (status_of(database, finishing), run_of(database, finishing)["result"]) == ("succeeded", "done, if late")


@pytest.mark.promise("P6", "P8")
def test_handler_that_ignores_the_cancel_is_interrupted_and_cleans_up(
    jobrunner: Commands, app: App, database: Database
) -> None:
    limit = add_slow(app)
    run_id, slow = queue(database, "deaf"), queue(database, "slow_to_clean")
    jobrunner.tick(timeout=30)
    attempt = attempt_of(database, run_id)
    assert notes(app, run_id) == ["began", "cleaned up"]
    assert (attempt["outcome"], attempt["exit_signal"]) == ("timed_out", None)
    # Who takes longer than kill_after to clean up is killed.
    attempt = attempt_of(database, slow)
    assert notes(app, slow) == ["cleaning"]
    assert (attempt["outcome"], attempt["exit_signal"]) == ("timed_out", signal.SIGKILL)
    assert attempt["error"] == f"timed out after {limit}s; it had to be killed"
    lasted = (attempt["finished_at"] - attempt["started_at"]).total_seconds()
    assert 1.9 < lasted < stretched(10)


@pytest.mark.promise("P12")
def test_the_stacks_at_the_time_of_the_timeout_are_recorded(jobrunner: Commands, app: App, database: Database) -> None:
    add_slow(app)
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
