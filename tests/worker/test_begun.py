"""A killed tick costs an attempt to each run that it had begun, and to no run that was only claimed."""

import signal
from collections import Counter

import pytest

from harness import App, Commands, Database, wait_for
from harness.dead_ticks import change, note_of
from harness.handlers_rows import attempts_of, queue, run_of, status_of
from harness.invariants import assert_consistent, insert_runs
from harness.prefetch_jobs import KINDS, ONE, QUICK, of_kind
from harness.standstill import ASYNC, COMMAND, stopped_at

ALL_KINDS = ("append", "asynchronous", "command")


def killed_at(point: str, jobrunner: Commands) -> None:
    jobrunner.killed_at(point)
    wait_for(lambda: not jobrunner.leftover_processes(), 20, "the end of the killed tick's children")


@pytest.mark.promise("P1", "P7", "P12")
@pytest.mark.parametrize("kind", KINDS)
def test_runs_that_waited_for_a_child_of_a_killed_tick_are_not_charged_and_those_begun_are(
    jobrunner: Commands, app: App, database: Database, kind: str
) -> None:
    app.add(of_kind(kind, QUICK))
    once = {"max_attempts": 1}
    runs = insert_runs(database, 40, "quick", priority=9, **once)
    # Kills the tick as soon as others wait behind it.
    kills = {"act": "signal", "number": signal.SIGKILL, "path": str(app.path("never"))}
    runs.append(queue(database, "quick", kills, priority=5, **once))
    runs += insert_runs(database, 60, "quick", **once)
    killed = jobrunner.tick(env=ONE, check=False)
    assert killed.returncode == -signal.SIGKILL
    wait_for(lambda: not jobrunner.leftover_processes(), 20, "the end of the children")
    begun = {line.run_id for line in app.trace()}
    held = {row["id"] for row in database.query("SELECT id FROM job_runs WHERE status = 'running'")}
    assert held - begun, "nothing waited"
    # At once, and not only when the leases end.
    jobrunner.tick()
    assert_consistent(database)
    ends = {row["id"]: row["status"] for row in database.query("SELECT id, status FROM job_runs")}
    assert ends == {run_id: "dead" if run_id in held & begun else "succeeded" for run_id in runs}
    assert Counter(line.run_id for line in app.trace()) == dict.fromkeys(runs, 1)
    # Nothing is left for another tick to look at, but the time of the last one.
    assert {path.name.partition("-")[0] for path in jobrunner.state_dir.iterdir()} == {"last"}


@pytest.mark.promise("P1", "P7")
@pytest.mark.parametrize("job_type", ALL_KINDS)
def test_runs_claimed_but_not_begun_by_a_killed_tick_are_not_charged(
    jobrunner: Commands, app: App, database: Database, job_type: str
) -> None:
    app.add(ASYNC)
    app.path("jobrunner.toml").write_text(COMMAND)
    runs = [queue(database, job_type, max_attempts=1) for _ in range(3)]
    killed_at("claim.committed", jobrunner)
    assert status_of(database, runs[0]) == "running"
    jobrunner.tick()
    for run_id in runs:
        row = run_of(database, run_id)
        assert (row["status"], row["attempts"], len(attempts_of(database, run_id))) == ("succeeded", 1, 1)
    assert_consistent(database)


@pytest.mark.promise("P2")
def test_unbegun_runs_of_a_living_tick_are_not_recovered_by_another_tick(
    jobrunner: Commands, app: App, database: Database
) -> None:
    (run_id,) = insert_runs(database, 1, "append")
    fault = {"JOBRUNNER_FAULT": "claim.committed=stop", "JOBRUNNER_FAULT_TRACE": str(app.path("faults"))}
    tick = jobrunner.start("tick", env=fault)
    stopped_at(app)
    jobrunner.tick()
    assert (status_of(database, run_id), app.trace()) == ("running", [])
    tick.send_signal(signal.SIGCONT)
    assert tick.communicate(timeout=30) == ("", "")
    assert (status_of(database, run_id), [line.attempt for line in app.trace()]) == ("succeeded", [1])


@pytest.mark.promise("P7")
def test_begun_notes_from_before_a_reboot_are_ignored(jobrunner: Commands, app: App, database: Database) -> None:
    (run_id,) = insert_runs(database, 1, "append")
    killed_at("claim.committed", jobrunner)
    (page,) = jobrunner.state_dir.glob("*.page")
    content = page.read_bytes()
    page.write_bytes(b"another boot".ljust(36, b"\0") + content[36:])
    change(note_of(jobrunner.state_dir), boot="another boot")
    jobrunner.tick()
    assert (status_of(database, run_id), list(jobrunner.state_dir.glob("tick-*"))) == ("running", [])
