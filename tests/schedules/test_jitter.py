"""Jitter delays a run after its slot; it must not stop the schedule or count as an overlap."""

from datetime import timedelta

import pytest

from harness import Commands, Database
from harness.slots import expand, go_to, skipped_ranges, slots_with_runs, utc
from jobrunner.model import Definition, SlotPolicy
from jobrunner.schedules.slot_plan import jitter_offset

NOON = utc(2026, 5, 1, 12)
MINUTE, SECOND = timedelta(minutes=1), timedelta(seconds=1)
TICK_AFTER = 2 * SECOND


def offset_of(name: str, jitter: timedelta) -> timedelta:
    policy = SlotPolicy(jitter=jitter)
    return jitter_offset(Definition(1, name, "echo", {}, "* * * * *", "UTC", NOON, None, policy=policy))


def work(database: Database) -> None:
    """What a tick does after it has expanded: the runs that are due end."""
    now = database.now()
    database.execute(
        "UPDATE job_runs SET status = 'succeeded', started_at = ?, finished_at = ?, attempts = 1"
        " WHERE status = 'queued' AND run_at <= ?",
        [now, now, now],
    )


@pytest.mark.promise("P3", "P12")
def test_a_schedule_whose_jitter_reaches_beyond_the_tick_runs_at_every_slot(
    jobrunner: Commands, database: Database
) -> None:
    """Its run becomes due between two ticks, and the next one meets the next slot first."""
    go_to(database, NOON + TICK_AFTER)
    jitters = {"skip": "30s", "queue": "60s", "replace": "45s"}
    for overlap, jitter in jitters.items():
        length = timedelta(seconds=int(jitter[:-1]))
        name = next(f"{overlap}{n}" for n in range(99) if offset_of(f"{overlap}{n}", length) > length * 0.7)
        words = ["--cron", "* * * * *", "--overlap", overlap, "--jitter", jitter]
        jobrunner("schedule", "add", name, "--type", "echo", *words)
    names = [row["name"] for row in database.query("SELECT name FROM job_definitions")]
    for minute in range(1, 5):
        expand(jobrunner, NOON + minute * MINUTE + TICK_AFTER)
        work(database)
    for name in names:
        assert slots_with_runs(database, name) == [NOON + n * MINUTE for n in range(1, 5)], name
        assert skipped_ranges(database, name) == [], name
    # The last one of each waits still.
    rows = database.query("SELECT status, count(*) AS n FROM job_runs GROUP BY status ORDER BY status")
    assert [(row["status"], row["n"]) for row in rows] == [("queued", 3), ("succeeded", 9)]


@pytest.mark.promise("P12")
def test_runs_of_an_unserved_type_do_not_accumulate_with_jitter(jobrunner: Commands, database: Database) -> None:
    """Whatever the overlap: at most the run of the last slot waits behind an older one."""
    go_to(database, NOON + TICK_AFTER)
    for overlap in ("skip", "queue", "replace"):
        words = ["--cron", "* * * * *", "--overlap", overlap, "--jitter", "60s"]
        jobrunner("schedule", "add", overlap, "--type", "echo", *words)
    for minute in range(1, 5):
        expand(jobrunner, NOON + minute * MINUTE + TICK_AFTER)
        rows = database.query("SELECT count(*) AS n FROM job_runs WHERE status = 'queued' GROUP BY definition_id")
        assert all(row["n"] <= 2 for row in rows)
    for overlap in ("skip", "queue"):
        assert sum(count for *_, count in skipped_ranges(database, overlap)) >= 2
    assert database.value("SELECT count(*) AS n FROM job_runs WHERE status = 'cancelled'") > 0
