"""Slots whose time passed without a tick: the misfire policy decides about them, and each is recorded."""

import json
from datetime import datetime, timedelta

import pytest

from harness import App, Commands, Database
from harness.backpressure import limit
from harness.slots import NO_HANDLERS, expand, go_to, skipped_ranges, slots_with_runs, utc

NOON = utc(2026, 5, 1, 12)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)

LATE = """
@job("late")
def late(ctx: Context):
    with open(os.environ["TRACE_FILE"], "a") as trace:
        trace.write(f"{ctx.scheduled_for.isoformat()} {ctx.lateness.total_seconds():.0f}\\n")
"""


def add(jobrunner: Commands, *options: str, name: str = "s", job_type: str = "append", cron: str) -> None:
    jobrunner("schedule", "add", name, "--type", job_type, "--schedule", cron, *options)


def reasons(database: Database) -> list[tuple[str, int]]:
    rows = database.query("SELECT detail FROM job_events WHERE action = 'skip slots' ORDER BY id")
    return [(row["detail"]["reason"], row["detail"]["count"]) for row in rows]


def at_once(jobrunner: Commands, count: int, **env: str | None) -> None:
    ticks = [jobrunner.start("tick", env={"JOBRUNNER_HOST": f"host{n % 4}", **env}) for n in range(count)]
    assert [(*tick.communicate(timeout=110), tick.returncode) for tick in ticks] == [("", "", 0)] * count


def slots(first: datetime, step: timedelta, count: int) -> list[datetime]:
    return [first + n * step for n in range(count)]


