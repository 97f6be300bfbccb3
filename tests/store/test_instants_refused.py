"""The database refuses instants that Python cannot read, in each column of runs and of definitions."""

import sqlite3

import psycopg
import pytest

from harness import Commands, Database, PostgresDatabase, postgresql_only
from jobrunner.store.schema import metadata
from jobrunner.store.sql.dialect.values import UtcTime

# Just before the first instant, and just after the last one.
OUTSIDE = {
    "postgresql": ("'1969-12-31 23:59:59.999999+00'", "'9999-12-31 00:00:00.000001+00'", "'infinity'", "'-infinity'"),
    "sqlite": ("-1", "253402214400000001"),
}
# What else the other checks want of a row with such an instant.
BESIDE = {
    "finished_at": ", status = 'succeeded'",
    "locked_until": ", status = 'running', locked_by = 'x', lease_token = 'x'",
}


def instants_of(table: str) -> list[str]:
    # A turn is made of others, and may lie before all instants.
    columns = metadata.tables[table].columns
    return [each.name for each in columns if isinstance(each.type, UtcTime) and each.name != "turn_at"]


@pytest.mark.parametrize("table", ["job_runs", "job_definitions"])
def test_database_refuses_an_instant_that_python_cannot_read(
    database: Database, jobrunner: Commands, table: str
) -> None:
    jobrunner.enqueue("echo", {})
    jobrunner("schedule", "add", "daily", "--type", "echo", "--cron", "@daily")
    outside = OUTSIDE["postgresql" if isinstance(database, PostgresDatabase) else "sqlite"]
    instants = instants_of(table)
    assert len(instants) > 3
    for name in instants:
        for value in outside:
            with pytest.raises((sqlite3.IntegrityError, psycopg.errors.CheckViolation), match=f"{table}_readable"):
                database.execute(f"UPDATE {table} SET {name} = {value}{BESIDE.get(name, '')}")


@postgresql_only
@pytest.mark.parametrize("table", ["job_runs", "job_definitions"])
def test_check_of_instants_names_each_column_once(database: PostgresDatabase, jobrunner: Commands, table: str) -> None:
    """A server reads the check anew for each statement: in more words it took a fifth of its time for an INSERT."""
    question = "SELECT pg_get_constraintdef(oid) AS found FROM pg_constraint WHERE conname = ?"
    check = str(database.value(question, [f"{table}_readable"]))
    words = check.replace("(", " ").replace("[", " ").replace("]", " ").replace(",", " ").split()
    assert {name: words.count(name) for name in instants_of(table)} == dict.fromkeys(instants_of(table), 1)
