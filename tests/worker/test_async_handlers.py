"""``async def`` handlers: many run at once in one child, each with its own timeout and its own end."""

import pytest

from harness import App, Commands, Database
from harness.async_jobs import HANDLERS
from harness.at_work import BEATS
from harness.handlers_rows import attempt_of, queue, run_of, status_of, wait_for_attempts, wait_until_running
from harness.waiting import whole


@pytest.fixture
def app(app: App) -> App:
    app.add(HANDLERS)
    return app


def test_many_async_runs_work_at_once_in_one_child_and_take_no_permits(
    jobrunner: Commands, app: App, database: Database
) -> None:
    runs = [queue(database, "hold", {"path": str(app.path("go"))}) for _ in range(30)]
    tick = jobrunner.start("tick", "--concurrency", "1")
    wait_for_attempts(app, 30)
    assert len({line.pid for line in app.trace()}) == 1
    # The only place of the host is free for a handler of the other kind, in a child of its own.
    beside = queue(database, "append")
    jobrunner.tick("--concurrency", "1")
    assert status_of(database, beside) == "succeeded"
    app.end(tick, "go")
    assert {run_of(database, run_id)["status"] for run_id in runs} == {"succeeded"}
    assert [run_of(database, run_id)["result"] for run_id in runs] == runs
    assert len(app.trace()) == 31


@pytest.mark.parametrize(("job_type", "most"), [("pair", 2), ("single", 1)])
def test_type_runs_at_most_its_concurrency_over_all_ticks_of_a_host(
    jobrunner: Commands, app: App, database: Database, job_type: str, most: int
) -> None:
    for _ in range(5):
        queue(database, job_type, {"path": str(app.path("go"))})
    tick = jobrunner.start("tick", "--concurrency", "4")
    wait_for_attempts(app, most)
    jobrunner.tick("--concurrency", "4")
    assert len(app.trace()) == most
    assert database.value("SELECT count(*) FROM job_runs WHERE status = 'running'") == most
    # Another host counts for itself.
    other = jobrunner.start("tick", "--concurrency", "4", env={"JOBRUNNER_HOST": "elsewhere"})
    wait_for_attempts(app, 2 * most)
    assert database.value("SELECT count(*) FROM job_runs WHERE status = 'running'") == 2 * most
    app.release("go")
    assert tick.wait(30) == other.wait(30) == 0
    jobrunner.tick()
    assert database.value("SELECT count(*) FROM job_runs WHERE status = 'succeeded'") == 5


@pytest.mark.promise("P6")
def test_timeout_of_an_async_run_cancels_only_that_run(jobrunner: Commands, app: App, database: Database) -> None:
    held = queue(database, "hold", {"path": str(app.path("go"))})
    limit = whole(0.5)
    late, polite = (queue(database, name, timeout=limit) for name in ("finishing", "polite"))
    tick = jobrunner.start("tick")
    database.wait_until("SELECT finished_at FROM job_runs WHERE id = ?", [polite])
    database.wait_until("SELECT finished_at FROM job_runs WHERE id = ?", [late])
    attempt = attempt_of(database, polite)
    assert (attempt["outcome"], attempt["error"]) == ("timed_out", f"timed out after {limit}s")
    assert "in polite" in attempt["traceback"]
    assert attempt["output"] == "cleaned up True\n"
    assert (status_of(database, late), run_of(database, late)["result"]) == ("succeeded", "done, if late")
    app.end(tick, "go")
    assert attempt_of(database, held)["outcome"] == "succeeded"
    assert len({line.pid for line in app.trace()}) == 1


def test_cancelling_an_async_run_stops_that_run_only(jobrunner: Commands, app: App, database: Database) -> None:
    one, other = (queue(database, "hold", {"path": str(app.path("go"))}) for _ in range(2))
    tick = jobrunner.start("tick", env=BEATS)
    wait_until_running(database, one)
    wait_for_attempts(app, 2)
    jobrunner("cancel", one)
    database.wait_until("SELECT id FROM job_runs WHERE status = 'cancelled'")
    assert status_of(database, other) == "running"
    app.end(tick, "go")
    assert (status_of(database, one), status_of(database, other)) == ("cancelled", "succeeded")
    assert attempt_of(database, other)["outcome"] == "succeeded"


@pytest.mark.promise("P2")
def test_a_lost_lease_stops_its_own_run_only(jobrunner: Commands, app: App, database: Database) -> None:
    lost, kept = (queue(database, "hold", {"path": str(app.path("go"))}) for _ in range(2))
    tick = jobrunner.start("tick", env=BEATS)
    wait_for_attempts(app, 2)
    database.execute("UPDATE job_runs SET lease_token = 'somebody else''s', locked_by = 'else' WHERE id = ?", [lost])
    database.wait_until(
        "SELECT 1 FROM job_runs WHERE id = ? AND heartbeat_at > claimed_at", [kept], describe="a beat of the neighbour"
    )
    app.end(tick, "go")
    assert (status_of(database, lost), status_of(database, kept)) == ("running", "succeeded")
    assert database.query("SELECT 1 AS one FROM job_attempts WHERE run_id = ?", [lost]) == []


@pytest.mark.promise("P9")
def test_a_stopped_tick_returns_async_runs_uncharged(jobrunner: Commands, app: App, database: Database) -> None:
    runs = [queue(database, "hold", {"path": str(app.path("never"))}) for _ in range(5)]
    tick = jobrunner.start("tick", "--grace", "100ms")
    wait_for_attempts(app, 5)
    tick.terminate()
    assert tick.communicate(timeout=30) == ("", "")
    for run_id in runs:
        assert (status_of(database, run_id), run_of(database, run_id)["attempts"]) == ("queued", 0)
        assert attempt_of(database, run_id)["outcome"] == "released"


ONLY_ASYNC = """
from jobrunner import job


@job("only")
async def only(ctx): ...
"""


@pytest.mark.parametrize("module", [ONLY_ASYNC, "", "from jobrunner import job\n\n@job('only')\ndef only(ctx): ...\n"])
def test_tick_without_work_for_its_handlers_ends_before_its_budget(
    jobrunner: Commands, app: App, database: Database, module: str
) -> None:
    """It once sat out its budget, waiting for work for children that had nothing to serve."""
    app.write("handlers", module)
    app.path("jobrunner.toml").write_text('[jobs.command]\ncommand = ["true"]\n')
    runs = [queue(database, "only"), queue(database, "command"), queue(database, "unknown")]
    jobrunner.tick("--budget", "100s", timeout=30)
    jobrunner.tick("--budget", "100s", "--type", "command", timeout=30)
    statuses = [status_of(database, run_id) for run_id in runs]
    assert statuses == ["succeeded" if "only" in module else "queued", "succeeded", "queued"]
