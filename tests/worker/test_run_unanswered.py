"""`jobrunner run TYPE --debug` whose first COMMIT gets no answer leaves no run behind that seems to be at work."""

from datetime import timedelta

import pytest

from harness import App, Commands, Database, wait_for
from harness.handlers_rows import run_of
from harness.invariants import assert_consistent
from harness.standby import Pair
from harness.waiting import span


def short(lease: str = "2m") -> dict[str, str | None]:
    return {"JOBRUNNER_PATIENCE": span(1), "JOBRUNNER_LEASE": lease}


@pytest.mark.promise("P1", "P14", on="postgresql")
def test_debugged_run_whose_first_commit_gets_no_answer_is_cancelled_uncharged_and_named(
    pair: Pair, jobrunner_on_pair: Commands, app: App
) -> None:
    pair.stall()
    command = jobrunner_on_pair.start("run", "append", "--debug", env=short())
    pair.database.wait_until("SELECT count(*) = 1 FROM job_runs")
    wait_for(pair.waiting, 20, "what undoes it")
    pair.resume()
    out, err = command.communicate(timeout=60)
    assert (command.returncode, out, err.count("\n")) == (69, "", 1), err
    assert "run 1, which this command has enqueued, is cancelled, and its handler was not called" in err
    assert app.trace() == []
    promoted = pair.fail_over()
    assert [run_of(promoted, 1)[name] for name in ("status", "attempts", "locked_by")] == ["cancelled", 0, None]
    assert_consistent(promoted)


def test_debugged_run_whose_first_commit_is_never_answered_is_named_with_what_shows_it(
    pair: Pair, jobrunner_on_pair: Commands, app: App
) -> None:
    pair.stall()
    told = jobrunner_on_pair.refused(69, "run", "append", "--debug", env=short(span(2)))
    assert "run 1 may be left as at work, and its handler was not called" in told
    assert told.endswith("to see it: jobrunner show 1\n")
    pair.resume()
    pair.database.move_clock(timedelta(minutes=2))
    jobrunner_on_pair.tick()
    assert (run_of(pair.database, 1)["locked_by"], app.trace()) == (None, [])


@pytest.mark.promise("P1", "P14")
def test_debugged_run_whose_connection_is_cut_before_its_commit_leaves_nothing_and_says_so(
    jobrunner: Commands, database: Database
) -> None:
    env = {"JOBRUNNER_FAULT": "claim.before_commit=cut"}
    assert "nothing was enqueued" in jobrunner.refused(69, "run", "append", "--debug", env=env)
    assert database.query("SELECT id FROM job_runs") == []
