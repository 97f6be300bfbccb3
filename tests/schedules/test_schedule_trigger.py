"""`jobrunner schedule trigger`: a run on request, of no slot."""

from datetime import datetime

import pytest

from harness import App, Commands, Database
from harness.backfills import add, backfill, tick
from harness.slots import go_to, utc


@pytest.mark.promise("P12")
def test_trigger_makes_one_run_without_a_slot(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    add(jobrunner, "@hourly", "--payload", '{"a": 1}', "--start-deadline", "2m", "--jitter", "1h")
    run_id = int(jobrunner("schedule", "trigger", "n").stdout)
    assert jobrunner("schedule", "trigger", "n", "--json").json().items() >= {"id": run_id + 1}.items()
    jobrunner.tick()
    run = jobrunner.show(run_id)
    assert (run["status"], run["result"], run["scheduled_for"], run["origin"]) == (
        "succeeded",
        {"a": 1},
        None,
        "trigger",
    )
    (event,) = database.query("SELECT * FROM job_events WHERE run_id = ?", [run_id])
    assert (event["action"], event["definition_id"]) == ("trigger schedule", run["definition_id"])
    assert database.value("SELECT runs_made FROM job_definitions") == 0


def test_triggered_run_waits_for_the_running_run(jobrunner: Commands, app: App, database: Database) -> None:
    path = app.path("go on")
    add(jobrunner, "@yearly", "--payload", f'{{"path": "{path}"}}', job_type="wait_for")
    first, second = (int(jobrunner("schedule", "trigger", "n").stdout) for _ in range(2))
    at_work = jobrunner.start("tick")
    database.wait_until("SELECT count(*) FROM job_runs WHERE id = ? AND status = 'running'", [first])
    jobrunner.tick()
    assert [jobrunner.show(run_id)["status"] for run_id in (first, second)] == ["running", "queued"]
    path.touch()
    assert at_work.wait(30) == 0
    jobrunner.tick()
    runs = [jobrunner.show(run_id) for run_id in (first, second)]
    assert [run["status"] for run in runs] == ["succeeded"] * 2
    assert datetime.fromisoformat(runs[0]["finished_at"]) <= datetime.fromisoformat(runs[1]["started_at"])


def test_triggered_runs_with_overlap_allow_run_at_once(jobrunner: Commands, app: App, database: Database) -> None:
    path = app.path("go on")
    add(jobrunner, "@yearly", "--overlap", "allow", "--payload", f'{{"path": "{path}"}}', job_type="wait_for")
    for _ in range(2):
        jobrunner("schedule", "trigger", "n")
    at_work = jobrunner.start("tick")
    database.wait_until("SELECT count(*) = 2 FROM job_runs WHERE status = 'running'")
    path.touch()
    assert at_work.wait(30) == 0


def test_unreadable_schedule_is_neither_triggered_nor_backfilled(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    add(jobrunner, "@hourly")
    database.execute("UPDATE job_definitions SET job_type = 'two words'")
    span = ["--since", "2026-05-01T09:00:00Z", "--until", "2026-05-01T11:00:00Z"]
    for words in (["trigger", "n"], ["backfill", "n", *span]):
        assert "schedule edit" in jobrunner.refused(1, "schedule", *words)
    assert database.value("SELECT count(*) FROM job_runs") == 0


@pytest.mark.promise("P1", "P12")
def test_overlap_replace_does_not_cancel_triggered_or_backfilled_runs(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    add(jobrunner, "@hourly", "--overlap", "replace")
    triggered = int(jobrunner("schedule", "trigger", "n").stdout)
    filled = [row["run_id"] for row in backfill(jobrunner, "2026-05-01T09:00:00Z", "2026-05-01T10:00:00Z")]
    for hour in (13, 14):
        go_to(database, utc(2026, 5, 1, hour, 0, 1))
        tick(jobrunner)
    statuses = {row["id"]: row["status"] for row in database.query("SELECT id, status FROM job_runs ORDER BY id")}
    assert [statuses.pop(run_id) for run_id in (triggered, *filled)] == ["queued"] * 3
    # Of its own runs the newest takes the place of the others, as ever.
    assert list(statuses.values()) == ["cancelled", "queued"]
