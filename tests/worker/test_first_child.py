"""The first child of a tick starts right after the idle question, the others when their start pays."""

from pathlib import Path

from harness import App, Commands, Database
from harness.idle_ticks import tick
from harness.invariants import insert_runs
from harness.processes import marked_processes

HANDLER = """
import os
from jobrunner import job

@job("known")
def known(ctx):
    return {"pid": os.getpid()}
"""

SLOW_TO_START = """
import os, time
from pathlib import Path
from jobrunner import job

Path(__file__).with_name(f"start-{os.getpid()}").touch()
time.sleep(2)

@job("short")
def short(ctx):
    pass

@job("meets")
def meets(ctx):
    Path(__file__).with_name(f"here-{ctx.run_id}").touch()
    while len(list(Path(__file__).parent.glob("here-*"))) < 2:
        time.sleep(0.01)
"""


def test_first_child_starts_before_the_other_imports_and_is_the_only_one(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.write("handlers", HANDLER)
    insert_runs(database, 3, "known")
    done = tick(jobrunner, env={"JOBRUNNER_CONCURRENCY": "1"}).done
    assert done.stderr.index("jobrunner.worker.processes") < done.stderr.index("jobrunner.worker.tick")
    pids = {row["result"]["pid"] for row in database.query("SELECT result FROM job_runs WHERE status = 'succeeded'")}
    assert len(pids) == 1
    assert noted(jobrunner) == []


def test_few_short_runs_start_no_second_child_of_an_application_that_starts_slowly(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.write("handlers", SLOW_TO_START)
    insert_runs(database, 8, "short")
    jobrunner.tick(env={"JOBRUNNER_CONCURRENCY": "4"})
    assert [row["status"] for row in database.query("SELECT status FROM job_runs")] == ["succeeded"] * 8
    assert len(list(app.folder.glob("start-*"))) == 1


def test_many_short_runs_start_no_more_children_than_the_tick_can_keep_at_work(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.write("handlers", SLOW_TO_START)
    insert_runs(database, 5_000, "short")
    jobrunner.tick("--batch", "5000", env={"JOBRUNNER_CONCURRENCY": "4"})
    assert [row["status"] for row in database.query("SELECT DISTINCT status FROM job_runs")] == ["succeeded"]
    assert len(list(app.folder.glob("start-*"))) <= 2


def test_run_beside_a_long_one_gets_a_child_although_all_before_were_short(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """These two wait for each other."""
    app.write("handlers", SLOW_TO_START)
    insert_runs(database, 8, "short")
    insert_runs(database, 2, "meets")
    jobrunner.tick(env={"JOBRUNNER_CONCURRENCY": "2"})
    assert [row["status"] for row in database.query("SELECT status FROM job_runs")] == ["succeeded"] * 10


def test_first_child_of_a_tick_that_has_nothing_to_run_or_is_refused_leaves_nothing(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.write("handlers", HANDLER)
    database.execute("UPDATE job_state SET pruned_at = NULL")
    assert tick(jobrunner).said == ""
    database.execute("UPDATE job_state SET oldest_code = 99")
    refused = tick(jobrunner, check=False)
    assert refused.done.returncode != 0
    assert len(refused.said.splitlines()) == 1
    assert noted(jobrunner) == []
    assert marked_processes(jobrunner._marks) == []


def noted(jobrunner: Commands) -> list[Path]:
    return list(jobrunner.state_dir.rglob("tick-*"))
