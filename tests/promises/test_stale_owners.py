"""A tick that was stopped past its lease writes nothing more, whoever has recovered its run meanwhile."""

import signal

import pytest

from harness import App, Commands, Database
from harness.invariants import snapshot
from harness.processes import is_working
from harness.stale_owner import StaleOwner, waiting_or_not


@pytest.fixture
def stale(jobrunner: Commands, app: App, database: Database) -> StaleOwner:
    return StaleOwner(jobrunner, app, database)


@pytest.mark.promise("P2")
@waiting_or_not
def test_a_stale_owner_changes_nothing(stale: StaleOwner, host: str, waits: bool) -> None:
    stale.stop_past_the_lease(waits=waits)
    stale.finish_elsewhere(host)
    before = snapshot(stale.database, stale.run_id)
    told = stale.go_on()
    assert snapshot(stale.database, stale.run_id) == before
    assert told.count("lease lost") == 1
    assert set(told) <= {"lease lost", "stopped"}
    assert stale.jobrunner.leftover_processes() == []


@pytest.mark.promise("P2")
def test_old_handler_has_ended_before_its_run_is_claimable(stale: StaleOwner) -> None:
    """Recovery is killed just before it commits: at that moment the handler is dead, the run still running."""
    stale.stop_past_the_lease()
    assert is_working(stale.handler)
    killed = stale.tick("first", JOBRUNNER_FAULT="recover.before_commit=kill")
    assert killed == -signal.SIGKILL
    assert not is_working(stale.handler)
    assert stale.database.value("SELECT status FROM job_runs") == "running"
    stale.finish_elsewhere("first")
    assert stale.go_on().count("lease lost") == 1


@pytest.mark.promise("P2")
def test_recovery_does_not_stop_handlers_of_another_host(stale: StaleOwner) -> None:
    """Only its owner can stop it: it does so as soon as it learns that the lease is lost."""
    stale.stop_past_the_lease()
    stale.tick("second")
    assert is_working(stale.handler)
    before = snapshot(stale.database, stale.run_id)
    assert stale.go_on().count("lease lost") == 1
    assert not is_working(stale.handler)
    assert snapshot(stale.database, stale.run_id) == before
