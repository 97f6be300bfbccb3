"""Handlers that go on after their own commit, or are stopped inside: what counts is the commit."""

from datetime import timedelta

import pytest

from harness import App, Commands, Database, wait_for
from harness.effect_jobs import done, traces, with_effects
from harness.handlers_rows import run_of
from harness.invariants import assert_consistent, insert_runs, outcomes, read_log
from harness.waiting import stretched, whole


@pytest.fixture
def app(app: App, database: Database) -> App:
    return with_effects(app, database)


@pytest.mark.promise("P2", "P5", "P6")
def test_handler_that_goes_on_after_its_commit_keeps_no_lease_and_ends_as_succeeded_whatever_it_does(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """For longer than its lease. Another run of its child, prefetched or not, is not touched."""
    wait = str(app.path("go"))
    (failing,) = insert_runs(database, 1, "work", {"wait": wait, "error": "too late"})
    (returning,) = insert_runs(database, 1, "work", {"wait": wait, "answer": 7})
    limit, lease = whole(5), stretched(3)
    (overdue,) = insert_runs(database, 1, "work", {"wait": str(app.path("never"))}, timeout=limit)
    log = app.path("log")
    env = {"JOBRUNNER_LEASE": f"{lease}s", "JOBRUNNER_HEARTBEAT": "0.3s", "JOBRUNNER_LOG": str(log)}
    tick = jobrunner.start("tick", env={**env, "JOBRUNNER_CONCURRENCY": "3"})
    wait_for(lambda: len(traces(app)) == 3, 20, "the commits")
    committed_at = database.now()
    assert {run_of(database, each)["status"] for each in (failing, returning, overdue)} == {"succeeded"}
    wait_for(lambda: database.now() - committed_at > timedelta(seconds=1.1 * lease), 20, "more than a lease")
    app.end(tick, "go")
    attempts = {row["run_id"]: row for row in database.query("SELECT * FROM job_attempts")}
    assert {row["outcome"] for row in attempts.values()} == {"succeeded"}
    assert "after its own transaction: RuntimeError: too late\nTraceback" in attempts[failing]["output"]
    assert "the return value was not kept" in attempts[returning]["output"]
    assert f"after its own transaction: timeout: timed out after {limit}s" in attempts[overdue]["output"]
    assert database.value("SELECT counts FROM job_ticks") == {"claimed": 3, "succeeded": 3}
    assert not {line["event"] for line in read_log(log)} & {"lease lost", "crashed", "failed"}
    assert_consistent(database)


@pytest.mark.promise("P2", "P5")
def test_run_that_is_stopped_inside_its_own_transaction_has_done_nothing(
    jobrunner: Commands, app: App, database: Database
) -> None:
    (run_id,) = insert_runs(database, 1, "slow_inside", timeout=whole(1))
    jobrunner.tick(env={"JOBRUNNER_LEASE": "2m"})
    assert traces(app) == ["inside"]
    assert (outcomes(database, run_id), done(database, run_id)) == (["timed_out"], 0)
