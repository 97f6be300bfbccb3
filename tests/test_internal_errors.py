"""An error that nobody has thought of: the tick says so, closes its trail, and nobody pays for it."""

import re

import pytest

from harness import App, Commands, Database
from harness.ground import Ground
from harness.invariants import assert_consistent, outcomes, statuses

# Before the drain; a claim that nobody has taken yet; one at work beside others; one that has just ended.
POINTS = ("expand.committed", "claim.committed", "attempt.handed_over", "attempt.ended")


@pytest.mark.promise("P1", "P7", "P8", "P12")
def test_an_unexpected_error_at_any_point_hands_the_runs_back_and_closes_the_trail(
    jobrunner: Commands, app: App, database: Database
) -> None:
    ground = Ground(jobrunner, app, database)
    for number, point in enumerate(POINTS, start=1):
        code, stderr = ground.tick_with_fault(point, "raise")
        assert (code, ground.reached()) == (70, list(POINTS[:number])), stderr
        assert re.fullmatch(rf"jobrunner: an internal error [^\n]* RuntimeError: the fault {point} [^\n]*\n", stderr)
        assert "running" not in statuses(database), point
        (tick,) = database.query("SELECT finished_at, error FROM job_ticks ORDER BY id DESC LIMIT 1")
        assert tick["finished_at"] is not None
        assert f"the fault {point}" in tick["error"]
        assert jobrunner.leftover_processes() == []
    ground.settle()
    assert_consistent(database)
    assert statuses(database)["succeeded"] == len(ground.due) + 2
    for run_id in ground.due:
        *before, last = outcomes(database, run_id)
        assert (last, set(before) <= {"released"}) == ("succeeded", True)