@pytest.mark.promise("P3", "P12")
def test_a_machine_that_slept_three_hours_catches_up_in_order(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """All of them, one after another in one tick; each run knows its slot and how late it is."""
    app.add(LATE)
    go_to(database, NOON)
    add(jobrunner, "--misfire", "all", job_type="late", cron="*/15 * * * *")
    go_to(database, NOON + 3 * HOUR)
    assert jobrunner.tick().stderr == ""
    wanted = slots(NOON + 15 * MINUTE, 15 * MINUTE, 12)
    lines = [line.split() for line in app.trace_file.read_text().splitlines()]
    assert [datetime.fromisoformat(slot) for slot, _ in lines] == wanted
    for slot, (_, late) in zip(wanted, lines, strict=True):
        assert timedelta(0) <= timedelta(seconds=int(late)) - (NOON + 3 * HOUR - slot) < MINUTE
    assert reasons(database) == []


@pytest.mark.parametrize(
    ("policy", "made", "told"),
    [
        ("latest", [NOON + 3 * HOUR], [("misfire", 2)]),
        ("skip", [], [("misfire", 3)]),
        ("all", slots(NOON + HOUR, HOUR, 3), []),
    ],
)
@pytest.mark.promise("P12")
def test_each_misfire_policy_after_the_same_outage(
    jobrunner: Commands, database: Database, policy: str, made: list[datetime], told: list[tuple[str, int]]
) -> None:
    go_to(database, NOON)
    add(jobrunner, "--misfire", policy, cron="@hourly")
    go_to(database, NOON + 3 * HOUR + 5 * MINUTE)
    for _ in range(2):
        jobrunner.tick(env=NO_HANDLERS)
    assert slots_with_runs(database, "s") == made
    assert reasons(database) == told


def test_misfire_skip_skips_late_slots_but_not_those_of_this_minute(jobrunner: Commands, database: Database) -> None:
    go_to(database, NOON)
    add(jobrunner, "--misfire", "skip", "--overlap", "allow", cron="@hourly")
    for late in (timedelta(seconds=59), 2 * MINUTE, 3 * MINUTE):
        expand(jobrunner, database.now().replace(minute=0, second=0, microsecond=0) + HOUR + late)
    assert slots_with_runs(database, "s") == [NOON + HOUR]
    assert skipped_ranges(database, "s") == [(NOON + n * HOUR, NOON + n * HOUR, 1) for n in (2, 3)]


@pytest.mark.promise("P3", "P12")
def test_minutely_schedule_after_thirty_days_makes_limited_runs_and_records_the_rest(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """43 200 slots: the newest hundred get runs, the others are one row. And the tick is no longer for it."""
    go_to(database, NOON)
    add(jobrunner, "--misfire", "all", cron="* * * * *", name="all")
    add(jobrunner, cron="* * * * *", name="latest")
    end = NOON + timedelta(days=30)
    go_to(database, end)
    log = app.path("log")
    jobrunner.tick(env={**NO_HANDLERS, "JOBRUNNER_LOG": str(log)})
    assert slots_with_runs(database, "all") == slots(end - 99 * MINUTE, MINUTE, 100)
    assert skipped_ranges(database, "all") == [(NOON + MINUTE, end - 100 * MINUTE, 43_100)]
    assert slots_with_runs(database, "latest") == [end]
    assert skipped_ranges(database, "latest") == [(NOON + MINUTE, end - MINUTE, 43_199)]
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert sorted(line["slots"] for line in lines if line["event"] == "skipped") == [43_100, 43_199]
    (seconds,) = [line["seconds"] for line in lines if line["event"] == "tick"]
    # Measured: 0.1 s.
    assert seconds < 5


@pytest.mark.timeout(240)
@pytest.mark.promise("P3")
def test_twenty_ticks_at_once_on_several_hosts_make_each_slot_once(
    jobrunner: Commands, app: App, database: Database
) -> None:
    go_to(database, NOON)
    add(jobrunner, "--misfire", "all", "--overlap", "allow", cron="*/10 * * * *", name="side by side")
    add(jobrunner, "--misfire", "all", "--overlap", "queue", cron="*/10 * * * *", name="queued")
    add(jobrunner, "--overlap", "replace", cron="*/10 * * * *", name="replaced")
    go_to(database, NOON + 2 * HOUR + MINUTE)
    at_once(jobrunner, 20)
    jobrunner.tick()
    every = slots(NOON + 10 * MINUTE, 10 * MINUTE, 12)
    assert slots_with_runs(database, "side by side") == slots_with_runs(database, "queued") == every
    assert slots_with_runs(database, "replaced") == every[-1:]
    assert len({line.run_id for line in app.trace()}) == len(app.trace()) == 25
    assert [row["runs_made"] for row in database.query("SELECT runs_made FROM job_definitions ORDER BY id")] == [
        12,
        12,
        1,
    ]


@pytest.mark.promise("P3")
def test_watermark_set_back_by_hand_creates_no_second_run(jobrunner: Commands, app: App, database: Database) -> None:
    """What has its run is counted as such; what has none is made up for."""
    go_to(database, NOON)
    add(jobrunner, "--misfire", "all", "--overlap", "allow", cron="@hourly")
    expand(jobrunner, NOON + 5 * HOUR)
    before = slots_with_runs(database, "s")
    assert len(before) == 5
    database.execute("DELETE FROM job_runs WHERE scheduled_for = ?", [before[2]])
    database.execute("UPDATE job_definitions SET last_slot_at = ?, next_run_at = ?", [NOON, NOON])
    log = app.path("log")
    done = jobrunner.tick(env={**NO_HANDLERS, "JOBRUNNER_LOG": str(log)})
    assert (done.stdout, done.stderr) == ("", "")
    assert slots_with_runs(database, "s") == before
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["slots"] for line in lines if line.get("result") == "had their runs already"] == [4]
    (row,) = database.query("SELECT runs_made, last_slot_at, last_error FROM job_definitions")
    assert row == {"runs_made": 6, "last_slot_at": NOON + 5 * HOUR, "last_error": None}


@pytest.mark.promise("P3")
def test_slot_that_has_its_run_already_does_not_count_for_max_runs(jobrunner: Commands, database: Database) -> None:
    """Two of two are asked for, but one has its run already: the schedule goes on until it has had its number."""
    go_to(database, NOON)
    add(jobrunner, "--misfire", "all", "--overlap", "allow", "--max-runs", "3", cron="@hourly")
    expand(jobrunner, NOON + HOUR)
    database.execute("UPDATE job_definitions SET last_slot_at = ?, next_run_at = ?", [NOON, NOON])
    for hour in (2, 3):
        expand(jobrunner, NOON + hour * HOUR)
    assert slots_with_runs(database, "s") == slots(NOON + HOUR, HOUR, 3)
    ended = database.query("SELECT detail FROM job_events WHERE action = 'schedule ended'")
    assert [row["detail"] for row in ended] == [{"reason": "max_runs", "runs_made": 3}]


@pytest.mark.promise("P3")
def test_count_for_max_runs_stays_after_runs_are_deleted(jobrunner: Commands, database: Database) -> None:
    go_to(database, NOON)
    add(jobrunner, "--max-runs", "2", cron="@hourly")
    for hour in range(1, 5):
        expand(jobrunner, NOON + hour * HOUR)
        database.execute("DELETE FROM job_runs")
    assert database.value("SELECT runs_made FROM job_definitions") == 2
    rows = database.query("SELECT at FROM job_events WHERE action = 'schedule ended'")
    assert [row["at"].hour for row in rows] == [14]


def test_newest_missed_slots_get_the_free_places_of_a_full_type(jobrunner: Commands, database: Database) -> None:
    go_to(database, NOON)
    limit(database, "append", 3)
    add(jobrunner, "--misfire", "all", cron="@hourly")
    expand(jobrunner, NOON + 8 * HOUR)
    assert slots_with_runs(database, "s") == slots(NOON + 6 * HOUR, HOUR, 3)
    assert skipped_ranges(database, "s") == [(NOON + HOUR, NOON + 5 * HOUR, 5)]
    assert reasons(database) == [("max_waiting", 5)]


def test_jitter_differs_between_names_and_is_constant_for_one_name(jobrunner: Commands, database: Database) -> None:
    go_to(database, NOON)
    for name in ("one", "two", "three"):
        add(jobrunner, "--jitter", "30m", "--start-deadline", "5h", "--overlap", "allow", cron="@hourly", name=name)
    for hour in (1, 2):
        expand(jobrunner, NOON + hour * HOUR)
    rows = database.query("SELECT definition_id, run_at, scheduled_for, start_deadline_at FROM job_runs")
    offsets = {(row["definition_id"], row["run_at"] - row["scheduled_for"]) for row in rows}
    assert len(rows) == 6
    assert len(offsets) == len({offset for _, offset in offsets}) == 3
    assert all(timedelta(0) <= offset < 30 * MINUTE for _, offset in offsets)
    assert all(row["start_deadline_at"] - row["run_at"] == 5 * HOUR for row in rows)
