"""What is said of a database without our tables, with others, or with those of another version."""

from typing import Any

import pytest

import jobrunner as library
from harness import Commands, Database, SQLiteDatabase
from harness.calls import WITH_A_SCHEMA
from harness.databases import url
from harness.handlers_rows import queue
from harness.long import leaves_nothing_out
from harness.schemas import objects, schema
from jobrunner.store.schema import metadata


def test_table_name_that_is_taken_stops_the_migration_with_nothing_written(
    jobrunner: Commands, empty: Database
) -> None:
    """The application has a table of that name already: one line, and nothing half made."""
    empty.execute("CREATE TABLE job_events (happened VARCHAR(10))")
    before = objects(empty)
    assert "job_events" in jobrunner.refused(1, "migrate", env=url(empty))
    assert objects(empty) == before


def test_missing_tables_are_reported_with_the_remedy_by_every_command(jobrunner: Commands, empty: Database) -> None:
    for words in WITH_A_SCHEMA:
        assert "jobrunner migrate" in jobrunner.refused(78, *words, env=url(empty))
        if isinstance(empty, SQLiteDatabase):
            assert empty.query("SELECT name FROM sqlite_master") == [], words


UNFIT = {
    "older": ("UPDATE job_schema_version SET version_num = '0000'", "run: jobrunner migrate"),
    "interrupted": ("DELETE FROM job_schema_version", "run: jobrunner migrate"),
    "newer": ("UPDATE job_state SET oldest_code = 1000000", "upgrade jobrunner"),
    "a stranger's": ("UPDATE job_schema_version SET version_num = 'ae1027a6acf'", "job_schema_version"),
}


@pytest.mark.parametrize("kind", UNFIT)
def test_schema_that_does_not_fit_this_code_is_refused_by_every_command(
    jobrunner: Commands, database: Database, kind: str
) -> None:
    """Each command meets one of the kinds, unless nothing is left out."""
    queue(database, "echo")
    change, remedy = UNFIT[kind]
    database.execute(change)
    before = everything(database)
    for words in WITH_A_SCHEMA if leaves_nothing_out() else WITH_A_SCHEMA[[*UNFIT].index(kind) :: len(UNFIT)]:
        jobrunner.refused(78, *words, says=[remedy])
        assert everything(database) == before, words


def everything(database: Database) -> dict[str, list[str]]:
    """All rows of all tables."""
    return {name: sorted(map(repr, database.query(f"SELECT * FROM {name}"))) for name in metadata.tables}


def test_newer_schema_that_fits_this_code_is_used(jobrunner: Commands, database: Database) -> None:
    database.execute("UPDATE job_schema_version SET version_num = '9999'")
    jobrunner.enqueue("echo")
    jobrunner.tick()
    assert database.value("SELECT status FROM job_runs") == "succeeded"
    assert "its schema 9999 is newer than this jobrunner's" in jobrunner("migrate").stdout
    assert database.value("SELECT version_num FROM job_schema_version") == "9999"


def test_newer_schema_that_fits_this_code_is_left_as_it_is_by_a_migration_in_the_callers_transaction(
    database: Database, connection: Any
) -> None:
    """It has no index that the newer program has dropped, for want of a use."""
    database.execute("UPDATE job_schema_version SET version_num = '9999'")
    database.execute("DROP INDEX job_runs_due")
    before = schema(database)
    assert not library.migrate(connection)
    connection.commit()
    assert schema(database) == before


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
    told = jobrunner.refused(1, *words)
    assert told.startswith("jobrunner: the database refuses it: ")
    assert "theirs" in told
    assert "s3cret" not in told
