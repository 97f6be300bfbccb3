"""A run that kills its tick is charged, then started alone, and ends dead without harm to other runs."""

import os
import signal
from datetime import timedelta

import pytest

from harness import App, Commands, Database
from harness.handlers_rows import (
    attempt_of,
    attempts_of,
    queue,
    run_of,
    status_of,
    wait_for_attempts,
    wait_until_running,
)
from harness.stops import wait_until_gone

POISON = """
import signal


@job("poison", max_attempts=3)
def poison(ctx: Context):
    leave_trace(ctx)
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(600)
"""
LEASE = {"JOBRUNNER_LEASE": "30s", "JOBRUNNER_HEARTBEAT": "0.3s"}


@pytest.mark.promise("P7")
def test_quarantined_run_is_started_alone_in_its_tick(jobrunner: Commands, app: App, database: Database) -> None:
    first = queue(database, "append", priority=9)
    quarantined = [
        queue(database, "wait_for", {"path": str(app.path(f"go {number}"))}, lease_expiries=2 + number, attempts=2)
        for number in range(2)
    ]
    others = [queue(database, "append", priority=5) for _ in range(5)]
    once = queue(database, "append", lease_expiries=1, attempts=1)
    tick = jobrunner.start("tick")
    for number, run_id in enumerate(quarantined):
        wait_until_running(database, run_id)
        wait_for_attempts(app, number + 1)
        # Three permits are free, but no other run is started beside it, although the others are more urgent.
        with pytest.raises(AssertionError):
            wait_for_attempts(app, number + 2, 1.5)
        assert app.trace()[-1].run_id == run_id
        counted = database.value("SELECT count(*) FROM job_runs WHERE status = 'running'")
        assert (counted, status_of(database, first)) == (1, "queued")
        app.release(f"go {number}")
    assert tick.wait(30) == 0
    for run_id in (first, *quarantined, *others, once):
        assert status_of(database, run_id) == "succeeded"


@pytest.mark.promise("P7")
def test_quarantined_run_that_succeeds_leaves_quarantine(jobrunner: Commands, database: Database) -> None:
    good, failing = queue(database, "append", lease_expiries=3), queue(database, "fail", lease_expiries=3)
    jobrunner.tick()
    assert (status_of(database, good), run_of(database, good)["lease_expiries"]) == ("succeeded", 0)
    # Its process crashed no tick: the row of crashes is over.
    assert (status_of(database, failing), run_of(database, failing)["lease_expiries"]) == ("failed", 0)


@pytest.mark.promise("P1", "P7", "P12")
def test_poison_run_ends_dead_and_its_neighbours_succeed(jobrunner: Commands, app: App, database: Database) -> None:
    app.add(POISON)
    poison = queue(database, "poison", priority=1)
    neighbours = [queue(database, "append") for _ in range(6)]
    for number in range(1, 4):
        done = jobrunner.tick(env=LEASE, check=False)
        assert done.returncode == -signal.SIGKILL
        wait_until_gone(jobrunner)
        row = run_of(database, poison)
        assert (row["status"], row["attempts"], row["lease_expiries"]) == ("running", number, number - 1)
        # Past the lease: the next tick recovers it. Past the backoff: the one after that tries it again.
        database.move_clock(timedelta(seconds=30))
        jobrunner.tick(env=LEASE)
        assert status_of(database, poison) == ("failed" if number < 3 else "dead")
        database.move_clock(timedelta(hours=1))
    row = run_of(database, poison)
    assert (row["status"], row["attempts"], row["error_type"]) == ("dead", 3, "lease_expired")
    found = attempts_of(database, poison)
    assert [(each["sequence"], each["attempt"], each["outcome"]) for each in found] == [
        (number, number, "lease_expired") for number in (1, 2, 3)
    ]
    assert len([line for line in app.trace() if line.run_id == poison]) == 3
    for run_id in neighbours:
        row = run_of(database, run_id)
        assert (row["status"], row["error_type"]) == ("succeeded", None)
        # Beside the first two crashes some may have lost an attempt; from then on the poison was alone.
        assert row["attempts"] <= 3
    assert database.value("SELECT count(*) FROM job_ticks WHERE finished_at IS NULL") == 3


@pytest.mark.promise("P7", "P6")
def test_crash_of_a_tick_is_charged_after_its_lease_has_expired(
    jobrunner: Commands, app: App, database: Database
) -> None:
    run_id = queue(database, "wait_for", {"path": str(app.path("go"))}, max_attempts=2)
    for number, ended in ((1, "failed"), (2, "dead")):
        tick = jobrunner.start("tick", env=LEASE)
        wait_for_attempts(app, number)
        os.kill(tick.pid, signal.SIGKILL)
        tick.wait(10)
        wait_until_gone(jobrunner)
        database.move_clock(timedelta(seconds=30))
        assert database.value("SELECT count(*) FROM job_recoverable") == 1
        assert status_of(database, run_id) == "running"
        jobrunner.tick(env=LEASE)
        row, attempt = run_of(database, run_id), attempts_of(database, run_id)[-1]
        assert (row["status"], row["attempts"], row["lease_expiries"]) == (ended, number, number)
        assert (row["error_type"], attempt["outcome"]) == ("lease_expired", "lease_expired")
        assert attempt["worker"] in row["last_error"]
        database.execute("UPDATE job_runs SET run_at = ? WHERE status = 'failed'", [database.now()])


@pytest.mark.promise("P7", "P12")
def test_the_output_before_a_crash_of_the_tick_is_kept(jobrunner: Commands, app: App, database: Database) -> None:
    app.add('@job("talk")\ndef talk(ctx: Context):\n    print("last words")\n    time.sleep(600)\n')
    run_id = queue(database, "talk")
    tick = jobrunner.start("tick", env=LEASE)
    database.wait_until("SELECT output FROM job_runs WHERE id = ?", [run_id])
    os.kill(tick.pid, signal.SIGKILL)
    tick.wait(10)
    wait_until_gone(jobrunner)
    database.move_clock(timedelta(seconds=30))
    jobrunner.tick(env=LEASE)
    assert attempt_of(database, run_id)["output"] == "last words\n"
