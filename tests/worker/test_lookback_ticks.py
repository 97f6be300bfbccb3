"""Ticks whose claims take long, and therefore do not look at all runs each time: nothing is left, nothing is late."""

from datetime import timedelta

import pytest

from harness import App, Commands, Database
from harness.command_jobs import ECHO, with_handlers
from harness.handlers_rows import queue, run_of, status_of
from harness.listening_ticks import check_left_quietly, linger, stop, wait_for_success
from harness.stops import wait_until_at_work


def slow(app: App, rest_seconds: float = 1) -> dict[str, str]:
    """Settings of a tick to which every claim and every question seems slow: after each it rests for so long."""
    app.write(
        "sitecustomize",
        "import sys\nif 'tick' in sys.argv:\n    from jobrunner.worker import lookback\n"
        "    lookback._SLOW_SECONDS, lookback._IN_A_ROW, lookback.Rarely.part_took = -9.0, 1, lambda *_: None\n"
        f"    lookback._SHORTEST_REST_SECONDS = lookback._LONGEST_REST_SECONDS = {rest_seconds}\n",
    )
    return {"PYTHONPATH": str(app.folder)}


@pytest.mark.promise("P1")
def test_tick_ends_only_after_a_look_at_all_runs(jobrunner: Commands, app: App, database: Database) -> None:
    """A run with an earlier turn than those that were claimed is seen by no claim that begins at these."""
    first = queue(database, "wait_for", {"path": str(app.path("go"))})
    tick = jobrunner.start("tick", env={**slow(app), "JOBRUNNER_CONCURRENCY": "1"})
    wait_until_at_work(app, first)
    urgent = queue(database, "append", priority=9)
    app.release("go")
    check_left_quietly(tick)
    assert (status_of(database, urgent), database.value("SELECT count(*) FROM job_ticks")) == ("succeeded", 1)


def test_tick_with_handlers_and_commands_ends_when_nothing_is_left_of_either(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """Each look at all runs of one kind kept the other kind waiting for its own, and this one then asked again."""
    with_handlers(app, f"[jobs.hold]\ncommand = {ECHO}\n")
    runs = [queue(database, each) for each in ("hold", "append")]
    jobrunner.tick(env={**slow(app), "JOBRUNNER_BUDGET": "10m"})
    assert [status_of(database, each) for each in runs] == ["succeeded"] * 2


def test_listening_tick_begins_new_runs_at_once_and_one_with_an_earlier_turn_soon(
    jobrunner: Commands, app: App, database: Database
) -> None:
    tick = linger(jobrunner, **slow(app))
    for _ in range(3):
        wait_for_success(database, queue(database, "append"))
    urgent = queue(database, "append", priority=9)
    wait_for_success(database, queue(database, "append"), urgent)
    later = queue(database, "append", run_at=database.now() + timedelta(seconds=1))
    wait_for_success(database, later)
    assert run_of(database, later)["started_at"] >= run_of(database, later)["run_at"]
    stop(tick)


def test_listening_tick_expands_the_next_slot_and_ends_when_another_one_listens(
    jobrunner: Commands, app: App, database: Database
) -> None:
    env = slow(app, rest_seconds=600)
    jobrunner("schedule", "add", "soon", "--cron", "0 * * * *", "--type", "append")
    now = database.now()
    times = [now - timedelta(hours=1), now + timedelta(seconds=2)]
    database.execute("UPDATE job_definitions SET last_slot_at = ?, next_run_at = ?", times)
    tick = linger(jobrunner, **env)
    wait_for_success(database, queue(database, "append"))
    database.wait_until("SELECT count(*) FROM job_runs WHERE scheduled_for IS NOT NULL")
    newer = linger(jobrunner, **env)
    check_left_quietly(tick)
    stop(newer)


@pytest.mark.promise("P1")
def test_runs_that_wait_for_a_key_or_for_another_run_begin_when_that_ends_however_early_their_turns_are(
    jobrunner: Commands, app: App, database: Database
) -> None:
    early = database.now() - timedelta(minutes=9)
    keyed = [queue(database, "append", concurrency_key="k", **more) for more in ({}, {"run_at": early})]
    parent = queue(database, "wait_for", {"path": str(app.path("go"))})
    child = jobrunner.enqueue("echo", after=parent)
    database.execute("UPDATE job_runs SET run_at = ? WHERE id = ?", [early, child])
    tick = linger(jobrunner, **slow(app, rest_seconds=600))
    wait_for_success(database, *keyed, jobrunner.enqueue("echo"))
    app.release("go")
    wait_for_success(database, parent, child)
    stop(tick)
