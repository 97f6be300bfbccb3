"""`jobrunner schedule backfill`: runs of past slots on request, each slot once unless --again is given."""

from datetime import datetime, timedelta

import pytest

from harness import App, Commands, Database
from harness.backfills import add, answers, backfill, tick
from harness.locks import locked_definition, wait_for_lock
from harness.slots import NO_HANDLERS, go_to, slots_with_runs, utc


@pytest.mark.promise("P3")
def test_backfill_over_changes_of_the_clock_makes_each_slot_once(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 4, 1, 12))
    add(jobrunner, "30 2 * * *", "--timezone", "Europe/Berlin")
    found = backfill(jobrunner, "2026-03-27T00:00:00+01:00", "2026-03-31T23:59:00+02:00")
    slots = [utc(2026, 3, 27, 1, 30), utc(2026, 3, 28, 1, 30), utc(2026, 3, 29, 1)]
    slots += [utc(2026, 3, 30, 0, 30), utc(2026, 3, 31, 0, 30)]
    assert slots_with_runs(database, "n") == [datetime.fromisoformat(row["scheduled_for"]) for row in found] == slots
    go_to(database, utc(2026, 10, 27, 12))
    backfill(jobrunner, "2026-10-24T00:00:00Z", "2026-10-26T12:00:00Z")
    fold = [utc(2026, 10, 24, 0, 30), utc(2026, 10, 25, 0, 30), utc(2026, 10, 26, 1, 30)]
    assert slots_with_runs(database, "n") == slots + fold


