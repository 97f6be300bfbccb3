"""`on_stop = "drop"`: a stopped tick ends the runs that did not finish within its grace, and no others."""

import json
import signal
import subprocess
from datetime import timedelta

import pytest

from harness import App, Commands, Database, PrivatePostgres, wait_for
from harness.at_work import BEATS
from harness.handlers_rows import attempt_of, attempts_of, queue, run_of, status_of
from harness.stops import check_clean_exit, log_lines, start_tick, wait_until_at_work
from harness.waiting import span, whole

HANDLERS = """
@job("fresh", timeout="5m", kill_after="20s", on_stop="drop")
def fresh(ctx: Context, path: str = ""):
    leave_trace(ctx)
    while not ctx.cancelled and not os.path.exists(path):
        time.sleep(0.01)
    if ctx.cancelled:
        raise RuntimeError("asked to stop")


@job("deaf", timeout="5m", kill_after="600ms", on_stop="drop")
def deaf(ctx: Context):
    import signal
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    leave_trace(ctx)
    time.sleep(600)


@job("done_late", timeout="5m", kill_after="20s", on_stop="drop")
def done_late(ctx: Context):
    leave_trace(ctx)
    while not ctx.cancelled:
        time.sleep(0.01)
    return "done"


@job("slow", kill_after="20s", on_stop="drop", max_attempts=2)
def slow(ctx: Context):
    leave_trace(ctx)
    while not ctx.cancelled:
        time.sleep(0.01)
    raise RuntimeError("asked to stop")


@job("kept", timeout="5m", kill_after="20s", on_stop="release")
def kept(ctx: Context):
    leave_trace(ctx)
    while not ctx.cancelled:
        time.sleep(0.01)
    raise RuntimeError("asked to stop")
"""
STOPPED = "stopped because the tick received a stop signal; on_stop is drop"


@pytest.mark.promise("P9", "P12")
@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_run_not_done_at_a_stop_is_dropped_if_its_type_says_so(
    stop: signal.Signals, jobrunner: Commands, app: App, database: Database
) -> None:
    app.add(HANDLERS)
    fresh, deaf, kept = (queue(database, name) for name in ("fresh", "deaf", "kept"))
    tick = start_tick(jobrunner, "--grace", "500ms")
    wait_until_at_work(app, fresh, deaf, kept)
    tick.send_signal(stop)
    check_clean_exit(jobrunner, tick)
    for run_id, error in ((fresh, STOPPED), (deaf, f"{STOPPED}; it had to be killed")):
        row, attempt = run_of(database, run_id), attempt_of(database, run_id)
        assert (row["status"], row["attempts"], row["releases"]) == ("cancelled", 1, 0)
        assert (row["error_type"], row["last_error"], row["failed_at"]) == ("dropped", error, None)
        assert row["finished_at"] is not None
        assert (attempt["outcome"], attempt["error_type"], attempt["error"]) == ("dropped", "dropped", error)
    assert (status_of(database, kept), attempt_of(database, kept)["outcome"]) == ("queued", "released")
    told = {line["run_id"]: line["result"] for line in log_lines(app, "stopped")}
    assert told == {fresh: "dropped", deaf: "dropped", kept: "released"}
    counts = database.value("SELECT counts FROM job_ticks")
    assert (counts["dropped"], counts["released"]) == (2, 1)
    # It stays so, and a person can have it run after all.
    jobrunner("cancel", kept)
    jobrunner.tick()
    assert status_of(database, fresh) == "cancelled"
    jobrunner("retry", fresh)
    app.release("go")
    database.execute("UPDATE job_runs SET payload = ? WHERE id = ?", [{"path": str(app.path("go"))}, fresh])
    jobrunner.tick()
    assert [attempt["outcome"] for attempt in attempts_of(database, fresh)] == ["dropped", "succeeded"]


@pytest.mark.promise("P9")
def test_run_that_finishes_within_the_grace_has_succeeded(jobrunner: Commands, app: App, database: Database) -> None:
    app.add(HANDLERS)
    in_time = queue(database, "fresh", {"path": str(app.path("go"))})
    tick = start_tick(jobrunner, "--grace", "60s")
    wait_until_at_work(app, in_time)
    tick.send_signal(signal.SIGTERM)
    app.release("go")
    check_clean_exit(jobrunner, tick)
    late = queue(database, "done_late")
    tick = start_tick(jobrunner, "--grace", "0s")
    wait_until_at_work(app, late)
    tick.send_signal(signal.SIGTERM)
    check_clean_exit(jobrunner, tick)
    assert [status_of(database, run_id) for run_id in (in_time, late)] == ["succeeded", "succeeded"]


