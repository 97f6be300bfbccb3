"""doctor: standbys, which COMMITs wait, and sequences. Each remedy is executed as it is printed."""

from typing import Any

import pytest
from psycopg import sql

from harness import Commands, Database, PostgresDatabase, postgresql_only, sqlite_only
from harness.doc_tables import first_table, names_in, text_of
from harness.invariants import insert_runs
from harness.standby import Pair

NO_STANDBY = "none is connected: what this server loses, only a backup has"


def look(jobrunner: Commands, name: str, **env: str) -> dict[str, Any]:
    done = jobrunner("doctor", "--json", "--no-crontab", env=env, check=False)
    (found,) = [each for each in done.json()["checks"] if each["name"] == name]
    return dict(found)


def execute(database: PostgresDatabase, remedy: str) -> None:
    """As an administrator in psql, one statement after the other."""
    with database.access.admin(database.database) as admin:
        for statement in remedy.split("; "):
            admin.execute(sql.SQL(statement))  # type: ignore[arg-type]


def test_doctor_tells_which_standby_there_is_and_what_a_promotion_of_it_costs(
    pair: Pair, jobrunner_on_pair: Commands
) -> None:
    """In the words of the page."""
    words = names_in(first_table(text_of("failover.md"), "Which standby there is"))
    assert words[0] in NO_STANDBY
    asynchronous, waited, waiting = words[1:]
    found = look(jobrunner_on_pair, "standby")
    hidden = "1 connected; whether COMMITs wait for it, only a role with pg_read_all_stats may see"
    assert (found["verdict"], found["found"]) == ("ok", hidden)
    role = sql.Identifier(pair.access.role)
    pair.access.execute(sql.SQL("GRANT pg_read_all_stats TO {}").format(role))
    try:
        found = look(jobrunner_on_pair, "standby")
        assert (found["verdict"], found["found"]) == ("ok", waited)
        execute(pair.database, f'ALTER DATABASE "{pair.database.database}" SET synchronous_commit = local')
        assert "wait for none" in look(jobrunner_on_pair, "standby")["found"]
        relaxed = look(jobrunner_on_pair, "synchronous commit")
        assert "acknowledged before a standby has it" in relaxed["found"]
        execute(pair.database, relaxed["remedy"])
        assert look(jobrunner_on_pair, "standby")["found"] == waited
        pair.set_synchronous("")
        found = look(jobrunner_on_pair, "standby")
        assert found["verdict"] == "ok"
        assert f"{asynchronous}: after a promotion the last commits are lost" in found["found"]
        pair.set_synchronous("another")
        found = look(jobrunner_on_pair, "standby")
        assert found["verdict"] == "wrong"
        assert f"synchronous_standby_names = 'another'): {waiting}" in found["found"]
        execute(pair.database, found["remedy"])
        pair.wait_for_setting("synchronous_standby_names", "")
        assert look(jobrunner_on_pair, "standby")["verdict"] == "ok"
        jobrunner_on_pair("enqueue", "echo", "--payload", "{}")
    finally:
        pair.set_synchronous("")
        pair.access.execute(sql.SQL("REVOKE pg_read_all_stats FROM {}").format(role))


@postgresql_only
def test_doctor_tells_that_there_is_no_standby_and_that_commits_are_acknowledged_too_early(
    jobrunner: Commands, database: Database
) -> None:
    assert isinstance(database, PostgresDatabase)
    found = look(jobrunner, "standby")
    assert found["found"] == NO_STANDBY
    execute(database, f'ALTER DATABASE "{database.database}" SET synchronous_commit = off')
    found = look(jobrunner, "synchronous commit")
    assert found["verdict"] == "warning"
    assert "acknowledged before the server's disk has it" in found["found"]
    execute(database, found["remedy"])
    names = [each["name"] for each in jobrunner("doctor", "--json", "--no-crontab", check=False).json()["checks"]]
    assert "synchronous commit" not in names


@postgresql_only
@pytest.mark.parametrize("schema", [None, "jobs"])
def test_doctor_finds_sequences_behind_their_tables_and_its_remedy_lets_runs_be_enqueued_again(
    jobrunner: Commands, database: Database, schema: str | None
) -> None:
    """As a logical copy leaves them, which copies rows and no sequences."""
    assert isinstance(database, PostgresDatabase)
    env = {} if schema is None else {"JOBRUNNER_SCHEMA": schema}
    jobrunner("migrate", env=env)
    for _ in range(3):
        jobrunner("enqueue", "echo", "--payload", "{}", env=env)
    assert look(jobrunner, "sequences", **env)["verdict"] == "ok"
    before = "" if schema is None else f"{schema}."
    database.execute(f"SELECT setval('{before}job_runs_id_seq', 1)")
    refused = jobrunner("enqueue", "echo", "--payload", "{}", env=env, check=False)
    assert refused.returncode == 1
    assert "duplicate key" in refused.stderr
    found = look(jobrunner, "sequences", **env)
    assert found["verdict"] == "wrong"
    # The refused one has used a number.
    assert "job_runs (its sequence is at 2, its newest id is 3)" in found["found"]
    execute(database, found["remedy"])
    assert look(jobrunner, "sequences", **env)["found"] == "none lies behind its table"
    assert jobrunner("enqueue", "echo", "--payload", "{}", env=env).stdout == "4\n"


@sqlite_only
def test_ids_of_a_file_cannot_lie_behind_its_rows(jobrunner: Commands, database: Database) -> None:
    """So doctor has nothing to say of it: an AUTOINCREMENT takes the larger one of both."""
    insert_runs(database, 3, "echo")
    database.execute("UPDATE sqlite_sequence SET seq = 1 WHERE name = 'job_runs'")
    assert jobrunner("enqueue", "echo", "--payload", "{}").stdout == "4\n"
    names = [each["name"] for each in jobrunner("doctor", "--json", "--no-crontab", check=False).json()["checks"]]
    assert not {"sequences", "standby"} & set(names)
