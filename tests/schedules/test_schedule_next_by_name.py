"""`jobrunner schedule next NAME`: shows the slots that the next ticks will expand, with the schedule's options."""

from datetime import datetime, timedelta

from harness import Commands, Database
from harness.slots import expand, go_to, slots_with_runs, utc

BERLIN = ("--timezone", "Europe/Berlin")


def add(jobrunner: Commands, name: str, *words: object) -> None:
    jobrunner("schedule", "add", name, "--type", "echo", "--cron", "30 2 * * *", *BERLIN, *words)


def test_schedule_next_by_name_shows_the_slots_that_ticks_expand(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 3, 28))
    add(jobrunner, "nightly report")
    found = jobrunner("schedule", "next", "nightly report", "-n", 3, "--json").json()
    assert [set(each) for each in found] == [{"scheduled_for", "local", "run_at"}] * 3
    slots = [datetime.fromisoformat(each["scheduled_for"]) for each in found]
    assert slots == [utc(2026, 3, 28, 1, 30), utc(2026, 3, 29, 1), utc(2026, 3, 30, 0, 30)]
    for slot in slots:
        expand(jobrunner, slot + timedelta(seconds=1))
        # Were it still there, the next one would be passed over.
        database.execute("UPDATE job_runs SET status = 'cancelled', finished_at = created_at")
    assert slots_with_runs(database, "nightly report") == slots


def test_schedule_next_by_name_respects_limits_and_jitter(jobrunner: Commands, database: Database) -> None:
    go_to(database, utc(2026, 3, 28))
    add(jobrunner, "twice", "--max-runs", 2)
    add(jobrunner, "ends", "--ends-at", "2026-03-29T12:00:00Z")
    add(jobrunner, "jittery", "--jitter", "30m")
    for name, told in (
        ("twice", "at most 2 runs, of which 0 were made"),
        ("ends", "no slots after 2026-03-29 12:00:00Z"),
    ):
        assert len(jobrunner("schedule", "next", name, "--json").json()) == 2
        assert told in jobrunner("schedule", "next", name).stdout
    (found,) = jobrunner("schedule", "next", "jittery", "-n", 1, "--json").json()
    assert found["scheduled_for"] == "2026-03-28T01:30:00Z"
    expand(jobrunner, utc(2026, 3, 28, 1, 30, 5))
    run_at = database.value(
        "SELECT r.run_at FROM job_runs r JOIN job_definitions d ON d.id = r.definition_id WHERE d.name = 'jittery'"
    )
    assert datetime.fromisoformat(found["run_at"]) == run_at
    assert "RUN AT" in jobrunner("schedule", "next", "jittery").stdout


def test_schedule_next_reports_a_paused_schedule(jobrunner: Commands, database: Database) -> None:
    add(jobrunner, "nightly")
    jobrunner("schedule", "pause", "nightly")
    assert "no slot makes a run until it is resumed" in jobrunner("schedule", "next", "nightly").stdout


def test_schedule_next_names_an_unknown_schedule(jobrunner: Commands, database: Database) -> None:
    add(jobrunner, "nightly")
    jobrunner.refused(1, "schedule", "next", "nightli", says=["'nightli'", "did you mean 'nightly'?"])
    jobrunner("schedule", "remove", "nightly")
    jobrunner.refused(1, "schedule", "next", "nightly", says=["'nightly'"])


def test_schedule_next_reports_an_unreadable_schedule(jobrunner: Commands, database: Database) -> None:
    add(jobrunner, "nightly")
    database.execute("UPDATE job_definitions SET timezone = 'Mars/Olympus'")
    told = "the schedule 'nightly' cannot be read: bad time zone 'Mars/Olympus'"
    jobrunner.refused(1, "schedule", "next", "nightly", says=[told])