@pytest.mark.promise("P9")
def test_cancel_and_timeout_do_not_count_as_a_stop(jobrunner: Commands, app: App, database: Database) -> None:
    app.add(HANDLERS)
    fresh, slow = queue(database, "fresh"), queue(database, "slow", timeout=whole(0.5))
    tick = start_tick(jobrunner, **BEATS)
    wait_until_at_work(app, fresh, slow)
    jobrunner("cancel", fresh)
    assert tick.wait(30) == 0
    ends = [attempt_of(database, run_id)["outcome"] for run_id in (fresh, slow)]
    assert ends == ["cancelled", "timed_out"]
    assert (status_of(database, fresh), status_of(database, slow)) == ("cancelled", "failed")
    assert run_of(database, fresh)["error_type"] is None


@pytest.mark.promise("P1", "P7")
def test_killed_tick_and_lost_lease_drop_no_run(jobrunner: Commands, app: App, database: Database) -> None:
    app.add(HANDLERS)
    crashed, taken = queue(database, "fresh"), queue(database, "fresh")
    tick = start_tick(jobrunner, **BEATS)
    wait_until_at_work(app, crashed, taken)
    later = database.now() + timedelta(minutes=5)
    # Another owner has it now: this tick stops its handler, and writes nothing about it.
    database.execute(
        "UPDATE job_runs SET lease_token = 'other', locked_by = 'o', locked_until = ? WHERE id = ?", [later, taken]
    )
    wait_for(lambda: any(line["run_id"] == taken for line in log_lines(app, "lease lost")), 20, "the lost lease")
    tick.kill()
    assert tick.wait(30) == -signal.SIGKILL
    database.execute("UPDATE job_runs SET locked_until = ? WHERE id = ?", [database.now(), crashed])
    jobrunner.tick(env={"JOBRUNNER_IMPORT": None})
    assert (status_of(database, crashed), run_of(database, crashed)["error_type"]) == ("failed", "lease_expired")
    assert (status_of(database, taken), attempts_of(database, taken)) == ("running", [])


@pytest.mark.promise("P9")
def test_command_is_dropped_at_a_stop_if_the_configuration_file_says_so(
    jobrunner: Commands, app: App, database: Database
) -> None:
    started = app.path("started")
    argv = ["sh", "-c", f"touch {started}; exec sleep 600"]
    app.path("jobrunner.toml").write_text(f'[jobs.poll]\ncommand = {json.dumps(argv)}\non_stop = "drop"\n')
    run_id = queue(database, "poll")
    tick: subprocess.Popen[str] = start_tick(jobrunner, "--grace", "0s", JOBRUNNER_IMPORT="")
    wait_for(started.exists, 20, "the command")
    tick.send_signal(signal.SIGTERM)
    check_clean_exit(jobrunner, tick)
    row = run_of(database, run_id)
    assert (row["status"], row["error_type"], row["attempts"]) == ("cancelled", "dropped", 1)
    assert attempt_of(database, run_id)["outcome"] == "dropped"


@pytest.mark.promise("P1", "P9")
def test_lost_database_does_not_count_as_a_stop(
    private_postgres: PrivatePostgres, private_jobrunner: Commands, app: App
) -> None:
    """The handler is stopped for a lease that cannot be renewed, and the run is there for another attempt."""
    app.add(HANDLERS)
    database = private_postgres.database
    run_id = queue(database, "fresh")
    tick = private_jobrunner.start("tick", env={"JOBRUNNER_LEASE": span(6), "JOBRUNNER_LOG": str(app.path("log"))})
    wait_until_at_work(app, run_id)
    private_postgres.stop()
    wait_for(lambda: log_lines(app, "stopped"), 30, "the end of the handler")
    private_postgres.start()
    tick.communicate(timeout=60)
    assert [line["result"] for line in log_lines(app, "stopped")] == ["released"]
    database.execute("UPDATE job_runs SET locked_until = ? WHERE status = 'running'", [database.now()])
    private_jobrunner.tick(env={"JOBRUNNER_IMPORT": None})
    assert status_of(database, run_id) in ("queued", "failed")
