"""`jobrunner migrate`, and what the other commands say to a schema that does not serve them."""

import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from harness import Commands, Database, PostgresDatabase, SQLiteDatabase
from harness.binaries import find_binaries

COMMANDS = [
    ["tick"],
    ["status"],
    ["status", "--json"],
    ["enqueue", "echo"],
    ["show", "1"],
    ["retry", "1"],
    ["cancel", "1"],
    ["discard", "1", "--reason", "x"],
    ["schedule", "list"],
    ["schedule", "add", "n", "--type", "echo", "--cron", "@daily"],
    ["schedule", "remove", "n"],
]
every_command = pytest.mark.parametrize("words", COMMANDS, ids=" ".join)


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


def schema(database: Database) -> str:
    """The whole schema as the database itself tells it."""
    if isinstance(database, SQLiteDatabase):
        rows = database.query("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name")
        return "\n".join(" ".join(str(value).split()) for row in rows for value in row.values())
    command = [find_binaries() / "pg_dump", "--schema-only", "--no-owner", database.url]
    dump = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert dump.returncode == 0, dump.stderr
    # Newer versions write a random word against injection.
    return "\n".join(line for line in dump.stdout.splitlines() if line and not line.startswith(("--", "\\")))


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


def test_the_sql_gives_the_same_schema(jobrunner: Commands, empty: Database, database: Database) -> None:
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


def test_the_sql_needs_no_database(jobrunner: Commands, tmp_path: Path) -> None:
    for missing in (f"sqlite:///{tmp_path}/none.db", "postgresql://user:secret@127.0.0.1:1/none"):
        assert "CREATE TABLE job_runs" in jobrunner("migrate", "--sql", env={"JOBRUNNER_DATABASE_URL": missing}).stdout
    assert not (tmp_path / "none.db").exists()


def test_migrate_creates_an_sqlite_file_of_its_own(jobrunner: Commands, tmp_path: Path) -> None:
    file = tmp_path / "new" / "folder" / "own.db"
    done = jobrunner("migrate", env={"JOBRUNNER_DATABASE_URL": f"sqlite:///{file}"})
    assert done.stdout == f"sqlite:///{file}: migrated\n"
    assert file.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in file.parent.iterdir()) == ["own.db"]


@every_command
def test_missing_tables(jobrunner: Commands, empty: Database, words: list[str]) -> None:
    refused = jobrunner(*words, env=url(empty), check=False)
    assert (refused.returncode, refused.stdout) == (78, "")
    assert len(refused.stderr.splitlines()) == 1
    assert "jobrunner migrate" in refused.stderr
    if isinstance(empty, SQLiteDatabase):
        assert empty.query("SELECT name FROM sqlite_master") == []


@every_command
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
def test_a_schema_that_does_not_serve_this_code(
    jobrunner: Commands, database: Database, words: list[str], change: str, remedy: str
) -> None:
    database.execute(change)
    refused = jobrunner(*words, check=False)
    assert (refused.returncode, refused.stdout) == (78, "")
    assert len(refused.stderr.splitlines()) == 1
    assert remedy in refused.stderr
    for table in ("job_runs", "job_ticks", "job_definitions", "job_events"):
        assert database.query(f"SELECT id FROM {table}") == []


def test_a_newer_schema_that_still_serves_this_code_is_used(jobrunner: Commands, database: Database) -> None:
    database.execute("UPDATE job_schema_version SET version_num = '9999'")
    jobrunner.enqueue("echo")
    jobrunner.tick()
    assert database.value("SELECT status FROM job_runs") == "succeeded"
    refused = jobrunner("migrate", check=False)
    assert (refused.returncode, len(refused.stderr.splitlines())) == (78, 1)
    assert "upgrade jobrunner" in refused.stderr
