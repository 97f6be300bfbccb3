"""The check of the tables' invariants can fail, and a dead process is distinguished from a stopped one."""

import os
import signal

import pytest

from harness import Commands, Database, wait_for
from harness.invariants import assert_consistent, insert_runs
from harness.processes import is_working

BROKEN = {
    "a lost charge": "UPDATE job_runs SET attempts = 0",
    "a charge too many": "UPDATE job_runs SET attempts = 2",
    "a second success": "UPDATE job_runs SET status = 'queued', finished_at = NULL",
    "a lost attempt": "DELETE FROM job_attempts",
    "a gap": "UPDATE job_attempts SET sequence = 2",
}


@pytest.mark.parametrize("breakage", BROKEN.values(), ids=BROKEN)
def test_invariant_check_sees_broken_tables(jobrunner: Commands, database: Database, breakage: str) -> None:
    insert_runs(database, 1)
    jobrunner.tick()
    assert_consistent(database)
    assert database.execute(breakage) == 1
    with pytest.raises(AssertionError):
        assert_consistent(database)


def test_a_cancel_request_on_a_waiting_run_is_seen(database: Database) -> None:
    insert_runs(database, 1)
    assert_consistent(database)
    database.execute("UPDATE job_runs SET cancel_requested_at = run_at")
    with pytest.raises(AssertionError, match="no cancel request"):
        assert_consistent(database)


def test_a_stopped_process_is_at_work_and_a_killed_one_is_not(jobrunner: Commands) -> None:
    process = jobrunner.start("tick")
    os.kill(process.pid, signal.SIGSTOP)
    assert is_working(process.pid)
    os.kill(process.pid, signal.SIGKILL)
    wait_for(lambda: not is_working(process.pid), 10, "the end of a killed process")
