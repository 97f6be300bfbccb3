"""A run that was not started by its start deadline ends dead with a reason, and is never attempted."""

from contextlib import closing
from datetime import datetime, timedelta
from typing import Any

import pytest

from harness import App, Commands, Database
from harness.at_work import running
from harness.invariants import insert_runs
from harness.slots import NO_HANDLERS, expand, go_to, utc
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.drivers.location import locate
from jobrunner.store.timetable import expansion
from jobrunner.store.timetable.schedules import Expanded
from jobrunner.worker.expansion import plan

NOON = utc(2026, 5, 1, 12)
MINUTE = timedelta(minutes=1)
ENDED = "start deadline passed"


def add(jobrunner: Commands, *options: str, job_type: str = "append", cron: str = "0 * * * *") -> None:
    jobrunner("schedule", "add", "s", "--type", job_type, "--schedule", cron, *options)


def expanded(database: Database) -> list[Expanded]:
    """What a tick expands that has ended no overdue run before."""
    with closing(Store(locate(database.url), patience=timedelta(seconds=20))) as store:
        return store.write(lambda connection: expansion.expand_many(connection, 9, (), plan)).expanded


def only_run(database: Database) -> dict[str, Any]:
    (row,) = database.query("SELECT * FROM job_runs")
    return row


def events(database: Database, action: str = ENDED) -> list[dict[str, Any]]:
    return database.query("SELECT run_id, actor, detail FROM job_events WHERE action = ? ORDER BY run_id", [action])


@pytest.mark.promise("P12")
def test_a_queued_run_past_its_deadline_is_given_up_and_never_attempted(
    jobrunner: Commands, app: App, database: Database
) -> None:
    go_to(database, NOON)
    add(jobrunner, "--start-deadline", "10m")
    expand(jobrunner, NOON + 61 * MINUTE)
    run = only_run(database)
    assert run["start_deadline_at"] == run["scheduled_for"] + 10 * MINUTE == NOON + 70 * MINUTE
    go_to(database, NOON + 70 * MINUTE)
    assert jobrunner.tick().stderr == ""
    run = only_run(database)
    assert (run["status"], run["error_type"], run["attempts"]) == ("dead", "start_deadline", 0)
    assert "start deadline" in run["last_error"]
    (event,) = events(database)
    assert (event["run_id"], event["actor"], event["detail"]["from"]) == (run["id"], "tick", "queued")
    assert datetime.fromisoformat(event["detail"]["deadline"]) == NOON + 70 * MINUTE
    assert app.trace() == []
    assert database.query("SELECT * FROM job_due") == []


def test_run_within_its_start_deadline_is_not_given_up(jobrunner: Commands, app: App, database: Database) -> None:
    go_to(database, NOON)
    add(jobrunner, "--start-deadline", "10m")
    go_to(database, NOON + 69 * MINUTE)
    jobrunner.tick()
    assert only_run(database)["status"] == "succeeded"
    assert len(app.trace()) == 1


@pytest.mark.promise("P12")
def test_a_failed_run_gets_no_attempt_after_its_deadline(jobrunner: Commands, app: App, database: Database) -> None:
    go_to(database, NOON)
    add(jobrunner, "--start-deadline", "10m", job_type="fail")
    go_to(database, NOON + 61 * MINUTE)
    jobrunner.tick()
    assert only_run(database)["status"] == "failed"
    go_to(database, NOON + 75 * MINUTE)
    jobrunner.tick()
    run = only_run(database)
    assert (run["status"], run["error_type"], run["attempts"]) == ("dead", "start_deadline", 1)
    assert len(app.trace()) == 1
    assert [event["detail"]["from"] for event in events(database)] == ["failed"]


