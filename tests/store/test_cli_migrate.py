"""`jobrunner migrate`, with one migrator and with several at once."""

import json
import re
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from harness import Commands, Database, PostgresDatabase, SQLiteDatabase, sqlite_only
from harness.binaries import find_binaries
from harness.databases import url
from harness.elsewhere import target_of
from harness.handlers_rows import queue
from harness.next_version import HELD_UNTIL, NEXT, NextVersion
from harness.releases import FIRST_SCHEMA, Release
from harness.schemas import schema
from jobrunner.store.sql.versions import SCHEMA_REVISION


def run_sql(database: Database, text: str) -> None:
    """Run a script with the database's own client, as a database administrator would."""
    if isinstance(database, PostgresDatabase):
        command = [find_binaries() / "psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", database.url]
    elif client := shutil.which("sqlite3"):
        assert isinstance(database, SQLiteDatabase)
        command = [Path(client), Path("-bail"), database.path]
    else:
        assert isinstance(database, SQLiteDatabase)
        with closing(sqlite3.connect(database.path)) as connection:
            connection.executescript(text)
        return
    done = subprocess.run([str(word) for word in command], input=text, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_migrate_builds_the_schema_and_then_finds_it_done(
    jobrunner: Commands, empty: Database, database: Database
) -> None:
    first = jobrunner("migrate", env=url(empty))
    assert first.stdout.endswith(": migrated\n")
    again = jobrunner("migrate", env=url(empty))
    assert again.stdout.endswith(": up to date\n")
    assert (first.stderr, again.stderr) == ("", "")
    assert schema(empty) == schema(database)
    jobrunner("tick", env=url(empty))


def test_migrate_sql_gives_the_same_schema(jobrunner: Commands, empty: Database, database: Database) -> None:
    printed = jobrunner("schema", env=url(empty))
    assert printed.stderr == ""
    assert schema(empty) != schema(database)
    run_sql(empty, printed.stdout)
    assert schema(empty) == schema(database)
    assert jobrunner("migrate", env=url(empty)).stdout.endswith(": up to date\n")
    if isinstance(empty, SQLiteDatabase):
        assert empty.value("PRAGMA journal_mode") == "wal"
    jobrunner("enqueue", "echo", env=url(empty))
    jobrunner("tick", env=url(empty))
    assert empty.value("SELECT status FROM job_runs") == "succeeded"


def test_printed_steps_from_the_first_schema_make_what_migrate_makes(
    jobrunner: Commands, first_release: Release, database: Database
) -> None:
    """Also what migrate keeps: the rights on views, and the older views for a downgrade."""
    for_all = "GRANT SELECT ON job_due, job_dead TO PUBLIC"
    if isinstance(database, PostgresDatabase):
        database.execute(for_all)
    jobrunner("migrate")
    migrated = made(database)
    jobrunner("downgrade", 0, "--delete-data")
    first_release("migrate")
    run_id = queue(database, "echo")
    if isinstance(database, PostgresDatabase):
        database.execute(for_all)
    run_sql(database, jobrunner("schema", "--from-version", FIRST_SCHEMA).stdout)
    if isinstance(database, PostgresDatabase):
        # The step has not read the rows that were there again. They fit.
        database.execute("ALTER TABLE job_runs VALIDATE CONSTRAINT job_runs_readable")
    assert made(database) == migrated
    assert jobrunner("migrate").stdout.endswith(": up to date\n")
    jobrunner.tick()
    assert database.query("SELECT id, status FROM job_runs") == [{"id": run_id, "status": "succeeded"}]


def test_printed_steps_that_take_away_what_old_code_uses_stop_that_code(
    jobrunner: Commands, database: Database, tmp_path: Path
) -> None:
    contracting = NextVersion(tmp_path, jobrunner, HELD_UNTIL, oldest_code=NEXT)
    run_sql(database, contracting("schema", "--from-version", str(SCHEMA_REVISION)))
    jobrunner.refused(78, "tick", says=["upgrade jobrunner"])
    assert contracting("migrate").endswith(": up to date\n")


def test_printed_steps_leave_a_database_closed_that_was_moved(
    jobrunner: Commands, database: Database, elsewhere: Database, tmp_path: Path
) -> None:
    contracting = NextVersion(tmp_path, jobrunner, HELD_UNTIL, oldest_code=NEXT)
    jobrunner("move", target_of(elsewhere, tmp_path))
    run_sql(database, contracting("schema", "--from-version", str(SCHEMA_REVISION)))
    assert "was moved to " in contracting.refused(78, "tick")
    jobrunner.refused(78, "tick", says=["was moved to "])


def made(database: Database) -> tuple[str, object, object, object]:
    (state,) = database.query("SELECT oldest_code, unfinished, programs FROM job_state")
    version = database.value("SELECT version_num FROM job_schema_version")
    return schema(database), version, (state["oldest_code"], state["unfinished"]), json.loads(state["programs"])


def test_printed_steps_name_their_schema(jobrunner: Commands, tmp_path: Path) -> None:
    env = {"JOBRUNNER_DATABASE_URL": "postgresql://127.0.0.1:1/none", "JOBRUNNER_SCHEMA": "jobs"}
    printed = jobrunner("schema", "--from-version", FIRST_SCHEMA, env=env).stdout
    assert "CREATE SCHEMA" not in printed
    unqualified = r"\b(?:TABLE|VIEW|UPDATE|INDEX \S+ ON|TRIGGER \S+ ON)(?: IF EXISTS)? job_\w+"
    assert re.findall(unqualified, printed) == []
    assert "1<=x<=" in jobrunner.refused(2, "schema", "--from-version", SCHEMA_REVISION, env=env)


@pytest.mark.parametrize("round_", [1, 2])
def test_six_migrators_and_ticks_at_once(jobrunner: Commands, empty: Database, database: Database, round_: int) -> None:
    """At a first deploy cron may be there already: a tick works or says what is missing, and never crashes."""
    words = [["migrate"], ["tick"]] * 6 + [["status"], ["enqueue", "echo"]]
    started = [jobrunner.start(*each, env=url(empty)) for each in words]
    ends = [process.communicate(timeout=90) for process in started]
    for each, process, (stdout, stderr) in zip(words, started, ends, strict=True):
        if each == ["migrate"] or process.returncode == 0:
            assert (process.returncode, stderr) == (0, ""), (each, ends)
        else:
            assert (process.returncode, stdout, len(stderr.splitlines())) == (78, "", 1), (each, stderr)
            assert "jobrunner migrate" in stderr
    answers = [stdout.rpartition(": ")[2] for each, (stdout, _) in zip(words, ends, strict=True) if each == ["migrate"]]
    assert sorted(answers) == ["migrated\n"] + ["up to date\n"] * 5
    assert schema(empty) == schema(database)
    jobrunner("enqueue", "echo", env=url(empty))
    jobrunner("tick", env=url(empty))
    assert empty.value("SELECT count(*) FROM job_runs WHERE status <> 'succeeded'") == 0


@sqlite_only
def test_migrate_sql_also_runs_from_python(jobrunner: Commands, empty: Database, database: Database) -> None:
    """Where the sqlite3 client is not installed."""
    assert isinstance(empty, SQLiteDatabase)
    with closing(sqlite3.connect(empty.path)) as connection:
        connection.executescript(jobrunner("schema", env=url(empty)).stdout)
    assert schema(empty) == schema(database)
    jobrunner("tick", env=url(empty))


def test_migrate_sql_needs_no_database(jobrunner: Commands, tmp_path: Path) -> None:
    for missing in (f"sqlite:///{tmp_path}/none.db", "postgresql://user:secret@127.0.0.1:1/none"):
        assert "CREATE TABLE job_runs" in jobrunner("schema", env={"JOBRUNNER_DATABASE_URL": missing}).stdout
    assert not (tmp_path / "none.db").exists()


def test_migrate_creates_an_sqlite_file_of_its_own(jobrunner: Commands, tmp_path: Path) -> None:
    file = tmp_path / "new" / "folder" / "own.db"
    done = jobrunner("migrate", env={"JOBRUNNER_DATABASE_URL": f"sqlite:///{file}"})
    assert done.stdout == f"sqlite:///{file}: migrated\n"
    assert file.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in file.parent.iterdir()) == ["own.db"]


@sqlite_only
def test_dangling_link_is_not_reported_as_an_up_to_date_database(jobrunner: Commands, tmp_path: Path) -> None:
    link = tmp_path / "linked.db"
    link.symlink_to(tmp_path / "gone" / "app.db")
    done = jobrunner("migrate", env={"JOBRUNNER_DATABASE_URL": f"sqlite:///{link}"}, check=False)
    assert (done.returncode, done.stdout) == (69, "")
    assert done.stderr == f"jobrunner: cannot create the database {link}: it is a link to nothing\n"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".linked")] == []
