"""An owner whose lease has ended writes nothing when it finalizes, unless nobody else has the run."""

import os
import signal
from datetime import timedelta

import pytest

from harness import App, Commands, Database, wait_for
from harness.invariants import assert_consistent, outcomes, read_log, snapshot, wait_for_exit
from harness.stale_owner import StaleOwner, waiting_or_not


@pytest.fixture
def stale(jobrunner: Commands, app: App, database: Database) -> StaleOwner:
    return StaleOwner(jobrunner, app, database)


@pytest.mark.promise("P2")
@waiting_or_not
def test_a_stale_finalize_of_a_running_run_changes_nothing(stale: StaleOwner, host: str, waits: bool) -> None:
    """The new owner is at work while the old one comes back with a finished handler."""
    stale.stop_past_the_lease(waits=waits)
    stale.tick(host)
    stale.database.execute("UPDATE job_runs SET payload = ?", [{"path": str(stale.app.path("later"))}])
    stale.database.move_clock(timedelta(hours=1))
    second = stale.jobrunner.start("tick", env={"JOBRUNNER_HOST": host})
    wait_for(lambda: len(stale.app.trace()) == 2, 20, "the handler of the second owner")
    stale.app.release("go")
    before = snapshot(stale.database, stale.run_id)
    assert stale.go_on().count("lease lost") == 1
    assert snapshot(stale.database, stale.run_id) == before
    stale.app.release("later")
    wait_for_exit(second, 0)
    assert outcomes(stale.database, stale.run_id) == ["lease_expired", "succeeded"]
    assert_consistent(stale.database)


@pytest.mark.promise("P2")
def test_owner_that_stalled_beyond_its_lease_goes_on_if_its_run_was_not_claimed(stale: StaleOwner) -> None:
    """After a stall the heartbeat comes before anything else, also before the handler is given up."""
    stale.stop_past_the_lease(waits=True)
    beat_at, before = stale.database.value("SELECT heartbeat_at FROM job_runs"), len(read_log(stale.log))
    os.kill(stale.process.pid, signal.SIGCONT)
    stale.database.wait_until("SELECT heartbeat_at > ? AS beaten FROM job_runs", [beat_at], describe="a beat")
    stale.app.release("go")
    assert stale.told_after(before) == ["succeeded"]
    assert outcomes(stale.database, stale.run_id) == ["succeeded"]
    assert len(stale.app.trace()) == 1
