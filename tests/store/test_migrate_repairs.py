"""`jobrunner migrate` makes again what another tool has dropped and what holds no rows. It names everything else."""

from typing import Any

import pytest

import jobrunner as library
from harness import Commands, Database, SQLiteDatabase
from harness.handlers_rows import queue
from harness.schemas import objects, schema
from jobrunner.store.schema import metadata
from jobrunner.store.sql.versions import SCHEMA_REVISION, VERSION_TABLE

DAMAGE = {
    "job_runs_claim": "DROP INDEX job_runs_claim",
    "job_runs_key_running": "DROP INDEX job_runs_key_running",
    "job_due": "DROP VIEW job_due",
    "job_stuck": "DROP VIEW job_stuck; CREATE VIEW job_stuck AS SELECT id, job_type FROM job_runs WHERE id < 0",
    "the row of job_state": "DELETE FROM job_state",
}
DAMAGE_OF_POSTGRESQL = {
    "jobrunner_now": "CREATE OR REPLACE FUNCTION jobrunner_now() RETURNS timestamptz LANGUAGE sql AS 'SELECT now()'",
    "jobrunner_notify": "DROP FUNCTION jobrunner_notify CASCADE",
}
DROPPED_ALL = [f"DROP TABLE {table.name}" for table in reversed(metadata.sorted_tables)]
STRANGERS = {
    "job_events": ("CREATE TABLE job_events (happened VARCHAR(10))", "has no column id"),
    "job_runs": ("CREATE VIEW job_runs AS SELECT 1 AS id", "is no table"),
    "job_dead": ("CREATE VIEW job_dead AS SELECT 1 AS id", "reads none of jobrunner's tables"),
    "job_due": ("CREATE TABLE job_due (id INTEGER)", "is no view"),
    VERSION_TABLE: (f"CREATE TABLE {VERSION_TABLE} (version INTEGER)", "has no column version_num"),
}


def execute(database: Database, *statements: str) -> None:
    for statement in statements:
        for each in statement.split("; "):
            if isinstance(database, SQLiteDatabase):
                # As in a migration by Alembic, which does not set it.
                with database.connect() as connection:
                    connection.execute("PRAGMA foreign_keys = OFF")
                    connection.execute(each)
            else:
                database.execute(f"{each} CASCADE" if each.startswith("DROP TABLE") else each)


def refused(jobrunner: Commands, *words: object) -> str:
    return jobrunner.refused(1, *words)


def check_works(jobrunner: Commands, database: Database) -> None:
    run_id = jobrunner.enqueue("echo")
    jobrunner.tick()
    assert database.value("SELECT status FROM job_runs WHERE id = ?", [run_id]) == "succeeded"


def test_migrate_creates_again_what_holds_no_rows(jobrunner: Commands, database: Database) -> None:
    kept = jobrunner.enqueue("echo", run_at="2099-01-01T00:00Z")
    whole = schema(database)
    damage = DAMAGE | ({} if database.name == "sqlite" else DAMAGE_OF_POSTGRESQL)
    execute(database, *damage.values())
    assert schema(database) != whole
    said = jobrunner("migrate").stdout
    names = set(said.strip().partition("created again: ")[2].split(", "))
    assert names == set(damage)
    assert schema(database) == whole
    assert jobrunner("migrate").stdout.endswith(": up to date\n")
    check_works(jobrunner, database)
    assert jobrunner.show(kept)["status"] == "queued"


def test_migration_in_the_callers_transaction_that_only_makes_a_view_again_counts_as_a_change(
    database: Database, connection: Any
) -> None:
    execute(database, "DROP VIEW job_due")
    assert library.migrate(connection)
    connection.commit()
    assert database.query("SELECT * FROM job_due") == []
    assert not library.migrate(connection)


@pytest.mark.parametrize("damage", [f"DELETE FROM {VERSION_TABLE}", f"DROP TABLE {VERSION_TABLE}"])
def test_migrate_finds_out_the_version_when_its_table_is_lost(
    jobrunner: Commands, database: Database, damage: str
) -> None:
    """A test suite of the application truncates all tables that it finds, say."""
    kept = jobrunner.enqueue("echo", run_at="2099-01-01T00:00Z")
    whole = schema(database)
    execute(database, damage)
    assert jobrunner("migrate").stdout.endswith(": migrated\n")
    assert schema(database) == whole
    assert jobrunner.show(kept)["status"] == "queued"
    check_works(jobrunner, database)


