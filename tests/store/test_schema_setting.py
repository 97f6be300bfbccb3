"""JOBRUNNER_SCHEMA: on PostgreSQL everything of jobrunner lies in one schema, whatever the search path is."""

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import create_engine
from sqlalchemy.orm import Session

import jobrunner as library
from harness import Commands, PostgresDatabase, postgresql_only, sqlite_only
from harness.asked import KINDS as ASKING
from harness.asked import questions
from harness.async_connections import KINDS
from harness.calls import WITH_A_SCHEMA
from harness.idle_ticks import quiet_hour, tick
from harness.listening_ticks import linger, stop, wait_for_success
from harness.schemas import objects
from jobrunner import ask
from jobrunner.application import enqueueing, own_connections
from jobrunner.errors import NotFoundError
from jobrunner.store.drivers.raw import raw_driver
from jobrunner.store.queue.ticks import idle
from jobrunner.store.sql.compiled import postgresql
from jobrunner.store.sql.statement import Prepared, compiled

# In quotes it is another name than without them, and the word between the two dashes is reserved.
SCHEMA = "Jobs-of-2"
DJANGO = """
import json, sys
import django
from django.conf import settings

given = json.loads(sys.argv[1])
names = {"NAME": "dbname", "HOST": "host", "PORT": "port", "USER": "user", "PASSWORD": "password"}
engine = {"ENGINE": "django.db.backends.postgresql"}
settings.configure(DATABASES={"default": {**engine, **{name: given[key] for name, key in names.items()}}})
django.setup()
from django.db import connection, transaction
import jobrunner

with transaction.atomic():
    jobrunner.enqueue(connection, "append", {"name": "django"})
"""


class InSchema(PostgresDatabase):
    """For the queries of a test. Commands get the empty search path of the database itself."""

    def connect(self) -> Any:
        connection = super().connect()
        connection.execute(f'SET search_path = "{SCHEMA}"')
        return connection


@pytest.fixture
def placed(jobrunner: Commands, database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch) -> Iterator[Commands]:
    """Commands with the setting. The tables of the copied template, in public, stay empty."""
    environment = jobrunner.environment
    monkeypatch.setattr(
        jobrunner, "environment", lambda env=None: environment({"JOBRUNNER_SCHEMA": SCHEMA, **(env or {})})
    )
    with database.access.admin(database.database) as admin:
        admin.execute(f"ALTER DATABASE {database.database} SET search_path = ''")
    jobrunner.database = InSchema(database.access, database.database)
    jobrunner("migrate")
    yield jobrunner
    for table in ("job_runs", "job_ticks", "job_events", "job_definitions", "job_keys", "job_locks"):
        assert database.query(f"SELECT * FROM public.{table}") == []


