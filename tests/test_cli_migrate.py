"""`jobrunner migrate`, and how the other commands refuse a schema that does not fit."""

import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import click
import pytest

from harness import Commands, Database, PostgresDatabase, SQLiteDatabase, sqlite_only
from harness.binaries import find_binaries
from harness.handlers_rows import queue
from harness.schemas import WITH_A_SCHEMA, objects, schema
from jobrunner.cli.program import cli
from jobrunner.store.schema import metadata

# The ticks that dev starts report it.
WITHOUT_A_DATABASE = {"migrate", "jobs", "completion", "dev", "web", "doctor", "schedule import", "schedule crontab"}


@pytest.fixture
def empty(database: Database, tmp_path: Path) -> Iterator[Database]:
    """A database that exists, beside the migrated one, and has no tables."""
    if isinstance(database, PostgresDatabase):
        name = f"{database.database}_empty"
        with database.access.admin() as connection:
            connection.execute(f'CREATE DATABASE "{name}" OWNER "{database.access.role}" TEMPLATE template0')
        yield PostgresDatabase(database.access, name)
        with database.access.admin() as connection:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
    else:
        path = tmp_path / "empty.db"
        path.touch()
        yield SQLiteDatabase(path)


def url(database: Database) -> dict[str, str]:
    return {"JOBRUNNER_DATABASE_URL": database.url}


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
    done = subprocess.run([str(word) for word in command], input=text, capture_output=True, text=True, timeout=60)
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


def test_eight_migrators_at_once(jobrunner: Commands, empty: Database, database: Database) -> None:
    migrators = [jobrunner.start("migrate", env=url(empty)) for _ in range(8)]
    answers = [migrator.communicate(timeout=60) for migrator in migrators]
    assert [migrator.returncode for migrator in migrators] == [0] * 8, answers
    assert sorted(answer[0].rpartition(": ")[2] for answer in answers) == ["migrated\n"] + ["up to date\n"] * 7
    assert schema(empty) == schema(database)


def test_migrate_sql_gives_the_same_schema(jobrunner: Commands, empty: Database, database: Database) -> None:
    printed = jobrunner("migrate", "--sql", env=url(empty))
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
    assert schema(empty) == schema(database)
    jobrunner("enqueue", "echo", env=url(empty))
    jobrunner("tick", env=url(empty))
    assert empty.value("SELECT count(*) FROM job_runs WHERE status <> 'succeeded'") == 0


def test_table_name_that_is_taken_stops_the_migration_with_nothing_written(
    jobrunner: Commands, empty: Database
) -> None:
    """The application has a table of that name already: one line, and nothing half made."""
    empty.execute("CREATE TABLE job_events (happened VARCHAR(10))")
    before = objects(empty)
    refused = jobrunner("migrate", env=url(empty), check=False)
    assert (refused.returncode, refused.stdout, len(refused.stderr.splitlines())) == (1, "", 1), refused.stderr
    assert "job_events" in refused.stderr
    assert objects(empty) == before


@sqlite_only
def test_migrate_sql_also_runs_from_python(jobrunner: Commands, empty: Database, database: Database) -> None:
    """Where the sqlite3 client is not installed."""
    assert isinstance(empty, SQLiteDatabase)
    with closing(sqlite3.connect(empty.path)) as connection:
        connection.executescript(jobrunner("migrate", "--sql", env=url(empty)).stdout)
    assert schema(empty) == schema(database)
    jobrunner("tick", env=url(empty))


def test_migrate_sql_needs_no_database(jobrunner: Commands, tmp_path: Path) -> None:
    for missing in (f"sqlite:///{tmp_path}/none.db", "postgresql://user:secret@127.0.0.1:1/none"):
        assert "CREATE TABLE job_runs" in jobrunner("migrate", "--sql", env={"JOBRUNNER_DATABASE_URL": missing}).stdout
    assert not (tmp_path / "none.db").exists()


def test_migrate_creates_an_sqlite_file_of_its_own(jobrunner: Commands, tmp_path: Path) -> None:
    file = tmp_path / "new" / "folder" / "own.db"
    done = jobrunner("migrate", env={"JOBRUNNER_DATABASE_URL": f"sqlite:///{file}"})
    assert done.stdout == f"sqlite:///{file}: migrated\n"
    assert file.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in file.parent.iterdir()) == ["own.db"]