@pytest.mark.parametrize("version", ["kept", "lost"])
def test_migrate_begins_anew_when_all_tables_are_lost(jobrunner: Commands, database: Database, version: str) -> None:
    """On SQLite the views were left, and the migration failed at the first of them."""
    whole = schema(database)
    execute(database, *DROPPED_ALL, *([f"DROP TABLE {VERSION_TABLE}"] if version == "lost" else []))
    done = jobrunner("tick", check=False)
    assert (done.returncode, "jobrunner migrate" in done.stderr) == (78, True)
    assert "its tables were gone" in jobrunner("migrate").stdout
    assert schema(database) == whole
    check_works(jobrunner, database)


def test_migrate_says_that_all_runs_are_gone_where_only_the_table_of_the_version_is_left(
    jobrunner: Commands, database: Database
) -> None:
    whole = schema(database)
    jobrunner("downgrade", 0, "--delete-data")
    execute(database, f"CREATE TABLE {VERSION_TABLE} (version_num VARCHAR(32) NOT NULL)")
    database.execute(f"INSERT INTO {VERSION_TABLE} VALUES (?)", [f"{SCHEMA_REVISION:04}"])
    assert "its tables were gone, and all runs with them" in jobrunner("migrate").stdout
    assert schema(database) == whole


def test_migrate_names_the_tables_that_only_a_backup_has(jobrunner: Commands, database: Database) -> None:
    jobrunner.enqueue("echo")
    execute(database, "DROP TABLE job_attempts", "DROP TABLE job_keys")
    before = objects(database)
    said = refused(jobrunner, "migrate")
    assert "lost job_keys, job_attempts, " in said
    assert objects(database) == before
    # What it says to do instead of a restore.
    for command in ("jobrunner downgrade 0 --delete-data", "jobrunner migrate"):
        assert command in said
        jobrunner(*command.split()[1:])
    check_works(jobrunner, database)


@pytest.mark.parametrize("name", STRANGERS)
def test_what_has_our_name_and_is_not_ours_is_named_and_never_dropped(
    jobrunner: Commands, database: Database, name: str
) -> None:
    jobrunner("downgrade", 0, "--delete-data")
    statement, wrong = STRANGERS[name]
    execute(database, statement)
    before = schema(database)
    for words in (["migrate"], ["downgrade", 0, "--delete-data"]):
        said = refused(jobrunner, *words)
        assert f" a {name} that is not jobrunner's (it {wrong})" in said
        assert "JOBRUNNER_SCHEMA" in said
        assert schema(database) == before


def test_stranger_in_the_place_of_a_lost_table_is_not_dropped_on_the_way_down(
    jobrunner: Commands, database: Database
) -> None:
    execute(database, "DROP TABLE job_events", "CREATE TABLE job_events (happened VARCHAR(10))")
    database.execute("INSERT INTO job_events VALUES ('once')")
    assert "job_events" in refused(jobrunner, "downgrade", 0, "--delete-data")
    assert database.query("SELECT * FROM job_events") == [{"happened": "once"}]


def test_view_of_an_application_over_one_of_ours_stays(jobrunner: Commands, database: Database) -> None:
    database.execute("CREATE VIEW report AS SELECT id, error_type FROM job_dead")
    execute(database, "DROP VIEW job_due")
    assert jobrunner("migrate").stdout.endswith(": created again: job_due\n")
    assert database.query("SELECT * FROM report") == []


def test_rows_in_the_way_of_a_unique_index_are_reported_in_one_line(jobrunner: Commands, database: Database) -> None:
    execute(database, "DROP INDEX job_runs_slot")
    jobrunner("schedule", "add", "daily", "--type", "echo", "--cron", "@daily")
    for _ in range(2):
        queue(database, "echo")
    database.execute("UPDATE job_runs SET definition_id = 1, scheduled_for = ?, origin = 'slot'", [database.now()])
    assert "refused the migration and is as it was" in refused(jobrunner, "migrate")
