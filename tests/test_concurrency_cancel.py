"""Cancel and retry while ticks claim and finalize: every result follows the table of transitions."""

import os
import signal
from collections import Counter
from datetime import timedelta

import pytest

from harness import App, Commands, Database, wait_for
from harness.invariants import assert_consistent, insert_runs, outcomes, read_log, statuses, wait_for_exit
from harness.processes import is_working

HOUR = timedelta(hours=1)
RUNS = 40

HANDLERS = '''
@job("soft", timeout="5m")
def soft(ctx: Context):
    """Ends in good order when it is asked to."""
    leave_trace(ctx)
    while not ctx.cancelled:
        time.sleep(0.01)
    raise RuntimeError("asked to stop")


@job("deaf", timeout="5m", kill_after="1s")
def deaf(ctx: Context):
    """Has to be killed."""
    leave_trace(ctx)
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass


@job("short", timeout="0.5s")
def short(ctx: Context):
    leave_trace(ctx)
    time.sleep(60)


@job("snoozing")
def snoozing(ctx: Context, path: str):
    leave_trace(ctx)
    while not os.path.exists(path):
        try:
            time.sleep(0.01)
        except BaseException:
            pass
    raise Snooze("1h")


@job("stubborn_success")
def stubborn_success(ctx: Context, path: str):
    leave_trace(ctx)
    while not os.path.exists(path):
        try:
            time.sleep(0.01)
        except BaseException:
            pass
    return "done"


@job("quick", max_attempts=1)
def quick(ctx: Context):
    leave_trace(ctx)
    if ctx.run_id % 2:
        raise RuntimeError("odd")
'''


def events(database: Database, run_id: int) -> list[tuple[str, str]]:
    """What people did to a run: the action, and the status that they found."""
    rows = database.query("SELECT action, detail FROM job_events WHERE run_id = ? ORDER BY id", [run_id])
    return [(row["action"], row["detail"]["from"]) for row in rows]


def assert_events_fit(database: Database) -> None:
    """Every action of a person started from a status that the table allows, and is visible in the end."""
    for run in database.query("SELECT * FROM job_runs"):
        done = events(database, run["id"])
        for action, found in done:
            allowed = {"cancel": {"queued", "failed", "running"}, "retry": {"failed", "dead", "cancelled"}}
            assert found in allowed[action], (run, done)
        if run["status"] == "cancelled":
            assert done[-1][0] == "cancel", (run, done)
        if done and done[-1][0] == "cancel" and done[-1][1] != "running":
            assert run["status"] == "cancelled", (run, done)
        counts = Counter(outcomes(database, run["id"]))
        assert counts["cancelled"] <= sum(action == "cancel" for action, _ in done), (run, done)


