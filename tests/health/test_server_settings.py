"""A server with unusual defaults: jobrunner itself sets what it relies on."""

from collections.abc import Iterator
from typing import Any

import pytest
from psycopg import sql

from harness import App, Commands, PostgresDatabase

TEXT = "größer 😀"


class OddDatabase(PostgresDatabase):
    """The test's own driver has the same trouble with its dates."""

    def describe(self) -> str:
        return "not shown"


@pytest.fixture
def database(postgres_copies: Any) -> Iterator[PostgresDatabase]:
    """An empty database without an encoding, with an unusual date style and other unusual defaults."""
    access = postgres_copies.access
    name = f"{postgres_copies.prefix}_odd"
    with access.admin() as connection:
        make = "CREATE DATABASE {} OWNER {} TEMPLATE template0 ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'"
        connection.execute(sql.SQL(make).format(sql.Identifier(name), sql.Identifier(access.role)))
        for setting in ("datestyle = 'SQL, DMY'", "timezone = 'Asia/Kolkata'", "intervalstyle = 'sql_standard'"):
            connection.execute(sql.SQL("ALTER DATABASE {} SET " + setting).format(sql.Identifier(name)))
    yield OddDatabase(access, name)
    postgres_copies.drop(name)


@pytest.mark.promise("P1", "P10", on="postgresql")
def test_database_without_encoding_and_with_another_date_style_works(
    jobrunner: Commands, app: App, database: PostgresDatabase
) -> None:
    assert jobrunner("migrate").stderr == ""
    run_id = jobrunner.enqueue("echo", {"text": TEXT})
    assert jobrunner("schedule", "add", "daily", "--type", "echo", "--cron", "0 3 31 1 *").stderr == ""
    failed = jobrunner.enqueue("fail", {"message": TEXT})
    assert jobrunner.tick().stderr == ""
    shown = jobrunner("show", run_id, "--json").json()
    assert (shown["status"], shown["payload"]) == ("succeeded", {"text": TEXT})
    assert TEXT in jobrunner("show", failed).stdout
    assert jobrunner("status").stderr == ""
    assert jobrunner("schedule", "list").stderr == ""
