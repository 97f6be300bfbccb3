"""What each check of doctor finds wrong, and its cure: a row for each place in the code that says so, in its order.

A row is planted here, or it names the test that plants it and does what the remedy says, or it says why a test cannot.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeAlias

from harness.clinic import Clinic
from harness.database import SQLiteDatabase
from harness.handlers_rows import queue
from harness.remedies import Elsewhere
from jobrunner.store.sql.versions import SCHEMA_REVISION

Act: TypeAlias = Callable[[Clinic], object]
Environment: TypeAlias = Mapping[str, str | None]


@dataclass(frozen=True)
class Planted:
    """A cause: ``plant`` makes it, in an environment that ``env`` changes. ``names`` are words of the remedy.

    ``act`` does what the remedy says; None: its first part is executed as it is printed. ``said`` are words of what is
    found: such a row is tried in every run, but for its remedy.
    """

    name: str
    plant: Act
    names: tuple[str, ...] = ()
    act: Act | None = None
    verdict: str = "wrong"
    env: Callable[[Clinic], Environment] = field(default=lambda _: {})
    on: str = "sqlite postgresql"
    said: str = ""


@dataclass(frozen=True)
class NotHere:
    """Why no test can plant it."""

    why: str


def execute(clinic: Clinic, remedy: str, env: Environment) -> None:
    """The first thing that a remedy says, as it is printed: a command of jobrunner, or of the system."""
    first = remedy.partition("; ")[0].partition(", which runs:")[0]
    words = first.split()
    if words[0] == "jobrunner":
        clinic.jobrunner(*words[1:], env=env)
    else:
        given = {name: value for name, value in env.items() if value is not None}
        subprocess.run(words, check=True, env=os.environ | given)


def nothing(_: Clinic) -> None:
    """The cause is in the environment, and so is its end."""


def file_of(clinic: Clinic) -> SQLiteDatabase:
    assert isinstance(clinic.database, SQLiteDatabase)
    return clinic.database


def misfit(clinic: Clinic) -> None:
    clinic.jobrunner("schedule", "add", "nap", "--type", "sleep", "--cron", "@daily", "--payload", '{"seconds": 1}')
    clinic.database.execute("UPDATE job_definitions SET payload = '{\"minutes\": 1}'")


def unknown_schedule(clinic: Clinic) -> None:
    clinic.jobrunner("schedule", "add", "nightly", "--type", "gone", "--cron", "@daily", "--allow-unknown")


def broken_schedule(clinic: Clinic) -> None:
    clinic.jobrunner("schedule", "add", "nightly", "--type", "echo", "--cron", "@daily")
    clinic.database.execute("UPDATE job_definitions SET last_error = 'no time zone Mars', timezone = 'Mars'")


def old_ticks(clinic: Clinic) -> None:
    clinic.database.execute("UPDATE job_ticks SET started_at = ?", [clinic.database.now() - timedelta(hours=35)])


def ticks_ahead(clinic: Clinic) -> None:
    clinic.database.execute("UPDATE job_ticks SET started_at = ?", [clinic.database.now() + timedelta(days=2)])


def set_clock(clinic: Clinic) -> None:
    """The ticks of the future are those of now."""
    clinic.database.execute("UPDATE job_ticks SET started_at = ?", [clinic.database.now()])


def drifted(clinic: Clinic) -> None:
    clinic.database.execute("DROP INDEX job_runs_due")
    clinic.database.execute("DROP VIEW job_dead")


def begin_anew(clinic: Clinic) -> None:
    """What the remedy says of who has no backup."""
    (check,) = [each for each in clinic.examine("--no-crontab")[1] if each["name"] == "schema"]
    for words in check["remedy"].partition("begin again with empty tables: ")[2].split(", then "):
        clinic.jobrunner(*words.split()[1:])


def tick(clinic: Clinic) -> None:
    clinic.jobrunner.tick()


STARTED_BY = ("crontab", "jobrunner loop", "timer of systemd", "host name that it uses")

_CRON = Elsewhere("test_doctor_cron.py::test_doctor_tries_the_crontab_line_with_crons_own_environment")
_STANDBY = "test_doctor_standby.py::"
CHECKED: dict[str, list[Planted | Elsewhere | NotHere]] = {
    "compiled.check": [
        Elsewhere("test_doctor.py::test_doctor_finds_code_that_each_start_compiles_anew_and_its_remedy_compiles_it")
    ],
    "cron._compared": [
        _CRON,
        NotHere("the remedy is that of the check that failed under cron"),
        _CRON,
    ],
    "cron.lines": [NotHere("the crontab of this user is refused by the system only")],
    "cron.about": [_CRON, NotHere("a line of another user needs that user"), _CRON],
    "cron.__init__": [NotHere("a line that only a shell can read"), NotHere("a path that only cron has")],
    "cron.compare": [NotHere("a module that is imported for twenty seconds")],
    "cron._not_answered": [_CRON, NotHere("a program that prints what is no JSON")],
    "database.reachable": [
        Planted(
            "database",
            nothing,
            ("jobrunner migrate", "JOBRUNNER_DATABASE_URL"),
            env=lambda clinic: {"JOBRUNNER_DATABASE_URL": f"sqlite:///{clinic.folder}/other.db"},
        )
    ],
    "database.unusable": [
        Elsewhere("test_causes.py::test_a_locked_table_is_told_by_doctor_as_locked_and_not_as_a_wrong_schema")
    ],
    "database._integrity": [
        Elsewhere(
            "test_restored_file.py::"
            "test_backup_moved_over_the_file_beside_an_old_log_is_told_by_each_tick_doctor_and_health"
        )
    ],
    "database._file": [
        Planted(
            "journal",
            lambda clinic: clinic.database.execute("PRAGMA journal_mode = DELETE"),
            ("jobrunner migrate",),
            on="sqlite",
        ),
        NotHere("a file with a hundred empty megabytes"),
    ],
    "database._server": [
        Elsewhere(f"{_STANDBY}test_doctor_tells_which_standby_there_is_and_what_a_promotion_of_it_costs"),
        NotHere("the server of the tests has no autovacuum, and other tests need it so"),
    ],
    "database.schema": [
        Planted(
            "schema",
            lambda clinic: clinic.database.execute("DROP TABLE job_totals"),
            ("restore them from a backup",),
            begin_anew,
            said="job_totals",
        ),
        Planted(
            "schema",
            drifted,
            ("CREATE INDEX job_runs_due", "CREATE VIEW job_dead"),
            said="index job_runs_due, view job_dead",
        ),
    ],
    "database.slices": [
        Planted(
            "schema",
            lambda clinic: clinic.database.execute(f"UPDATE job_state SET unfinished = '{SCHEMA_REVISION:04}'"),
            verdict="warning",
            said="has not changed all rows yet",
        )
    ],
    "database.clocks": [
        Planted(
            "clock",
            ticks_ahead,
            ("the database's clock", "jobrunner schedule resume"),
            set_clock,
            said="a clock was ahead",
        ),
        Planted(
            "clock",
            lambda clinic: clinic.database.move_clock(timedelta(minutes=7)),
            ("NTP",),
            lambda clinic: clinic.database.move_clock(timedelta(minutes=-7)),
            said="7m behind the database",
        ),
    ],
    "database.storage": [
        Elsewhere("test_doctor_database.py::test_doctor_finds_tables_that_are_never_vacuumed"),
        NotHere("a hundred thousand dead rows"),
    ],
    "database.old_snapshots": [
        Elsewhere("test_snapshots.py::test_session_that_holds_a_snapshot_is_named_and_one_that_holds_none_is_not"),
    ],
    "database.locks": [
        Elsewhere("test_lockers.py::test_the_process_that_holds_the_write_lock_of_a_file_is_named"),
    ],
    "database._session": [
        NotHere("a prepared transaction of ten minutes"),
        Elsewhere("test_doctor_database.py::test_doctor_names_the_session_that_holds_our_rows"),
        NotHere("a transaction of ten minutes"),
    ],
    "examine._of_files": [
        Planted(
            "state folder",
            nothing,
            ("JOBRUNNER_STATE_DIR",),
            nothing,
            env=lambda _: {"JOBRUNNER_STATE_DIR": "/dev/null/x"},
        )
    ],
    "examine._host_time_zone": [NotHere("the time zone of the host")],
    "files.of_database": [
        NotHere("a folder of another user, and root may write in each"),
        Planted("files", lambda clinic: file_of(clinic).path.parent.chmod(0o777), ("chmod o-w",), on="sqlite"),
        NotHere("a log of a hundred megabytes"),
        NotHere("a network file system"),
    ],
    "files._of_file": [
        NotHere("a file of another user, and root may write each"),
        NotHere("two users, of whom one is root: see test_doctor.py"),
        Planted("files", lambda clinic: file_of(clinic).path.chmod(0o622), ("chmod o-w",), on="sqlite"),
        Planted(
            "files", lambda clinic: file_of(clinic).path.chmod(0o644), ("chmod o-r",), verdict="warning", on="sqlite"
        ),
    ],
    "files.with_secrets": [
        Elsewhere("test_doctor.py::test_doctor_finds_settings_that_no_command_can_use"),
    ],
    "handlers.handlers": [
        Planted(
            "handlers",
            lambda clinic: clinic.app.write("handlers", "import nothing_of_that_name"),
            ("JOBRUNNER_IMPORT", "JOBRUNNER_APP_DIR"),
            lambda clinic: clinic.app.write("handlers", "from jobrunner import job\n@job('echo')\ndef echo(ctx): ..."),
            said="nothing_of_that_name",
        ),
        Planted(
            "handlers", nothing, ("JOBRUNNER_IMPORT",), nothing, "warning", env=lambda _: {"JOBRUNNER_IMPORT": None}
        ),
    ],
    "handlers._definitions": [
        Planted(
            "definitions",
            misfit,
            ("nap", "schedule edit nap --payload"),
            lambda clinic: clinic.jobrunner("schedule", "edit", "nap", "--payload", '{"seconds": 1}'),
            said="minutes",
        ),
        Planted(
            "definitions",
            unknown_schedule,
            ("the module of gone", "schedule remove nightly"),
            lambda clinic: clinic.jobrunner("schedule", "remove", "nightly"),
            said="nightly (gone)",
        ),
        Planted(
            "definitions",
            broken_schedule,
            ("nightly",),
            lambda clinic: clinic.jobrunner("schedule", "edit", "nightly", "--timezone", "UTC"),
        ),
    ],
    "handlers._waiting": [
        Planted(
            "waiting runs",
            lambda clinic: queue(clinic.database, "gone"),
            ("JOBRUNNER_IMPORT", "gone"),
            lambda clinic: clinic.jobrunner("cancel", "1"),
            said="1 of gone",
        )
    ],
    "standby._standby": [
        Elsewhere(f"{_STANDBY}test_doctor_tells_which_standby_there_is_and_what_a_promotion_of_it_costs")
    ],
    "standby._acknowledged": [
        Elsewhere(f"{_STANDBY}test_doctor_tells_that_there_is_no_standby_and_that_commits_are_acknowledged_too_early")
    ],
    "standby._sequences": [
        Elsewhere(
            f"{_STANDBY}test_doctor_finds_sequences_behind_their_tables_and_its_remedy_lets_runs_be_enqueued_again"
        )
    ],
    "ticks.last_tick": [
        Planted(
            "last tick",
            lambda clinic: clinic.database.execute("DELETE FROM job_ticks"),
            STARTED_BY,
            tick,
        ),
        Planted("last tick", old_ticks, STARTED_BY, tick, said="1d11h ago"),
    ],
    "doctor.doctor": [
        Planted(
            "database",
            nothing,
            ("JOBRUNNER_DATABASE_URL",),
            nothing,
            env=lambda _: {"JOBRUNNER_DATABASE_URL": "nonsense"},
        )
    ],
    "doctor._settings": [
        Planted("settings", nothing, ("where it is set",), nothing, env=lambda _: {"JOBRUNNER_LAESE": "1m"})
    ],
}
