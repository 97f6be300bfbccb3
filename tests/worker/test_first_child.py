"""The first child of a tick starts right after the idle question, before the tick imports what it needs itself."""

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