def test_missing_tables_are_reported_with_the_remedy_by_every_command(jobrunner: Commands, empty: Database) -> None:
    for words in WITH_A_SCHEMA:
        refused = jobrunner(*words, env=url(empty), check=False)
        assert (words, refused.returncode, refused.stdout) == (words, 78, "")
        assert len(refused.stderr.splitlines()) == 1, refused
        assert "jobrunner migrate" in refused.stderr
        if isinstance(empty, SQLiteDatabase):
            assert empty.query("SELECT name FROM sqlite_master") == [], words


@pytest.mark.either_database
@pytest.mark.parametrize(
    ("change", "remedy"),
    [
        ("UPDATE job_schema_version SET version_num = '0000'", "run: jobrunner migrate"),
        ("DELETE FROM job_schema_version", "run: jobrunner migrate"),
        ("UPDATE job_state SET oldest_code = 1000000", "upgrade jobrunner"),
        ("UPDATE job_schema_version SET version_num = 'ae1027a6acf'", "job_schema_version"),
    ],
    ids=["older", "interrupted", "newer", "a stranger's"],
)
def test_schema_that_does_not_fit_this_code_is_refused_by_every_command(
    jobrunner: Commands, database: Database, change: str, remedy: str
) -> None:
    queue(database, "echo")
    database.execute(change)
    before = everything(database)
    for words in WITH_A_SCHEMA:
        refused = jobrunner(*words, check=False)
        assert (words, refused.returncode, refused.stdout) == (words, 78, "")
        assert len(refused.stderr.splitlines()) == 1, refused
        assert remedy in refused.stderr, words
        assert everything(database) == before, words


def everything(database: Database) -> dict[str, list[str]]:
    """All rows of all tables."""
    return {name: sorted(map(repr, database.query(f"SELECT * FROM {name}"))) for name in metadata.tables}


def test_schema_tests_above_cover_every_command() -> None:
    """A new command is put to the same schemas, or is known to use none."""

    def every(command: click.Command, path: str) -> set[str]:
        if isinstance(command, click.Group):
            context = click.Context(command)
            below = {name: command.get_command(context, name) for name in command.list_commands(context)}
            return {leaf for name, each in below.items() if each for leaf in every(each, f"{path} {name}".strip())}
        return {path}

    leaves = every(cli, "")
    tried = {leaf for leaf in leaves for words in WITH_A_SCHEMA if f"{' '.join(words)} ".startswith(f"{leaf} ")}
    assert leaves - tried == WITHOUT_A_DATABASE


def test_newer_schema_that_fits_this_code_is_used(jobrunner: Commands, database: Database) -> None:
    database.execute("UPDATE job_schema_version SET version_num = '9999'")
    jobrunner.enqueue("echo")
    jobrunner.tick()
    assert database.value("SELECT status FROM job_runs") == "succeeded"
    refused = jobrunner("migrate", check=False)
    assert (refused.returncode, len(refused.stderr.splitlines())) == (78, 1)
    assert "upgrade jobrunner" in refused.stderr


@sqlite_only
def test_dangling_link_is_not_reported_as_an_up_to_date_database(jobrunner: Commands, tmp_path: Path) -> None:
    link = tmp_path / "linked.db"
    link.symlink_to(tmp_path / "gone" / "app.db")
    done = jobrunner("migrate", env={"JOBRUNNER_DATABASE_URL": f"sqlite:///{link}"}, check=False)
    assert (done.returncode, done.stdout) == (69, "")
    assert done.stderr == f"jobrunner: cannot create the database {link}: it is a link to nothing\n"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".linked")] == []


def test_refusal_by_a_users_own_constraint_is_reported_without_the_payload(
    jobrunner: Commands, database: Database
) -> None:
    """PostgreSQL quotes the whole row below its first line."""
    if database.name == "postgresql":
        database.execute("ALTER TABLE job_runs ADD CONSTRAINT theirs CHECK (priority < 5)")
    else:
        database.execute(
            "CREATE TRIGGER theirs BEFORE INSERT ON job_runs WHEN NEW.priority >= 5"
            " BEGIN SELECT RAISE(ABORT, 'theirs'); END"
        )
    words = ["enqueue", "echo", "--payload", '{"a": "s3cret"}', "--priority", "9"]
    done = jobrunner(*words, check=False)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1), done
    assert done.stderr.startswith("jobrunner: the database refuses it: ")
    assert "theirs" in done.stderr
    assert "s3cret" not in done.stderr