@pytest.fixture
def of_application(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This process enqueues, with the setting in its environment."""
    monkeypatch.setenv("JOBRUNNER_SCHEMA", SCHEMA)
    enqueueing._settings_in.cache_clear()
    yield
    enqueueing._settings_in.cache_clear()


def known_to_the_server(connection: psycopg.Connection[Any], text: str) -> str | None:
    """The server's error if it cannot resolve the names of a statement. To prepare it does not execute it."""
    numbers: dict[str, int] = {}

    def number(one: re.Match[str]) -> str:
        return f"${numbers.setdefault(one[1] or str(one), len(numbers) + 1)}"

    numbered = re.sub(r"%\((\w+)\)s|%s", number, text).replace("%%", "%")
    # The driver tells the type of a float. It is needed where the statement does not say it.
    types = [psycopg.adapters.types["float8"].oid if "timeout" in name else 0 for name in numbers]
    answer = connection.pgconn.prepare(b"", numbered.encode(), types)
    return answer.error_message.decode() or None


OF_NO_TABLE = {Prepared("finalize.show_warnings")}


@postgresql_only
def test_each_statement_of_a_tick_finds_its_tables_with_an_empty_search_path(placed: Commands) -> None:
    """All that are compiled ahead, and the idle tick's own. Without the setting the same texts find nothing."""
    statements = [Prepared(*each) for each in postgresql.STATEMENTS]
    assert len(statements) > 100
    with psycopg.connect(placed.database.url, autocommit=True) as connection:
        for schema, is_known in ((SCHEMA, True), (None, False)):
            texts = {each: compiled(each, "postgresql", schema).text for each in statements}
            texts[Prepared("idle")] = idle.statement(raw_driver.postgresql_words(schema))
            errors = {each: known_to_the_server(connection, text) for each, text in texts.items()}
            wrong = {each: said for each, said in errors.items() if (said is None) != (is_known or each in OF_NO_TABLE)}
            assert wrong == {}


@postgresql_only
def test_with_the_setting_all_of_a_runs_life_happens_in_that_schema(placed: Commands) -> None:
    database = placed.database
    first = placed.enqueue("append", {"name": "a"}, key="once")
    assert placed.enqueue("append", {"name": "b"}, key="once") == first
    placed("schedule", "add", "each", "--type", "append", "--payload", '{"name": "s"}', "--cron", "* * * * *")
    database.execute(
        "UPDATE job_definitions SET last_slot_at = last_slot_at - interval '2 minutes', next_run_at = NULL"
    )
    failing, cancelled = placed.enqueue("fail"), placed.enqueue("echo", run_at="2099-01-01T00:00Z")
    placed("cancel", cancelled)
    old = "UPDATE job_runs SET finished_at = finished_at - interval '1 year' WHERE id = ?"
    database.execute(old, [cancelled])
    placed.tick()
    statuses = {row["id"]: row["status"] for row in database.query("SELECT id, status FROM job_runs")}
    assert (statuses.pop(first), statuses.pop(failing)) == ("succeeded", "failed")
    assert cancelled not in statuses, "it was pruned"
    assert set(statuses.values()) == {"succeeded"}
    placed("retry", failing)
    placed("discard", failing, "--reason", "enough")
    assert placed.show(failing)["status"] == "dead"
    assert placed.status()["database"].endswith(f" (schema {SCHEMA})")
    listening = linger(placed)
    wait_for_success(database, placed.enqueue("append", {"name": "heard"}))
    stop(listening)
    assert placed("migrate").stdout.endswith(f"(schema {SCHEMA}): up to date\n")


@postgresql_only
def test_every_command_finds_the_schema(placed: Commands) -> None:
    for words in WITH_A_SCHEMA:
        done = placed(*words, check=False)
        # 2: there is no such archive.
        assert done.returncode in (0, 1, 2), (words, done.stderr)
        assert "Traceback" not in done.stderr


@postgresql_only
def test_line_for_cron_has_the_schema_in_its_env_file(placed: Commands, tmp_path: Path) -> None:
    """A tick that did not know it would find no tables, or those of another installation."""
    refused = placed("crontab", "line", check=False)
    assert (refused.returncode, "JOBRUNNER_SCHEMA" in refused.stderr) == (78, True)
    env_file = tmp_path / "app.env"
    variables = {name: value for name, value in placed.environment().items() if name.startswith("JOBRUNNER_")}
    env_file.write_text("".join(f"{name}={value}\n" for name, value in variables.items()))
    env_file.chmod(0o600)
    nothing: dict[str, str | None] = dict.fromkeys(variables)
    assert f" --env-file {env_file}" in placed("crontab", "line", "--env-file", env_file, env=nothing).stdout
    placed("tick", "--env-file", env_file, env=nothing)
    assert placed.database.value("SELECT count(*) FROM job_ticks") == 1


@postgresql_only
def test_an_idle_tick_with_the_setting_is_as_short_as_without(placed: Commands) -> None:
    quiet_hour(placed.database)
    assert tick(placed).was_short
    assert placed.database.value("SELECT count(*) FROM job_ticks") == 1


@postgresql_only
@pytest.mark.usefixtures("of_application")
def test_each_kind_of_callers_connection_enqueues_into_the_schema(placed: Commands) -> None:
    url = placed.database.url
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    # An application with tenants: its own map is not for our tables.
    tenants = engine.execution_options(schema_translate_map={None: "tenant"})
    with psycopg.connect(url) as raw, tenants.connect() as connection, Session(engine) as session:
        for name, given in {"psycopg": raw, "connection": connection, "session": session}.items():
            library.enqueue(given, "append", {"name": name}, key=name)
            library.enqueue_many(given, "append", [{"name": name}] * 2)
            given.commit()
    engine.dispose()
    with psycopg.connect(url) as raw:
        assert raw.execute("SHOW search_path").fetchone() == ('""',), "nothing of ours stays on the connection"
    placed.python(DJANGO, json.dumps(conninfo_to_dict(url)))
    assert placed.database.value("SELECT count(*) FROM job_runs") == 9 + 1


@postgresql_only
def test_downgrade_removes_the_tables_of_that_schema_only(placed: Commands, database: PostgresDatabase) -> None:
    placed.database.execute("CREATE TABLE job_offers (id INTEGER)")
    before = objects(database)
    placed("downgrade", 0, "--delete-data")
    left = "SELECT relname FROM pg_class WHERE relnamespace = ?::regnamespace"
    assert placed.database.query(left, [f'"{SCHEMA}"']) == [{"relname": "job_offers"}]
    assert objects(database) == before
    for schema in (SCHEMA, "not-there"):
        refused = placed("tick", check=False, env={"JOBRUNNER_SCHEMA": schema})
        assert (refused.returncode, f"(schema {schema}) has no jobrunner tables" in refused.stderr) == (78, True)


@postgresql_only
def test_migrate_needs_no_right_to_create_a_schema_that_is_there(
    jobrunner: Commands, database: PostgresDatabase
) -> None:
    """Nor temporary views, with which it compares its own, nor a search path."""
    with database.access.admin(database.database) as admin:
        admin.execute(f"ALTER DATABASE {database.database} OWNER TO CURRENT_USER")
        admin.execute(f"REVOKE ALL ON DATABASE {database.database} FROM PUBLIC, {database.access.role}")
        admin.execute(f"GRANT CONNECT ON DATABASE {database.database} TO {database.access.role}")
        env = {"JOBRUNNER_SCHEMA": "given"}
        jobrunner.refused(69, "migrate", env=env)
        admin.execute("CREATE SCHEMA given")
        admin.execute(f"GRANT CREATE, USAGE ON SCHEMA given TO {database.access.role}")
    assert jobrunner("migrate", env=env).stdout.endswith(": migrated\n")
    assert jobrunner("migrate", env=env).stdout.endswith(": up to date\n")


@postgresql_only
@pytest.mark.usefixtures("of_application")
def test_each_kind_of_connection_asks_in_the_schema(placed: Commands) -> None:
    """Whatever the search path is, and whatever map of schemas the application has for its tenants."""
    run_id = placed.enqueue("echo")
    placed.tick()
    for kind in ASKING.values():
        with kind(placed.database) as connection:
            for asked in questions(run_id, "echo"):
                with suppress(NotFoundError):
                    asked.of(connection)
            assert ask.run(connection, run_id).status == "succeeded"
    engine = create_engine(placed.database.url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.execution_options(schema_translate_map={None: "tenant"}).connect() as connection:
        assert ask.status(connection).runs["succeeded"] == 1
    engine.dispose()

    async def story() -> None:
        for kind in KINDS["postgresql"]:
            async with kind(placed.database) as opened:
                assert (await ask.status_async(opened.connection)).runs["succeeded"] == 1

    asyncio.run(story())


@postgresql_only
@pytest.mark.usefixtures("of_application")
def test_enqueue_with_await_and_from_sql_finds_the_schema(placed: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOBRUNNER_DATABASE_URL", placed.database.url)

    async def story() -> None:
        for kind in KINDS["postgresql"]:
            async with kind(placed.database) as opened:
                await opened.begin()
                await library.enqueue_async(opened.connection, "append", key=kind.__name__)
                await opened.commit()
        await library.enqueue_async(None, "append")

    asyncio.run(story())
    own_connections.own_connections().close()
    own_connections._opened.clear()
    with psycopg.connect(placed.database.url) as connection:
        connection.execute(f"SELECT \"{SCHEMA}\".jobrunner_enqueue('append', key => 'sql')")
    assert placed.database.value("SELECT count(*) FROM job_runs") == len(KINDS["postgresql"]) + 2
    assert placed.database.value("SELECT count(*) FROM job_keys") == len(KINDS["postgresql"]) + 1


@postgresql_only
def test_migrate_sql_prints_a_script_that_needs_no_search_path(placed: Commands) -> None:
    script = placed("schema").stdout
    placed("downgrade", 0, "--delete-data")
    with psycopg.connect(placed.database.url, autocommit=True) as connection:
        connection.execute(f'DROP SCHEMA "{SCHEMA}"')
        connection.execute(script.encode())
    assert placed("migrate").stdout.endswith(": up to date\n")


@postgresql_only
def test_tables_can_be_moved_into_a_schema_with_all_their_rows(jobrunner: Commands, database: PostgresDatabase) -> None:
    run_id = jobrunner.enqueue("append", {"name": "kept"})
    database.execute("CREATE SCHEMA jobs")
    kinds = {"r": "TABLE", "v": "VIEW"}
    ours = "SELECT relname, relkind::text FROM pg_class WHERE relnamespace = 'public'::regnamespace"
    for row in database.query(f"{ours} AND relkind IN ('r', 'v')"):
        database.execute(f"ALTER {kinds[row['relkind']]} {row['relname']} SET SCHEMA jobs")
    for row in database.query("SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace"):
        database.execute(f"ALTER FUNCTION {row['proname']} SET SCHEMA jobs")
    env = {"JOBRUNNER_SCHEMA": "jobs"}
    names = ("notify", "promoted", "replace", "hold", "mark", "enqueue")
    names += ("note_fair", "line_up", "is_unpaused_due", "is_gate_due", "is_any_stray")
    again = ", ".join(f"jobrunner_{name}" for name in names)
    assert jobrunner("migrate", env=env).stdout.endswith(f": created again: {again}\n")
    jobrunner.tick(env=env)
    assert database.query("SELECT id, status FROM jobs.job_runs") == [{"id": run_id, "status": "succeeded"}]


@sqlite_only
@pytest.mark.usefixtures("of_application")
def test_enqueue_on_a_callers_sqlite_connection_needs_no_schema(database: Any) -> None:
    """An application whose tests use SQLite has the same environment there."""
    with closing(database.connect()) as connection:
        connection.execute("BEGIN")
        library.enqueue(connection, "append", {"name": "x"})
        connection.execute("COMMIT")
    assert database.value("SELECT count(*) FROM job_runs") == 1
