"""`tick --linger` listens for runs, so that an enqueued run starts at once, without another tick."""

import signal
import subprocess
from datetime import timedelta
from typing import Any

import pytest

from harness import App, Commands, Database, wait_for
from harness.handlers_rows import attempts_of, queue, run_of, wait_until_running
from harness.listening_ticks import check_left_quietly, linger, log_lines, stop, wait_for_success

CRASH = """
@job("crash", max_attempts=1)
def crash(ctx: Context):
    os._exit(3)
"""


def ticks(database: Database) -> int:
    return int(database.value("SELECT count(*) FROM job_ticks"))


def test_run_enqueued_while_a_tick_listens_is_done_by_that_tick(jobrunner: Commands, database: Database) -> None:
    tick = linger(jobrunner)
    by_hand = queue(database, "append")
    wait_for_success(database, by_hand)
    by_command = jobrunner.enqueue("append")
    wait_for_success(database, by_command)
    assert ticks(database) == 1
    stop(tick)
    assert database.value("SELECT error FROM job_ticks") is None


def test_run_enqueued_before_a_tick_listens_is_done_by_it(jobrunner: Commands, database: Database) -> None:
    early = [queue(database, "append") for _ in range(20)]
    tick = linger(jobrunner, "--budget", "1ms")
    wait_for_success(database, *early)
    stop(tick)


def test_run_that_becomes_due_while_a_tick_listens_is_done_then(jobrunner: Commands, database: Database) -> None:
    tick = linger(jobrunner)
    run_id = queue(database, "append", run_at=database.now() + timedelta(seconds=2))
    wait_for_success(database, run_id)
    row = run_of(database, run_id)
    assert row["started_at"] >= row["run_at"]
    stop(tick)


def test_slot_that_comes_while_a_tick_listens_is_expanded(jobrunner: Commands, database: Database) -> None:
    jobrunner("schedule", "add", "hourly", "--cron", "0 * * * *", "--type", "append")
    tick = linger(jobrunner)
    past = database.now() - timedelta(hours=1)
    database.execute("UPDATE job_definitions SET last_slot_at = ?, next_run_at = ?", [past, past])
    database.wait_until("SELECT count(*) FROM job_runs WHERE scheduled_for IS NOT NULL AND status = 'succeeded'")
    assert ticks(database) == 1
    stop(tick)


@pytest.mark.promise("P6")
def test_run_whose_lease_expires_while_a_tick_listens_is_recovered(jobrunner: Commands, database: Database) -> None:
    tick = linger(jobrunner)
    past = database.now() - timedelta(seconds=1)
    lease: dict[str, Any] = {"locked_by": "dead:1:x", "host": "dead", "locked_until": past, "lease_token": "t" * 32}
    run_id = queue(database, "append", status="running", attempts=1, max_attempts=5, started_at=past, **lease)
    database.wait_until("SELECT error_type = 'lease_expired' AS seen FROM job_runs WHERE id = ?", [run_id])
    stop(tick)
    assert ticks(database) == 1


def test_child_that_dies_while_a_tick_listens_is_replaced(jobrunner: Commands, app: App, database: Database) -> None:
    app.add(CRASH)
    tick = linger(jobrunner, "--concurrency", "1")
    crashing = queue(database, "crash")
    database.wait_until("SELECT status = 'dead' AS dead FROM job_runs WHERE id = ?", [crashing])
    wait_for_success(database, queue(database, "append"))
    assert ticks(database) == 1
    stop(tick)


def test_tick_listens_for_commands_without_a_handler_child(jobrunner: Commands, app: App, database: Database) -> None:
    app.path("jobrunner.toml").write_text('[jobs.hello]\ncommand = ["/bin/true"]\n')
    tick = linger(jobrunner, JOBRUNNER_IMPORT="")
    wait_for_success(database, queue(database, "hello"))
    stop(tick)


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_stop_signal_ends_listening_at_once(signum: signal.Signals, jobrunner: Commands, database: Database) -> None:
    tick = linger(jobrunner, "--grace", "10m")
    tick.send_signal(signum)
    check_left_quietly(tick)
    assert database.value("SELECT count(*) FROM job_ticks WHERE finished_at IS NULL") == 0
    assert jobrunner.leftover_processes() == []


def test_tick_stops_listening_after_linger_but_finishes_its_runs(
    jobrunner: Commands, app: App, database: Database
) -> None:
    tick = linger(jobrunner, "3s")
    run_id = queue(database, "wait_for", {"path": str(app.path("go"))})
    wait_until_running(database, run_id)
    wait_for(lambda: [line for line in log_lines(jobrunner, "linger") if line["result"] == "over"], 20)
    late = queue(database, "append")
    app.release("go")
    check_left_quietly(tick)
    assert run_of(database, run_id)["status"] == "succeeded"
    assert attempts_of(database, late) == []


def test_linger_is_read_from_the_environment_and_zero_turns_it_off(jobrunner: Commands) -> None:
    jobrunner("tick", env={"JOBRUNNER_LINGER": "1s"})
    assert jobrunner.database.value("SELECT count(*) FROM job_ticks WHERE listening_at IS NOT NULL") == 1
    jobrunner("tick", "--linger", "0s", env={"JOBRUNNER_LINGER": "2m"}, timeout=20)
    assert jobrunner.database.value("SELECT count(*) FROM job_ticks WHERE listening_at IS NULL") == 1


def test_tick_without_job_types_does_not_listen(jobrunner: Commands) -> None:
    jobrunner("tick", "--linger", env={"JOBRUNNER_IMPORT": ""}, timeout=20)


@pytest.mark.promise("P14")
def test_runs_of_a_killed_listening_tick_are_done_by_the_next_tick(jobrunner: Commands, database: Database) -> None:
    tick = linger(jobrunner)
    tick.kill()
    tick.wait(10)
    waiting = queue(database, "append")
    after = linger(jobrunner)
    wait_for_success(database, waiting, queue(database, "append"))
    stop(after)
    assert database.value("SELECT count(*) FROM job_ticks WHERE finished_at IS NULL") == 1


def test_tick_without_linger_does_not_supersede_a_listening_tick(jobrunner: Commands, database: Database) -> None:
    tick = linger(jobrunner)
    jobrunner.tick(env={"JOBRUNNER_HOST": "here"})
    with pytest.raises(subprocess.TimeoutExpired):
        tick.wait(2.5)
    wait_for_success(database, queue(database, "append"))
    stop(tick)
