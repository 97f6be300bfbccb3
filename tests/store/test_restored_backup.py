"""A real backup, taken while runs are done and restored later by the procedure of docs/howto/restored.md."""

import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from psycopg import sql

from harness import App, Commands, Database, PostgresDatabase, SQLiteDatabase
from harness.binaries import find_binaries
from harness.slots import go_to, skipped_ranges, slots_with_runs, utc

HOURS = [utc(2026, 5, 1, hour) for hour in range(12, 19)]


def back_up(database: Database, file: Path) -> Callable[[], None]:
    """Take a backup, as an operator would; what is returned puts it in the place of what there is by then."""
    if isinstance(database, PostgresDatabase):
        dump = [find_binaries() / "pg_dump", "--format=custom", "--file", file, database.url]
        subprocess.run(dump, check=True, capture_output=True)
        return lambda: restored(database, file)
    assert isinstance(database, SQLiteDatabase)
    copied(database.path, file)
    return lambda: copied(file, database.path)


def restored(database: PostgresDatabase, file: Path) -> None:
    with database.access.admin() as server:
        name, role = sql.Identifier(database.database), sql.Identifier(database.access.role)
        server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))
        server.execute(sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE template0").format(name, role))
    restore = [find_binaries() / "pg_restore", "--exit-on-error", "--no-owner", "--dbname", database.url, file]
    subprocess.run(restore, check=True, capture_output=True)


def copied(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)


@pytest.fixture
def schedule(jobrunner: Commands, database: Database) -> Commands:
    go_to(database, HOURS[0] + timedelta(minutes=30))
    jobrunner("schedule", "add", "hourly", "--type", "append", "--cron", "@hourly")
    return jobrunner


def tick_at(jobrunner: Commands, database: Database, *instants: datetime) -> None:
    for instant in instants:
        go_to(database, instant)
        assert jobrunner.tick().stderr == ""


@pytest.mark.promise("P3", "P12")
def test_runs_that_may_have_run_before_a_restored_backup_do_not_run_again(
    schedule: Commands, app: App, database: Database, tmp_path: Path
) -> None:
    tick_at(schedule, database, HOURS[1], HOURS[2])
    restore = back_up(database, tmp_path / "backup")
    tick_at(schedule, database, HOURS[3], HOURS[4])
    assert len(app.trace()) == 4
    restore()
    assert slots_with_runs(database, "hourly") == HOURS[1:3]
    go_to(database, HOURS[4] + timedelta(minutes=20))
    schedule("schedule", "resume", "--all", "--from", "now")
    tick_at(schedule, database, HOURS[4] + timedelta(minutes=21))
    assert len(app.trace()) == 4
    assert skipped_ranges(database, "hourly")[-1][:3] == (HOURS[3], HOURS[4], 2)
    tick_at(schedule, database, HOURS[5])
    assert slots_with_runs(database, "hourly") == [*HOURS[1:3], HOURS[5]]
    assert len(app.trace()) == 5


@pytest.mark.promise("P3")
def test_no_slot_that_a_restored_backup_knows_is_expanded_again(
    schedule: Commands, app: App, database: Database, tmp_path: Path
) -> None:
    """Also without the procedure: slots after the backup look missed, slots before it do not."""
    tick_at(schedule, database, HOURS[1], HOURS[2])
    restore = back_up(database, tmp_path / "backup")
    tick_at(schedule, database, HOURS[3])
    restore()
    tick_at(schedule, database, HOURS[3] + timedelta(minutes=5), HOURS[4])
    assert slots_with_runs(database, "hourly") == HOURS[1:5]
    assert len(app.trace()) == 3 + 2
