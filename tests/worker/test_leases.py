"""A run has one owner: its lease is renewed while the handler works, and its attempts never overlap."""

import os
import signal
from datetime import timedelta

import pytest

from harness import App, Commands, Database, wait_for
from harness.invariants import assert_consistent, insert_runs, outcomes, wait_for_exit
from harness.processes import is_working
from harness.standstill import stop_between_transactions
from harness.waiting import stretched


@pytest.mark.promise("P2")
def test_owner_that_stalled_shorter_than_its_lease_goes_on(jobrunner: Commands, app: App, database: Database) -> None:
    (run_id,) = insert_runs(database, 1, "wait_for", {"path": str(app.path("go"))})
    process = jobrunner.start("tick", env={"JOBRUNNER_LEASE": "60s"})
    wait_for(app.trace, 20, "the handler's first line")
    stop_between_transactions(process, database)
    app.release("go")
    jobrunner.tick()
    os.kill(process.pid, signal.SIGCONT)
    assert wait_for_exit(process, 0) == ""
    assert outcomes(database, run_id) == ["succeeded"]


@pytest.mark.promise("P2", "P11")
def test_a_lease_is_renewed_for_as_long_as_the_handler_works(jobrunner: Commands, app: App, database: Database) -> None:
    (run_id,) = insert_runs(database, 1, "wait_for", {"path": str(app.path("go"))})
    lease = stretched(4)
    process = jobrunner.start("tick", env={"JOBRUNNER_LEASE": f"{lease}s"})
    wait_for(app.trace, 20, "the handler's first line")
    longer = "SELECT heartbeat_at > ? AS beaten FROM job_runs"
    claimed_at = database.value("SELECT claimed_at FROM job_runs")
    database.wait_until(longer, [claimed_at + timedelta(seconds=1.25 * lease)], describe="beats beyond the first lease")
    assert jobrunner.tick().stderr == ""
    assert outcomes(database, run_id) == []
    app.end(process, "go")
    assert outcomes(database, run_id) == ["succeeded"]
    assert [line.attempt for line in app.trace()] == [1]
    assert_consistent(database)


@pytest.mark.promise("P2", "P9")
def test_a_tick_that_claims_its_own_run_again_ends_the_first_attempt_before_it_begins(
    jobrunner: Commands, app: App, database: Database
) -> None:
    (run_id,) = insert_runs(database, 1, "wait_for", {"path": str(app.path("go"))})
    tick = jobrunner.start("tick", "--linger", "2m", "--concurrency", "2")
    wait_for(lambda: len(app.trace()) == 1, 30, "the first attempt")
    # As recovery and a person's retry leave it, long before the next beat.
    columns = ("locked_by", "locked_until", "host", "lease_token", "started_at", "heartbeat_at")
    cleared = ", ".join(f"{column} = NULL" for column in columns)
    database.execute(f"UPDATE job_runs SET status = 'queued', attempts = 0, {cleared} WHERE id = ?", [run_id])
    wait_for(lambda: len(app.trace()) == 2, 30, database.describe)
    first, second = (line.pid for line in app.trace())
    assert (is_working(first), is_working(second)) == (False, True)
    app.release("go")
    database.wait_until("SELECT status = 'succeeded' AS done FROM job_runs")
    tick.terminate()
    assert wait_for_exit(tick, 0) == ""
    assert len(app.trace()) == 2
    assert outcomes(database, run_id) == ["succeeded"]
    assert_consistent(database)
