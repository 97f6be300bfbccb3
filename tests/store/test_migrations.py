"""The migrations build the schema that the code expects, once, also with many migrators at the same time."""

import re
import sqlite3
import warnings
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from secrets import token_hex
from typing import Any, TypeVar

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from psycopg import sql
from sqlalchemy import Connection, Identity, inspect
from sqlalchemy.schema import CreateTable

from harness import Commands, Database, PostgresDatabase, SQLiteDatabase, postgresql_only, sqlite_only
from harness.databases import Copies
from jobrunner.errors import JobrunnerError
from jobrunner.lifecycle import FINISHED, Status
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.drivers.lent_connection import engine_on
from jobrunner.store.drivers.location import locate
from jobrunner.store.schema import metadata
from jobrunner.store.schema.views import views
from jobrunner.store.sql.versions import OLDEST_CODE_OF, SCHEMA_REVISION, VERSION_TABLE
from jobrunner.store.upkeep.migrate import migrate

MIGRATORS = 6
INSERTS = {
    "job_runs": "(job_type, payload, status, priority, run_at, created_at, updated_at)"
    " SELECT job_type, payload, status, priority, run_at, created_at, updated_at FROM job_runs WHERE id = ?",
    "job_attempts": "(run_id, sequence, attempt, lease_token, worker, host, started_at, finished_at, outcome)"
    " SELECT id, 1, 1, 't', 'w', 'h', run_at, run_at, 'failed' FROM job_runs WHERE id = ?",
    "job_definitions": "(name, job_type, payload, timezone, source, last_slot_at, created_at, updated_at)"
    " SELECT 'n', 'echo', payload, 'UTC', 'test', run_at, run_at, run_at FROM job_runs WHERE id = ?",
    "job_ticks": "(host, worker, version, started_at) SELECT 'h', 'w', '1', run_at FROM job_runs WHERE id = ?",
    "job_events": "(at, actor, action, detail) SELECT run_at, 'a', 'b', payload FROM job_runs WHERE id = ?",
}

T = TypeVar("T")


def on_engine(work: Callable[[Connection], T]) -> Callable[[Any], T]:
    """The same for SQLAlchemy's connection, as migrations have it."""

    def on(connection: Any) -> T:
        with engine_on(connection) as engine:
            return work(engine)

    return on


def differences(connection: Connection) -> list[Any]:
    """Columns, types, defaults, indexes, foreign keys and unique constraints, as far as alembic sees them."""
    options = {"compare_type": True, "compare_server_default": True, "version_table": VERSION_TABLE}
    with warnings.catch_warnings():
        if (connection.dialect.server_version_info or (14,)) < (14,):
            # It writes AT TIME ZONE as a function, which alembic takes for another expression.
            warnings.filterwarnings("ignore", "Computed default on job_runs.turn_at")
        found = compare_metadata(MigrationContext.configure(connection, opts=options), metadata)
    # What is changed about a column comes as a list.
    every = [change for each in found for change in (each if isinstance(each, list) else [each])]
    if connection.dialect.name == "sqlite":
        # It has no identity columns: there the same is called AUTOINCREMENT, which alembic does not see.
        every = [each for each in every if not (each[0] == "modify_default" and isinstance(each[-1], Identity))]
    return every


def test_the_migrated_schema_is_the_one_in_the_code(store: Store) -> None:
    assert store.read(on_engine(differences)) == []


def test_schema_comparison_sees_a_difference(store: Store, database: Database) -> None:
    database.execute("DROP INDEX job_runs_due")
    database.execute("ALTER TABLE job_runs ADD COLUMN extra INTEGER")
    assert sorted(each[0] for each in store.read(on_engine(differences))) == ["add_index", "remove_column"]


def test_schema_details_that_alembic_does_not_compare_are_the_same(store: Store) -> None:
    """Check constraints by name, primary keys, and the columns of the views."""

    def compare(connection: Connection) -> None:
        inspector = inspect(connection)
        for table in metadata.sorted_tables:
            declared = str(CreateTable(table).compile(connection))
            assert set(checks_of(connection, table.name)) == set(re.findall(r"CONSTRAINT (\w+) CHECK", declared))
            key = inspector.get_pk_constraint(table.name)["constrained_columns"]
            assert key == [column.name for column in table.primary_key]
        for view in views.sorted_tables:
            columns = {column["name"] for column in inspector.get_columns(view.name)}
            assert {column.name for column in view.columns} <= columns

    store.read(on_engine(compare))


def checks_of(connection: Connection, table: str) -> dict[str, str]:
    """Each check constraint of a table with its condition."""
    if connection.dialect.name != "sqlite":
        return {str(each["name"]): each["sqltext"] for each in inspect(connection).get_check_constraints(table)}
    # Read here, because older versions of SQLAlchemy do not see a check that has its own parentheses.
    query = "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?"
    made_by: str = connection.exec_driver_sql(query, (table,)).scalar_one()
    found = {}
    for each in re.finditer(r"CONSTRAINT (\w+) CHECK \(", made_by):
        depth, end = 1, each.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(made_by[end], 0)
            end += 1
        found[each[1]] = made_by[each.end() : end - 1]
    return found


def conditions(connection: Connection) -> dict[str, str]:
    """Of partial indexes and of checks, as the database gives them back."""
    inspector = inspect(connection)
    where = f"{connection.dialect.name}_where"
    found = {}
    for table in metadata.sorted_tables:
        for index in inspector.get_indexes(table.name):
            found[f"index {index['name']}"] = str(index.get("dialect_options", {}).get(where))
        found |= {f"check {name}": text for name, text in checks_of(connection, table.name).items()}
    return {name: " ".join(text.replace("(", "( ").split()).replace("( ", "(") for name, text in found.items()}