@pytest.mark.promise("P3", "P12")
def test_backfill_skips_slots_with_runs_and_a_second_one_makes_none(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    add(jobrunner, "@hourly")
    go_to(database, utc(2026, 5, 1, 13, 0, 1))
    tick(jobrunner)
    go_to(database, utc(2026, 5, 1, 15, 30))
    span = ("2026-05-01T11:00:00Z", "2026-05-01T15:00:00Z")
    planned = backfill(jobrunner, *span, "--dry-run")
    assert answers(planned) == ["would be made", "would be made", "has a run", "would be made", "would be made"]
    assert database.value("SELECT count(*) FROM job_runs") == 1
    found = backfill(jobrunner, *span)
    assert answers(found) == ["made", "made", "has a run", "made", "made"]
    assert slots_with_runs(database, "n") == [utc(2026, 5, 1, hour) for hour in range(11, 16)]
    again = backfill(jobrunner, *span)
    assert answers(again) == ["has a run"] * 5
    assert [row["run_id"] for row in again] == [row["run_id"] for row in found]
    (event,) = database.query("SELECT detail FROM job_events WHERE action = 'backfill schedule'")
    assert (event["detail"]["made"], event["detail"]["has_a_run"]) == (4, 1)
    # The slots of 14 and 15 were not looked at by a tick yet, and have their runs all the same.
    tick(jobrunner)
    assert slots_with_runs(database, "n") == [utc(2026, 5, 1, hour) for hour in range(11, 16)]


@pytest.mark.promise("P3")
def test_backfills_and_ticks_at_once_make_each_slot_once(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    add(jobrunner, "*/10 * * * *", "--misfire", "all")
    go_to(database, utc(2026, 5, 1, 14, 5))
    words = ["schedule", "backfill", "n", "--since", "2026-05-01T10:00:00Z", "--until", "2026-05-01T14:00:00Z"]
    started = [jobrunner.start(*words) for _ in range(4)]
    started += [jobrunner.start("tick", env=NO_HANDLERS) for _ in range(2)]
    ends = [process.communicate(timeout=90) for process in started]
    assert [process.returncode for process in started] == [0] * len(started), ends
    assert slots_with_runs(database, "n") == [utc(2026, 5, 1, 10) + timedelta(minutes=10 * n) for n in range(25)]


@pytest.mark.promise("P3")
def test_backfills_that_waited_for_each_other_make_each_slot_once(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    add(jobrunner, "@hourly")
    words = ["schedule", "backfill", "n", "--since", "2026-05-01T08:00:00Z", "--until", "2026-05-01T12:00:00Z"]
    with locked_definition(database, "n"):
        started = [jobrunner.start(*words) for _ in range(3)]
        wait_for_lock(database, len(started))
    ends = [process.communicate(timeout=90) for process in started]
    assert [process.returncode for process in started] == [0] * 3, ends
    assert sorted(end[0].splitlines()[-1] for end in ends) == ["5 has a run", "5 has a run", "5 made"]
    assert slots_with_runs(database, "n") == [utc(2026, 5, 1, hour) for hour in range(8, 13)]


@pytest.mark.promise("P3")
def test_slot_whose_run_may_be_pruned_is_unknown_without_again(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1))
    add(jobrunner, "@daily", "--overlap", "allow")
    for day in (2, 3):
        go_to(database, utc(2026, 5, day, 0, 0, 1))
        jobrunner.tick()
    go_to(database, utc(2026, 5, 12, 6))
    jobrunner.tick()  # prunes what has succeeded for more than seven days
    span = ("2026-05-02T00:00:00Z", "2026-05-07T00:00:00Z")
    found = backfill(jobrunner, *span)
    assert answers(found) == ["unknown"] * 4 + ["made"] * 2
    told = jobrunner("schedule", "backfill", "n", "--since", span[0], "--until", span[1])
    assert "older than 7d" in told.stdout
    assert "--again" in told.stdout
    assert answers(backfill(jobrunner, *span, "--again")) == ["made"] * 6
    assert answers(backfill(jobrunner, *span)) == ["has a run"] * 6


@pytest.mark.promise("P3")
def test_backfill_again_makes_a_second_run_of_a_slot(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    add(jobrunner, "@hourly")
    go_to(database, utc(2026, 5, 1, 13, 0, 1))
    jobrunner.tick()
    span = ("2026-05-01T13:00:00Z", "2026-05-01T13:00:00Z")
    backfill(jobrunner, *span, "--again")
    jobrunner.tick()
    rows = database.query("SELECT scheduled_for, origin, status FROM job_runs ORDER BY id")
    slot = utc(2026, 5, 1, 13)
    assert rows == [
        {"scheduled_for": slot, "origin": "slot", "status": "succeeded"},
        {"scheduled_for": slot, "origin": "again", "status": "succeeded"},
    ]
    assert answers(backfill(jobrunner, *span)) == ["has a run"]


def test_backfilled_runs_come_one_after_another_the_oldest_first(
    jobrunner: Commands, app: App, database: Database
) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    add(jobrunner, "@hourly", job_type="append")
    found = backfill(jobrunner, "2026-05-01T08:00:00Z", "2026-05-01T12:00:00Z")
    jobrunner.tick("--concurrency", "4")
    assert [line.run_id for line in app.trace()] == [row["run_id"] for row in found]
    runs = [jobrunner.show(row["run_id"]) for row in found]
    ends = [datetime.fromisoformat(run["finished_at"]) for run in runs]
    begins = [datetime.fromisoformat(run["started_at"]) for run in runs]
    assert all(end <= begin for end, begin in zip(ends, begins[1:], strict=False))


def test_backfill_of_more_slots_than_most_is_refused_with_the_remedy(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 3))
    add(jobrunner, "* * * * *")
    words = ["schedule", "backfill", "n", "--since", "2026-05-01T00:00:00Z", "--until", "2026-05-01T16:40:00Z"]
    jobrunner.refused(2, *words, says=["1001", "--limit 1001"])
    assert database.value("SELECT count(*) FROM job_runs") == 0
    done = jobrunner(*words, "--limit", "1001")
    assert done.stdout.splitlines()[-1] == "1001 made"
    assert database.value("SELECT count(DISTINCT scheduled_for) FROM job_runs") == 1001


def test_a_full_queue_refuses_a_backfill_as_a_whole(jobrunner: Commands, app: App, database: Database) -> None:
    app.add('@job("few", max_waiting=3)\ndef few(ctx: Context):\n    pass\n')
    jobrunner("enqueue", "few")
    go_to(database, utc(2026, 5, 1, 12))
    add(jobrunner, "@hourly", job_type="few")
    words = ["schedule", "backfill", "n", "--since", "2026-05-01T09:00:00Z", "--until", "2026-05-01T11:00:00Z"]
    assert "max_waiting" in jobrunner.refused(1, *words)
    assert slots_with_runs(database, "n") == []
    assert database.query("SELECT id FROM job_events WHERE action = 'backfill schedule'") == []
    jobrunner(*words[:-1], "2026-05-01T10:00:00Z")
    assert jobrunner("schedule", "trigger", "n", check=False).returncode == 1
    assert database.value("SELECT count(*) FROM job_runs") == 3


@pytest.mark.promise("P12")
def test_backfill_reports_runs_dropped_by_a_full_queue(jobrunner: Commands, app: App, database: Database) -> None:
    app.add('@job("few", max_waiting=2, when_full="drop")\ndef few(ctx: Context):\n    pass\n')
    jobrunner("enqueue", "few")
    go_to(database, utc(2026, 5, 1, 12))
    add(jobrunner, "@hourly", job_type="few")
    assert answers(backfill(jobrunner, "2026-05-01T09:00:00Z", "2026-05-01T11:00:00Z")) == ["made", *["dropped"] * 2]
    assert jobrunner("schedule", "trigger", "n").stdout == ""
    dropped = {"id": None, "created": False, "replaced": False, "dropped": True}
    assert jobrunner("schedule", "trigger", "n", "--json").json() == dropped
    assert slots_with_runs(database, "n") == [utc(2026, 5, 1, 9)]
    assert database.value("SELECT dropped FROM job_types") == 4
    details = [row["detail"] for row in database.query("SELECT detail FROM job_events ORDER BY id")][1:]
    assert (details[0]["made"], details[0]["dropped"], details[1:]) == (1, 2, [{"dropped": True}] * 2)


def test_times_of_a_backfill_are_counted_back_from_the_databases_now(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12, 30))
    add(jobrunner, "@hourly")
    jobrunner("schedule", "backfill", "n", "--since", "4h", "--until", "2h")
    assert slots_with_runs(database, "n") == [utc(2026, 5, 1, 9), utc(2026, 5, 1, 10)]


BAD = {
    "the future": ["--since", "2026-05-01T00:00:00Z", "--until", "2099-01-01T00:00:00Z"],
    "backwards": ["--since", "2026-05-01T00:00:00Z", "--until", "2026-04-01T00:00:00Z"],
    "no offset": ["--since", "2026-05-01T00:00:00", "--until", "2026-05-02T00:00:00Z"],
    "a relative time": ["--since", "+5m", "--until", "2026-05-02T00:00:00Z"],
    "no end": ["--since", "2026-05-01T00:00:00Z"],
    "too many": ["--since", "2026-05-01T00:00:00Z", "--until", "2026-05-02T00:00:00Z", "--limit", "100001"],
}


@pytest.mark.parametrize("words", BAD.values(), ids=BAD.keys())
def test_a_bad_span_is_refused_in_one_line(jobrunner: Commands, database: Database, words: list[str]) -> None:
    go_to(database, utc(2026, 5, 3))
    add(jobrunner, "@hourly")
    jobrunner.refused(2, "schedule", "backfill", "n", *words)
    assert database.value("SELECT count(*) FROM job_runs") == 0


def test_span_without_slots_and_ended_schedule_backfill_nothing(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    add(jobrunner, "@hourly", "--ends-at", "2026-05-01T09:30:00Z")
    words = ["schedule", "backfill", "n", "--since", "2026-05-01T09:01:00Z", "--until", "2026-05-01T11:00:00Z"]
    assert jobrunner(*words).stdout == "no slot lies between them\n"
    assert database.value("SELECT count(*) FROM job_runs") == 0


@pytest.mark.promise("P12")
def test_backfill_queues_a_slot_again_whose_run_was_cancelled(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    add(jobrunner, "@hourly", "--overlap", "replace")
    for hour in (13, 14):
        go_to(database, utc(2026, 5, 1, hour, 0, 1))
        tick(jobrunner)
    replaced, _ = (row["id"] for row in database.query("SELECT id FROM job_runs ORDER BY id"))
    span = ("2026-05-01T13:00:00Z", "2026-05-01T14:00:00Z")
    assert answers(backfill(jobrunner, *span, "--dry-run")) == ["would be retried", "has a run"]
    done = backfill(jobrunner, *span)
    assert [(row["answer"], row["run_id"]) for row in done[:1]] == [("retried", replaced)]
    assert answers(backfill(jobrunner, *span)) == ["has a run"] * 2
    go_to(database, utc(2026, 5, 1, 15, 0, 1))
    tick(jobrunner)
    rows = database.query("SELECT status, origin FROM job_runs ORDER BY id")
    assert [tuple(row.values()) for row in rows] == [("queued", "backfill"), ("cancelled", "slot"), ("queued", "slot")]
    actions = [row["action"] for row in database.query("SELECT action FROM job_events WHERE run_id = ?", [replaced])]
    assert actions == ["replace", "retry"]
