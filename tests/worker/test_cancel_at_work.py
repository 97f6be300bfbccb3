"""A run at work that is cancelled: its handler is stopped, and no other end of it counts."""

import os
import signal
from datetime import timedelta
from typing import Any

import pytest

from harness import App, Commands, Database, wait_for
from harness.at_work import BEATS
from harness.cancels import HANDLERS, HOUR, assert_events_fit
from harness.handlers_rows import queue, status_of
from harness.invariants import assert_consistent, insert_runs, outcomes, read_log, statuses, wait_for_exit
from harness.processes import is_working
from harness.tick_parts import tick_parts
from harness.waiting import stretched
from jobrunner.model import Actor, Policy
from jobrunner.store.changes import one_run
from jobrunner.worker.life import Life
from jobrunner.worker.phase import Phase
from jobrunner.worker.returner import Returner
from jobrunner.worker.stopper import Stopper


@pytest.mark.promise("P2")
@pytest.mark.parametrize(("job_type", "limit_seconds"), [("obedient", 4), ("deaf", 5), ("sleep", 7)])
def test_cancel_stops_a_running_handler(
    jobrunner: Commands, app: App, database: Database, job_type: str, limit_seconds: int
) -> None:
    """SIGTERM with the next beat, an exception after half of kill_after, SIGKILL after the whole of it."""
    app.add(HANDLERS)
    (run_id,) = insert_runs(database, 1, job_type, {"seconds": 60} if job_type == "sleep" else None)
    process = jobrunner.start("tick", env=BEATS)
    wait_for(app.trace, 20, "the handler's line")
    assert jobrunner("cancel", run_id).stdout.startswith(f"run {run_id}: cancellation requested")
    requested_at = database.value("SELECT cancel_requested_at FROM job_runs")
    assert wait_for_exit(process, 0) == ""
    (run,) = database.query("SELECT * FROM job_runs")
    assert run["status"] == "cancelled"
    assert run["finished_at"] - requested_at < timedelta(seconds=stretched(limit_seconds))
    assert outcomes(database, run_id) == ["cancelled"]
    killed = database.value("SELECT exit_signal FROM job_attempts")
    assert killed == (signal.SIGKILL if job_type == "deaf" else None)
    assert not is_working(app.trace()[0].pid)
    assert_consistent(database)
    assert_events_fit(database)


@pytest.mark.promise("P2")
def test_run_that_is_cancelled_while_it_waits_for_its_child_never_begins(database: Database) -> None:
    (run_id,) = insert_runs(database, 1, "known")
    with tick_parts(database) as tick:
        (held,) = tick.claim([Policy("known")], 1)
        none: Any = ()
        life = Life(tick.context, tick.hand, none, tick.claimer, tick.background)
        assert tick.store.write(lambda each: one_run.cancel(each, run_id, Actor("me"))).applied
        assert tick.heartbeat._try_to_beat([held])
        Stopper(tick.context, tick.hand, none, life).act_on_news(tick.heartbeat)
        assert held.phase is Phase.RETURNING
        life.finalizer.close()
        returner = Returner(tick.context, tick.hand)
        # It goes back before more is claimed, or its place would be given twice.
        assert not returner.is_free()
        assert (returner.return_unstarted(), returner.is_free()) == (1, True)
    assert (statuses(database), outcomes(database, run_id)) == ({"cancelled": 1}, [])


ENDS = {
    "an error": "obedient",
    "a snooze": "snoozing",
    "a shutdown": "deaf",
    "a timeout": "wait_for",
    "success": "stubborn_success",
}


@pytest.mark.promise("P2")
@pytest.mark.parametrize("end", ENDS)
def test_cancel_wins_over_every_other_end_but_success(
    jobrunner: Commands, app: App, database: Database, end: str
) -> None:
    """The beats are far apart: the end comes before the owner has heard of the request."""
    app.add(HANDLERS)
    path = str(app.path("never" if end == "a timeout" else "go"))
    payload = {} if end in ("an error", "a shutdown") else {"path": path}
    (run_id,) = insert_runs(database, 1, ENDS[end], payload, timeout=stretched(3) if end == "a timeout" else None)
    process = jobrunner.start("tick", "--grace", "0s", env={"JOBRUNNER_LEASE": "300s"})
    wait_for(app.trace, 20, "the handler's line")
    jobrunner("cancel", run_id)
    app.release("go")
    if end == "an error":
        os.kill(app.trace()[0].pid, signal.SIGTERM)
    if end == "a shutdown":
        process.terminate()
    assert wait_for_exit(process, 0) == ""
    status = "succeeded" if end == "success" else "cancelled"
    assert (statuses(database), outcomes(database, run_id)) == ({status: 1}, [status])
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


def test_run_that_waits_although_its_cancel_was_requested_is_cancelled(jobrunner: Commands, database: Database) -> None:
    """No code of ours leaves such a row; what has, must not make a run that nobody can cancel."""
    run_id = queue(database, "append", cancel_requested_at=database.now())
    jobrunner("cancel", run_id)
    assert status_of(database, run_id) == "cancelled"