def test_partial_indexes_and_checks_have_the_conditions_of_the_code(store: Store) -> None:
    """Compared with tables that are made from the code alone."""

    def made_anew(connection: Connection) -> dict[str, str]:
        views = "due dead stuck overdue recoverable open_gates open_limits limits_in_force gated"
        views += " claimable claimable_by_host expandable expandable_by_host"
        views = f"ungated_due gates_due ready_gates {views} stray_dependants stray_gates waited_gates"
        for view in f"{views} unpaused_types waiting_types".split():
            connection.exec_driver_sql(f"DROP VIEW job_{view}")
        metadata.drop_all(connection)
        metadata.create_all(connection)
        return conditions(connection)

    migrated = store.read(on_engine(conditions))
    assert len(migrated) > 12
    assert migrated == store.write(on_engine(made_anew))


def test_an_sqlite_without_strict_tables_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 1))
    file = tmp_path / "new.db"
    with pytest.raises(JobrunnerError, match=r"^this Python has SQLite 3\.34\.1, and jobrunner needs 3\.37; [^\n]*$"):
        migrate(Store(locate(f"sqlite:///{file}"), patience=timedelta(seconds=5)))
    assert list(tmp_path.iterdir()) == []


def test_database_refuses_a_row_whose_status_and_columns_do_not_fit(database: Database, jobrunner: Commands) -> None:
    run_id = jobrunner.enqueue("echo", {})
    free = {"finished_at": "NULL", "locked_by": "NULL", "locked_until": "NULL", "lease_token": "NULL"}
    locked = {"locked_by": "'x'", "locked_until": "run_at", "lease_token": "'x'"}
    refused = (sqlite3.IntegrityError, psycopg.errors.CheckViolation)

    def update(status: str, **columns: str) -> None:
        changes = ", ".join(f"{name} = {value}" for name, value in {**free, **columns}.items())
        database.execute(f"UPDATE job_runs SET status = ?, {changes} WHERE id = ?", [status, run_id])

    for status in Status:
        right = locked if status is Status.RUNNING else {"finished_at": "run_at"} if status in FINISHED else {}
        wrong = {} if right else {"finished_at": "run_at"}
        update(status.value, **right)
        with pytest.raises(refused):
            update(status.value, **wrong)
        for name, value in locked.items():
            with pytest.raises(refused):
                update(status.value, **{**right, name: "NULL" if status is Status.RUNNING else value})
    for status, columns in {"done": {}, "": {}, "queued": {"attempts": "-1"}, "failed": {"releases": "-1"}}.items():
        with pytest.raises(refused):
            update(status, **columns)


@pytest.mark.parametrize("table", INSERTS)
def test_an_id_is_never_used_twice(database: Database, jobrunner: Commands, table: str) -> None:
    run_id = jobrunner.enqueue("echo", {})
    insert = f"INSERT INTO {table} {INSERTS[table]} RETURNING id"
    top = database.value(insert, [run_id])
    database.execute(f"DELETE FROM {table} WHERE id = ?", [top])
    assert database.value(insert, [run_id]) > top


def migrate_at_once(jobrunner: Commands, url: str) -> None:
    """Real processes, none of which may fail."""
    started = [jobrunner.start("migrate", env={"JOBRUNNER_DATABASE_URL": url}) for _ in range(MIGRATORS)]
    answers = [(*process.communicate(timeout=60), process.returncode) for process in started]
    assert [code for _, _, code in answers] == [0] * MIGRATORS, answers


def check_is_whole(jobrunner: Commands, database: Database) -> None:
    versions = database.query(f"SELECT version_num FROM {VERSION_TABLE}")
    assert [int(row["version_num"]) for row in versions] == [SCHEMA_REVISION]
    assert database.query("SELECT id, oldest_code FROM job_state") == [
        {"id": 1, "oldest_code": OLDEST_CODE_OF[SCHEMA_REVISION]}
    ]
    env = {"JOBRUNNER_DATABASE_URL": database.url}
    jobrunner("enqueue", "echo", env=env)
    jobrunner.tick(env=env)
    assert database.value("SELECT status FROM job_runs") == "succeeded"


@postgresql_only
def test_six_migrators_at_once_on_an_empty_database(jobrunner: Commands, postgres_copies: Copies) -> None:
    access = postgres_copies.access
    name = f"{postgres_copies.prefix}_empty_{token_hex(4)}"
    create = sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(name), sql.Identifier(access.role))
    with access.admin() as connection:
        connection.execute(create)
    try:
        migrate_at_once(jobrunner, access.url(name))
        check_is_whole(jobrunner, PostgresDatabase(access, name))
    finally:
        postgres_copies.drop(name)


@sqlite_only
def test_six_migrators_at_once_on_a_file_that_is_not_there(jobrunner: Commands, tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "jobs.db"
    migrate_at_once(jobrunner, f"sqlite:///{path}")
    left = {each.name for each in path.parent.iterdir()} - {"jobs.db-wal", "jobs.db-shm"}
    assert left == {"jobs.db"}, "a loser of the race left its draft"
    assert path.stat().st_mode & 0o777 == 0o600
    check_is_whole(jobrunner, SQLiteDatabase(path))
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@sqlite_only
def test_six_migrators_at_once_on_an_empty_file(jobrunner: Commands, tmp_path: Path) -> None:
    path = tmp_path / "touched.db"
    path.touch(0o600)
    migrate_at_once(jobrunner, f"sqlite:///{path}")
    check_is_whole(jobrunner, SQLiteDatabase(path))


def test_migrating_again_changes_nothing(jobrunner: Commands, database: Database) -> None:
    jobrunner.enqueue("echo", {})
    before = database.query("SELECT * FROM job_runs")
    jobrunner("migrate")
    assert database.query("SELECT * FROM job_runs") == before