def test_run_past_its_start_deadline_can_be_retried_by_a_person(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """Else it would be given up again by the very next tick."""
    go_to(database, NOON)
    add(jobrunner, "--start-deadline", "10m")
    expand(jobrunner, NOON + 61 * MINUTE)
    go_to(database, NOON + 90 * MINUTE)
    jobrunner.tick()
    run = only_run(database)
    assert run["status"] == "dead"
    jobrunner("retry", run["id"])
    jobrunner.tick()
    assert only_run(database)["status"] == "succeeded"


def test_running_run_goes_on_past_its_start_deadline(jobrunner: Commands, app: App, database: Database) -> None:
    soon = database.now() + timedelta(seconds=30)
    (run_id,) = insert_runs(database, 1, "wait_for", {"path": str(app.path("go"))}, start_deadline_at=soon)
    tick = jobrunner.start("tick")
    database.wait_until("SELECT count(*) AS n FROM job_runs WHERE status = 'running'")
    database.execute("UPDATE job_runs SET start_deadline_at = ?", [soon - MINUTE])
    jobrunner.tick(env={"JOBRUNNER_HOST": "elsewhere"})
    assert jobrunner.show(run_id)["status"] == "running"
    app.end(tick, "go")
    assert jobrunner.show(run_id)["status"] == "succeeded"
    assert events(database) == []


def test_run_given_up_does_not_block_the_next_slot(jobrunner: Commands, database: Database) -> None:
    go_to(database, NOON)
    add(jobrunner, "--start-deadline", "10m", "--overlap", "skip")
    for hour in (1, 2):
        expand(jobrunner, NOON + hour * 60 * MINUTE + MINUTE)
    rows = database.query("SELECT status, scheduled_for FROM job_runs ORDER BY id")
    assert [(row["status"], row["scheduled_for"].hour) for row in rows] == [("dead", 13), ("queued", 14)]
    assert events(database, "skip slots") == []


@pytest.mark.parametrize("policy", ["skip", "queue"])
@pytest.mark.parametrize("attempts", [0, 1])
def test_overdue_run_that_no_tick_has_ended_yet_costs_the_schedule_no_slot(
    jobrunner: Commands, database: Database, policy: str, attempts: int
) -> None:
    """Another tick was about to end it, or a session held its row: the slot was skipped for a run without a future."""
    go_to(database, NOON)
    add(jobrunner, "--start-deadline", "10m", "--overlap", policy)
    expand(jobrunner, NOON + 61 * MINUTE)
    database.execute("UPDATE job_runs SET attempts = ?, status = ?", [attempts, "failed" if attempts else "queued"])
    go_to(database, NOON + 121 * MINUTE)
    assert [each.run_ids for each in expanded(database)] == [(2,)]
    assert events(database, "skip slots") == []


@pytest.mark.parametrize("policy", ["skip", "queue"])
def test_run_at_work_past_its_start_deadline_goes_on_blocking_what_it_blocks(
    jobrunner: Commands, database: Database, policy: str
) -> None:
    go_to(database, NOON)
    add(jobrunner, "--overlap", policy)
    go_to(database, NOON + 61 * MINUTE)
    (definition_id,) = (row["id"] for row in database.query("SELECT id FROM job_definitions"))
    running(database, 1, definition_id=definition_id, start_deadline_at=NOON)
    assert [len(each.run_ids) for each in expanded(database)] == [policy == "queue"]


def test_run_given_up_lets_the_next_run_of_its_definition_start(
    jobrunner: Commands, app: App, database: Database
) -> None:
    now = database.now()
    insert_runs(database, 1, concurrency_key="k", start_deadline_at=now - MINUTE)
    (second,) = insert_runs(database, 1, concurrency_key="k")
    assert database.query("SELECT id FROM job_claimable") == [{"id": second}]
    jobrunner.tick()
    assert [line.run_id for line in app.trace()] == [second]


@pytest.mark.promise("P12")
def test_ticks_at_once_give_up_a_thousand_runs_once_each(jobrunner: Commands, database: Database) -> None:
    now = database.now()
    late = insert_runs(database, 1100, start_deadline_at=now - MINUTE, run_at=now - 2 * MINUTE)
    (in_time,) = insert_runs(database, 1, start_deadline_at=now + 60 * MINUTE)
    ticks = [jobrunner.start("tick", env=NO_HANDLERS) for _ in range(3)]
    assert [(*tick.communicate(timeout=60), tick.returncode) for tick in ticks] == [("", "", 0)] * 3
    rows = database.query("SELECT id, status FROM job_runs WHERE status <> 'dead'")
    assert rows == [{"id": in_time, "status": "queued"}]
    assert [event["run_id"] for event in events(database)] == late


def test_idle_check_sees_a_run_past_its_start_deadline(jobrunner: Commands, database: Database) -> None:
    """Nothing else is due: only a run of an unknown type for tomorrow is past its start deadline."""
    jobrunner.tick()
    now = database.now()
    insert_runs(database, 1, "unknown", run_at=now + 60 * 24 * MINUTE, start_deadline_at=now - MINUTE)
    jobrunner.tick()
    assert only_run(database)["status"] == "dead"
