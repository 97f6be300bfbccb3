"""What an ``async def`` handler prints, reports and returns is attributed to its own run."""

import pytest

from harness import App, Commands, Database
from harness.async_jobs import HANDLERS
from harness.at_work import BEATS
from harness.handlers_rows import attempt_of, queue, run_of, status_of


@pytest.fixture
def app(app: App) -> App:
    app.add(HANDLERS)
    return app


def test_output_is_attributed_to_the_run_that_wrote_it(jobrunner: Commands, app: App, database: Database) -> None:
    runs = [queue(database, "speak") for _ in range(8)]
    jobrunner.tick()
    for run_id in runs:
        attempt = attempt_of(database, run_id)
        lines = attempt["output"].splitlines()
        me = f"<{run_id}>"
        assert sorted(line.split()[0] for line in lines if "bound" not in line) == sorted(
            ["print", "logged", "stderr", "bytes", "thread", "below", "below", "no"]
        )
        assert all(me in line for line in lines)
        assert "bound" in attempt["output"]


def test_a_flood_of_output_of_many_runs_blocks_no_run_and_keeps_its_end(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """Parent and child once waited for each other: one wrote runs, the other output, and neither read."""
    payload = {"padding": "x" * 100_000}
    app.add(HANDLERS.replace("async def flood(ctx: Context):", "async def flood(ctx: Context, padding: str):"))
    runs = [queue(database, "flood", payload) for _ in range(10)]
    jobrunner.tick(timeout=100)
    for run_id in runs:
        attempt = attempt_of(database, run_id)
        assert attempt["outcome"] == "succeeded"
        assert attempt["output"].endswith(f"the end of <{run_id}>\n")
        assert len(attempt["output"]) <= 16 * 1024
        others = {f"<{other}>" for other in runs if other != run_id}
        assert not any(other in attempt["output"] for other in others)


@pytest.mark.parametrize(
    ("way", "status", "error"),
    [
        ("retry", "failed", "later"),
        ("discard", "dead", "never"),
        ("snooze", "queued", None),
        ("exit", "failed", "3"),
        ("cancelled", "failed", "its own"),
        ("background exit", "failed", "SystemExit: 4"),
        ("plain", "succeeded", None),
    ],
)
def test_async_handler_outcomes(
    jobrunner: Commands, database: Database, way: str, status: str, error: str | None
) -> None:
    run_id = queue(database, "ways", {"way": way})
    misfit = queue(database, "ways", {"wya": way})
    jobrunner.tick(env={"JOBRUNNER_DEPLOY_GRACE": "0s"})
    run = run_of(database, run_id)
    assert (run["status"], run["last_error"] if status in ("failed", "dead") else None) == (status, error)
    assert (status_of(database, misfit), run_of(database, misfit)["error_type"]) == ("dead", "bad_payload")


def test_background_tasks_of_an_async_handler_end_with_it(jobrunner: Commands, app: App, database: Database) -> None:
    queue(database, "ways", {"way": "left behind"})
    held = queue(database, "hold", {"path": str(app.path("go"))})
    tick = jobrunner.start("tick")
    database.wait_until("SELECT count(*) FROM job_runs WHERE status = 'succeeded'")
    # The loop turns on for the other run for longer than what was left behind would have needed.
    queue(database, "polite")
    database.wait_until("SELECT finished_at FROM job_runs WHERE job_type = 'polite'")
    app.end(tick, "go")
    assert status_of(database, held) == "succeeded"
    assert not app.path("trace-left").exists()


def test_progress_is_attributed_to_the_run_that_reported_it(jobrunner: Commands, app: App, database: Database) -> None:
    telling, silent = (
        queue(database, "ways", {"way": "progress"}),
        queue(database, "hold", {"path": str(app.path("trace-go"))}),
    )
    tick = jobrunner.start("tick", env=BEATS)
    database.wait_until("SELECT id FROM job_runs WHERE progress IS NOT NULL")
    assert run_of(database, telling)["progress"] == {"done": 3, "total": 10, "message": "three"}
    assert run_of(database, silent)["progress"] is None
    app.release("trace-go")
    assert tick.wait(30) == 0
