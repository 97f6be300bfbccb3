"""Each cause for which a database cannot be used has its own sentence and remedy in each command that meets it."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

from harness import Commands, Database, PostgresDatabase, SQLiteDatabase, postgresql_only, sqlite_only
from harness.handlers_rows import queue
from harness.waiting import span


def soon() -> dict[str, str]:
    """Settings with which a command does not wait for long."""
    return {"JOBRUNNER_PATIENCE": span(1), "JOBRUNNER_LEASE": span(8)}


ASKING = ("status", "explain 1", "health", "runs", "schedule list", "jobs")
ACTING = ("cancel 1", "pause --type echo", "enqueue echo", "tick")


def url_of(database: PostgresDatabase, role: str, password: str) -> str:
    scheme, _, rest = database.url.partition("://")
    return f"{scheme}://{role}:{password}@{rest.rpartition('@')[2]}"


@contextmanager
def role(database: Database, attributes: str = "") -> Iterator[tuple[PostgresDatabase, str, str]]:
    """A role that may do all that a tick does, and its URL."""
    assert isinstance(database, PostgresDatabase)
    name = f"tick_{database.database}"
    with database.access.admin(database.database) as admin:
        admin.execute(f"CREATE ROLE \"{name}\" LOGIN PASSWORD 'right' {attributes}")
        admin.execute(f'GRANT ALL ON SCHEMA public TO "{name}"; GRANT ALL ON ALL TABLES IN SCHEMA public TO "{name}"')
    try:
        yield database, name, url_of(database, name, "right")
    finally:
        database.forget_sessions()
        with database.access.admin(database.database) as admin:
            admin.execute(f'DROP OWNED BY "{name}"')
            admin.execute(f'DROP ROLE "{name}"')


def said(jobrunner: Commands, words: str, env: dict[str, str]) -> str:
    return jobrunner.refused(69, *words.split(), env={**soon(), **env})


def wrong(jobrunner: Commands, env: dict[str, str], name: str = "database") -> dict[str, Any]:
    done = jobrunner("doctor", "--json", "--no-crontab", env={**soon(), **env}, check=False)
    found = [each for each in done.json()["checks"] if each["verdict"] == "wrong" and each["name"] == name]
    assert len(found) == 1, done.stdout
    return dict(found[0])


@postgresql_only
def test_a_missing_right_is_named_with_its_role_and_its_table_and_the_grant_that_is_printed_gives_it(
    jobrunner: Commands, database: Database
) -> None:
    """The remedy was to migrate, and neither the role nor the table nor the right was named."""
    with role(database) as (_, name, url):
        env = {"JOBRUNNER_DATABASE_URL": url}
        queue(database, "echo")
        cases = (
            ("SELECT", "job_runs", ("status", "explain 1", "runs")),
            ("UPDATE", "job_runs", ("cancel 1", "tick")),
            ("INSERT", "job_pauses", ("pause --type nobody",)),
            ("SELECT", "job_state", ("status",)),
            ("INSERT", "job_ticks", ("tick",)),
        )
        for right, table, commands in cases:
            database.execute(f'REVOKE {right} ON {table} FROM "{name}"')
            for words in commands:
                text = said(jobrunner, words, env)
                assert f"the role {name} may not {right} on the table public.{table}" in text, (words, text)
            if right == "SELECT":
                check = wrong(jobrunner, env)
                assert f"may not SELECT on the table public.{table}" in check["found"]
                assert "migrate" not in check["remedy"]
                text = check["remedy"]
            # As it is printed, by the owner.
            database.execute(text.strip().rpartition(": ")[2])
            assert jobrunner("status", env=env).returncode == 0
        database.execute(f'REVOKE USAGE ON SCHEMA public FROM "{name}", public')
        for given in ({}, {"JOBRUNNER_SCHEMA": "public"}):
            text = said(jobrunner, "tick", {**env, **given})
            assert f"the role {name} may not USAGE on the schema public" in text, text
        assert f"the role {name} may not USAGE on the schema public" in wrong(jobrunner, env)["found"]
        database.execute(text.strip().rpartition(": ")[2])
        assert jobrunner("tick", env=env).returncode == 0
        database.execute("GRANT USAGE ON SCHEMA public TO public")


@postgresql_only
def test_a_wrong_password_and_too_many_connections_each_have_their_own_sentence_and_remedy(
    jobrunner: Commands, database: Database
) -> None:
    with role(database, "CONNECTION LIMIT 1") as (server, name, url), ExitStack() as ending:
        refused = {"JOBRUNNER_DATABASE_URL": url_of(server, name, "wrong")}
        for words in (*ASKING[:3], *ACTING[:2]):
            text = said(jobrunner, words, refused)
            assert "the user name or password was refused; set the right password of the role" in text, text
            assert f"the role {name} in JOBRUNNER_DATABASE_URL" in text
        assert wrong(jobrunner, refused)["remedy"].startswith(f"set the right password of the role {name}")
        import psycopg

        ending.enter_context(closing(psycopg.connect(url)))
        env = {"JOBRUNNER_DATABASE_URL": url}
        for words in (*ASKING[:3], *ACTING[:2]):
            text = said(jobrunner, words, env)
            assert "the server has no free connection; end sessions that pg_stat_activity shows as idle" in text, text
        assert "max_connections" in wrong(jobrunner, env)["remedy"]


@postgresql_only
def test_a_locked_table_is_told_by_doctor_as_locked_and_not_as_a_wrong_schema(
    jobrunner: Commands, database: Database
) -> None:
    assert isinstance(database, PostgresDatabase)
    queue(database, "echo")
    for table in ("job_runs", "job_state", "job_schema_version"):
        with closing(database.connect()) as holder:
            holder.execute("BEGIN")
            holder.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
            check = wrong(jobrunner, {})
            assert f"session {holder.info.backend_pid} of the role" in check["found"], (table, check)
            assert check["remedy"].endswith(f"SELECT pg_terminate_backend({holder.info.backend_pid})"), check
            text = said(jobrunner, "status", {})
            assert text.strip().endswith(f"end it: SELECT pg_terminate_backend({holder.info.backend_pid})"), text
            database.execute(check["remedy"].rpartition(": ")[2])
        done = jobrunner("doctor", "--json", "--no-crontab", check=False).json()
        assert [each["name"] for each in done["checks"] if each["name"] == "schema" and each["verdict"] == "ok"]


@sqlite_only
def test_a_full_disk_and_a_file_that_may_not_be_written_each_have_their_own_sentence_and_remedy(
    jobrunner: Commands, database: Database
) -> None:
    assert isinstance(database, SQLiteDatabase)
    queue(database, "echo")
    database.execute(
        "CREATE TRIGGER full BEFORE INSERT ON job_events BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
    )
    text = said(jobrunner, "cancel 1", {})
    assert text.strip().endswith(f"the disk is full or failing; free space on the disk of {database.path}"), text
    database.execute("DROP TRIGGER full")
    jobrunner("cancel", "1")
    no_file = {"JOBRUNNER_DATABASE_URL": f"sqlite:///{__file__}"}
    assert "the file is not an SQLite database; name another file in JOBRUNNER_DATABASE_URL" in said(
        jobrunner, "status", no_file
    )
    assert "name another file" in wrong(jobrunner, no_file)["remedy"]
    assert json.loads(jobrunner("status", "--json").stdout)
