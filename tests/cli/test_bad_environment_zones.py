"""The time zone database: of the system, of Python's package, of neither."""

from datetime import timedelta
from pathlib import Path

import pytest

from harness import App, Commands, Database
from harness.environments import COMMANDS, check_exit, check_exits, letters, run_in
from harness.slots import NO_HANDLERS, go_to, skipped_ranges, slots_with_runs, utc

PACKAGE_ONLY = {"PYTHONTZPATH": ""}
LETTER = ["--type", "letters", "--payload", '{"name": "x"}', "--cron", "0 * * * *"]
BERLIN = [*LETTER, "--timezone", "Europe/Berlin"]


@pytest.fixture
def neither(tmp_path: Path) -> dict[str, str]:
    """A Debian without tzdata and an installation without the package of that name."""
    hook = tmp_path / "hook"
    hook.mkdir()
    (hook / "sitecustomize.py").write_text("import sys\nsys.modules['tzdata'] = None\n")
    return {"PYTHONTZPATH": "/nonexistent", "PYTHONPATH": str(hook)}


def add(jobrunner: Commands, name: str, *words: str, env: dict[str, str]) -> str:
    done = run_in(jobrunner, 'exec "$@"', "schedule", "add", name, *words, env=env)
    check_exit(done, 2 if done.returncode else 0)
    return done.stdout + done.stderr


def test_tzdata_package_alone_is_enough(jobrunner: Commands, app: App, database: Database) -> None:
    letters(app)
    assert "next slot" in add(jobrunner, "hourly", *BERLIN, env=PACKAGE_ONLY)
    check_exits(jobrunner, env=PACKAGE_ONLY)
    assert database.query("SELECT last_error FROM job_definitions") == [{"last_error": None}]


def test_a_host_without_a_time_zone_database_says_what_to_install(
    jobrunner: Commands, database: Database, neither: dict[str, str]
) -> None:
    told = add(jobrunner, "hourly", *BERLIN, env=neither)
    assert "no time zone database" in told
    assert "install the package tzdata" in told
    assert database.query("SELECT id FROM job_definitions") == []


def test_utc_needs_no_time_zone_database(
    jobrunner: Commands, app: App, database: Database, neither: dict[str, str]
) -> None:
    letters(app)
    assert "next slot" in add(jobrunner, "hourly", *LETTER, env=neither)
    check_exits(jobrunner, env=neither)
    database.move_clock(timedelta(hours=1))
    check_exit(run_in(jobrunner, 'exec "$@"', "tick", env=neither), 0)
    assert len(slots_with_runs(database, "hourly")) == 1
    assert database.query("SELECT last_error FROM job_definitions") == [{"last_error": None}]


@pytest.mark.promise("P12")
def test_lost_time_zone_database_loses_no_slot(
    jobrunner: Commands, app: App, database: Database, neither: dict[str, str]
) -> None:
    """The problem is shown, the other schedules go on, and once it is back the slots are caught up."""
    letters(app)
    go_to(database, utc(2026, 5, 1, 12))
    # No tick ends a run here, and a slot is not to be passed over for that.
    jobrunner("schedule", "add", "berlin", *BERLIN, "--overlap", "allow")
    jobrunner("schedule", "add", "plain", *LETTER, "--overlap", "allow")
    for hour in (13, 14):
        go_to(database, utc(2026, 5, 1, hour, 0, 1))
        check_exit(run_in(jobrunner, 'exec "$@"', "tick", env=neither | NO_HANDLERS), 0)
    assert slots_with_runs(database, "plain") == [utc(2026, 5, 1, 13), utc(2026, 5, 1, 14)]
    assert slots_with_runs(database, "berlin") == []
    for name in ("schedule list", "status"):
        done = run_in(jobrunner, 'exec "$@"', *COMMANDS[name], env=neither)
        check_exit(done, 0)
        # status says it first among what is wrong, and then beside the schedule.
        assert done.stdout.count("no time zone database") == (2 if name == "status" else 1)
    jobrunner.tick(env=NO_HANDLERS)
    assert slots_with_runs(database, "berlin") == [utc(2026, 5, 1, 14)]
    assert skipped_ranges(database, "berlin") == [(utc(2026, 5, 1, 13), utc(2026, 5, 1, 13), 1)]
    assert "no time zone database" not in jobrunner("schedule", "list").stdout