@pytest.mark.promise("P1", "P2", "P12")
@pytest.mark.parametrize("round_", range(2))
def test_cancel_racing_claim_and_finalize(jobrunner: Commands, app: App, database: Database, round_: int) -> None:
    app.add(HANDLERS)
    ids = insert_runs(database, RUNS, "quick")
    ticks = [jobrunner.start("tick", env={"JOBRUNNER_LEASE": "8s"}) for _ in range(2)]
    halves = (ids[RUNS // 2 :], ids[: RUNS // 2])
    cancels = [jobrunner.start("cancel", *some) for some in halves]
    for cancel in cancels:
        stdout, stderr = cancel.communicate(timeout=60)
        assert cancel.returncode in (0, 1), stderr
        assert "Traceback" not in stderr
        assert len((stdout + stderr).splitlines()) == RUNS // 2
    for tick in ticks:
        assert wait_for_exit(tick, 0, 60) == ""
    assert set(statuses(database)) <= {"succeeded", "dead", "cancelled"}
    assert_consistent(database)
    assert_events_fit(database)
    starts = Counter(line.run_id for line in app.trace())
    assert not starts or max(starts.values()) == 1
    assert all(len(outcomes(database, run_id)) == starts[run_id] for run_id in ids)


@pytest.mark.promise("P1", "P2", "P12")
@pytest.mark.parametrize("round_", range(2))
def test_retry_and_cancel_racing_ticks(jobrunner: Commands, app: App, database: Database, round_: int) -> None:
    app.add(HANDLERS)
    ids = insert_runs(database, RUNS, "quick")
    commands = [jobrunner.start("tick", env={"JOBRUNNER_LEASE": "8s"}) for _ in range(2)]
    commands += [jobrunner.start(word, *ids) for word in ("cancel", "retry", "cancel", "retry", "retry")]
    for command in commands:
        _, stderr = command.communicate(timeout=60)
        assert command.returncode in (0, 1), stderr
        assert "Traceback" not in stderr
    assert_consistent(database)
    jobrunner.tick()
    assert set(statuses(database)) <= {"succeeded", "dead", "cancelled"}
    assert_consistent(database)
    assert_events_fit(database)
    starts = Counter(line.run_id for line in app.trace())
    for run_id in ids:
        retries = sum(action == "retry" for action, _ in events(database, run_id))
        assert starts[run_id] == len(outcomes(database, run_id)) <= 1 + retries


@pytest.mark.promise("P2")
@pytest.mark.parametrize(("job_type", "limit_seconds"), [("soft", 4), ("deaf", 5), ("sleep", 7)])
def test_cancel_stops_a_running_handler(
    jobrunner: Commands, app: App, database: Database, job_type: str, limit_seconds: int
) -> None:
    """SIGTERM with the next beat, an exception after half of kill_after, SIGKILL after the whole of it."""
    app.add(HANDLERS)
    (run_id,) = insert_runs(database, 1, job_type, {"seconds": 60} if job_type == "sleep" else None)
    process = jobrunner.start("tick", env={"JOBRUNNER_LEASE": "6s", "JOBRUNNER_HEARTBEAT": "0.5s"})
    wait_for(app.trace, 20, "the handler's line")
    assert jobrunner("cancel", run_id).returncode == 0
    requested_at = database.value("SELECT cancel_requested_at FROM job_runs")
    assert wait_for_exit(process, 0) == ""
    (run,) = database.query("SELECT * FROM job_runs")
    assert run["status"] == "cancelled"
    assert run["finished_at"] - requested_at < timedelta(seconds=limit_seconds)
    assert outcomes(database, run_id) == ["cancelled"]
    killed = database.value("SELECT exit_signal FROM job_attempts")
    assert killed == (signal.SIGKILL if job_type == "deaf" else None)
    assert not is_working(app.trace()[0].pid)
    assert_consistent(database)
    assert_events_fit(database)


@pytest.mark.promise("P2")
@pytest.mark.parametrize("job_type", ["soft", "snoozing", "deaf"], ids=["an error", "a snooze", "a shutdown"])
def test_cancel_wins_over_every_other_end(jobrunner: Commands, app: App, database: Database, job_type: str) -> None:
    """The beats are far apart: the end comes before the owner has heard of the request."""
    app.add(HANDLERS)
    (run_id,) = insert_runs(database, 1, job_type, {"path": str(app.path("go"))} if job_type == "snoozing" else None)
    process = jobrunner.start("tick", "--grace", "0s", env={"JOBRUNNER_LEASE": "300s"})
    wait_for(app.trace, 20, "the handler's line")
    jobrunner("cancel", run_id)
    app.release("go")
    if job_type == "soft":
        os.kill(app.trace()[0].pid, signal.SIGTERM)
    if job_type == "deaf":
        process.terminate()
    assert wait_for_exit(process, 0) == ""
    assert statuses(database) == {"cancelled": 1}
    assert outcomes(database, run_id) == ["cancelled"]
    assert_consistent(database)


@pytest.mark.promise("P2")
def test_cancel_wins_over_a_timeout(jobrunner: Commands, app: App, database: Database) -> None:
    app.add(HANDLERS)
    (run_id,) = insert_runs(database, 1, "wait_for", {"path": str(app.path("never"))}, timeout=3)
    process = jobrunner.start("tick", env={"JOBRUNNER_LEASE": "300s"})
    wait_for(app.trace, 20, "the handler's line")
    jobrunner("cancel", run_id)
    assert wait_for_exit(process, 0) == ""
    assert outcomes(database, run_id) == ["cancelled"]
    assert_consistent(database)


@pytest.mark.promise("P2")
def test_success_stands_although_a_cancel_was_requested(jobrunner: Commands, app: App, database: Database) -> None:
    app.add(HANDLERS)
    (run_id,) = insert_runs(database, 1, "stubborn_success", {"path": str(app.path("go"))})
    process = jobrunner.start("tick", env={"JOBRUNNER_LEASE": "300s"})
    wait_for(app.trace, 20, "the handler's line")
    jobrunner("cancel", run_id)
    app.release("go")
    assert wait_for_exit(process, 0) == ""
    assert statuses(database) == {"succeeded": 1}
    assert_consistent(database)


@pytest.mark.promise("P2", "P6")
def test_cancel_wins_over_recovery(jobrunner: Commands, app: App, database: Database) -> None:
    (run_id,) = insert_runs(database, 1, "wait_for", {"path": str(app.path("never"))})
    process = jobrunner.start("tick")
    wait_for(app.trace, 20, "the handler's line")
    process.kill()
    jobrunner("cancel", run_id)
    database.move_clock(HOUR)
    log = app.path("log")
    jobrunner.tick(env={"JOBRUNNER_LOG": str(log)})
    assert statuses(database) == {"cancelled": 1}
    assert outcomes(database, run_id) == ["cancelled"]
    assert [line["result"] for line in read_log(log) if line["event"] == "recovered"] == ["cancelled"]
    assert_consistent(database)
    jobrunner("retry", run_id)
    app.release("never")
    jobrunner.tick()
    assert outcomes(database, run_id) == ["cancelled", "succeeded"]
    assert_consistent(database)
