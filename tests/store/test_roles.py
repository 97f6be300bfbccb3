"""The roles of docs/howto/operations.md: each suffices for its commands, and for no others."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from harness import App, Commands, Database, PostgresDatabase, pages, postgresql_only, wait_for
from harness.asked import questions
from harness.releases import Release
from harness.roles import PASSWORD, SCHEMA, granted
from harness.waiting import stretched
from jobrunner import ask
from jobrunner.application import enqueueing
from jobrunner.errors import DatabaseUnavailable, NotFoundError

pytestmark = postgresql_only
DENIED = re.compile("permission denied|may not [A-Zd]")
LOOKING = [
    "status", "status --json", "show 1", "logs 1", "stats", "health", "types", "effects list", "schedule list",
    "schedule show nightly", "schedule next nightly", "apply --dry-run", "prune --dry-run", "pauses", "limits",
    "doctor --no-crontab",
]  # fmt: skip
ACTING = [
    "enqueue echo --key k", "enqueue fail --max-attempts 1", "tick", "retry 3", "cancel 3", "discard 3 --reason x",
    "pause --type echo", "resume --type echo",
    "limit echo --max-running 9 --reason x", "unlimit echo",
    "schedule add daily --type echo --cron @daily", "schedule pause daily",
    "schedule resume daily", "schedule trigger daily", "schedule edit daily --cron @hourly", "schedule remove daily",
    "apply", "prune", "archive runs --until 0s {file}", "tick",
]  # fmt: skip
ENQUEUEING = """
import os, sys, psycopg, jobrunner
from jobrunner import Entry, job

@job("plain")
def plain(ctx): ...

@job("bounded", max_waiting=100, when_full="drop", max_running=2, rate="9/s", concurrency_key="customer")
def bounded(ctx, customer): ...

@job("once", key_scope="active")
def once(ctx): ...

with psycopg.connect(os.environ["APP_URL"]) as connection:
    for _ in range(2):
        first = plain.enqueue(connection)
        jobrunner.enqueue(connection, "echo", {"a": 1}, key="forever")
        once.using(key="k").enqueue(connection)
        bounded.enqueue(connection, customer=1)
        jobrunner.enqueue_many(connection, "echo", [Entry({"n": n}, key=f"n{n}") for n in range(3)])
        plain.using(after=[first]).enqueue(connection)
        with connection.transaction():
            plain.using(after=[first, first], if_parent_fails="run").enqueue(connection)
        replaced = jobrunner.enqueue(connection, "echo", {"a": 2}, key="forever", if_taken="replace")
        assert replaced.replaced, replaced
        many = [Entry({"n": n}, key=f"n{n}", if_taken="replace") for n in range(3)]
        assert all(each.replaced for each in jobrunner.enqueue_many(connection, "echo", many))
        for taken in ("existing", "replace"):
            connection.execute(
                "SELECT jobs.jobrunner_enqueue('echo', '{}', key => 'in sql', if_taken => %s)", [taken]
            )
        connection.execute("SELECT jobs.jobrunner_enqueue('echo', after => %s)", [[first.id]])
        connection.commit()
    print("all enqueued")
"""
EXPIRING = """
import os, psycopg, jobrunner
from jobrunner import Entry

with psycopg.connect(os.environ["APP_URL"]) as connection:
    jobrunner.enqueue(connection, "echo", {}, expires="10m")
    jobrunner.enqueue_many(connection, "echo", [Entry({}, expires="10m"), Entry({})])
    connection.execute("SELECT jobs.jobrunner_enqueue('echo', expires => '10m')")
    print("all enqueued")
"""
SECRETS = ("payload", "output", "result", "progress", "error_type", "last_error")
REFUSED = {
    "jobs_app": [
        "UPDATE jobs.job_runs SET status = 'dead'", "DELETE FROM jobs.job_runs", "SELECT output FROM jobs.job_attempts",
        "UPDATE jobs.job_definitions SET schedule = '* * * * *'", "SELECT payload FROM jobs.job_definitions",
        "DELETE FROM jobs.job_keys", "INSERT INTO jobs.job_events DEFAULT VALUES",
        "UPDATE jobs.job_runs SET gate = 'x'", "UPDATE jobs.job_runs SET has_dependants = 0",
        "UPDATE jobs.job_runs SET payload = '{}'", "INSERT INTO jobs.job_runs (gate) VALUES ('x')",
        "INSERT INTO jobs.job_parents VALUES (1, 2, 'cancel', 'dead')", "UPDATE jobs.job_gates SET turn_at = NULL",
        "UPDATE jobs.job_limits SET max_running = 1", "DELETE FROM jobs.job_parents",
        """SELECT jobs.jobrunner_hold(1, '[{"parent_id": 2, "if_parent_fails": "run"}]')""",
        *(f"SELECT {column} FROM jobs.job_runs" for column in SECRETS),
        "SELECT * FROM jobs.job_dead", "SELECT * FROM jobs.job_runs",
    ],
    "jobs_look": [
        "INSERT INTO jobs.job_runs DEFAULT VALUES", "UPDATE jobs.job_state SET pruned_at = NULL",
        "DELETE FROM jobs.job_runs", "SELECT jobs.jobrunner_replace('[]')", "SELECT jobs.jobrunner_hold(1, '[]')",
    ],
    "jobs_tick": ["DROP TABLE jobs.job_runs", "ALTER TABLE jobs.job_runs ADD COLUMN x int", "CREATE TABLE jobs.x (y int)"],  # noqa: E501
}  # fmt: skip


@pytest.fixture
def urls(jobrunner: Commands, database: Database) -> Iterator[dict[str, str]]:
    """The URL of each role, with the GRANTs of the page."""
    jobrunner("migrate", env=SCHEMA)
    with granted(database) as found:
        yield found


def test_role_that_looks_may_ask_from_python_and_an_enqueuing_one_is_told_what_it_lacks(
    jobrunner: Commands, urls: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = int(jobrunner("enqueue", "echo", env=SCHEMA).stdout)
    monkeypatch.setenv("JOBRUNNER_SCHEMA", "jobs")
    enqueueing._settings_in.cache_clear()
    for is_alone in (True, False):
        with psycopg.connect(urls["jobs_look"], autocommit=is_alone) as connection:
            for asked in questions(run_id, "echo"):
                with suppress(NotFoundError):
                    asked.of(connection)
            assert ask.health(connection).database.endswith(" (schema jobs)")
        with psycopg.connect(urls["jobs_app"], autocommit=is_alone) as connection:
            for call in (ask.status, ask.counts, lambda each: ask.run(each, run_id)):
                with pytest.raises(DatabaseUnavailable, match=r"may not SELECT on the table jobs\..*: GRANT SELECT"):
                    call(connection)
            connection.execute("SELECT 1")
    enqueueing._settings_in.cache_clear()


def test_grants_of_the_page_suffice_for_each_role_and_for_no_more(
    jobrunner: Commands, urls: dict[str, str], tmp_path: Path
) -> None:
    def env(role: str) -> dict[str, str]:
        return {**SCHEMA, "JOBRUNNER_DATABASE_URL": urls[role], "APP_URL": urls["jobs_app"]}

    owner = {**SCHEMA}
    jobrunner("schedule", "add", "nightly", "--type", "echo", "--cron", "@daily", env=owner)
    jobrunner("enqueue", "echo", env=owner)
    jobrunner("tick", env=env("jobs_tick"))
    for line in ACTING:
        words = line.format(file=tmp_path / "runs.jsonl").split()
        done = jobrunner(*words, env=env("jobs_tick"), check=False)
        assert not DENIED.search(done.stderr), (line, done.stderr)
        assert done.returncode in (0, 1, 2), (line, done.stderr)
    jobrunner("enqueue", "echo", env=owner)
    for line in LOOKING:
        done = jobrunner(*line.split(), env=env("jobs_look"), check=False)
        assert not DENIED.search(done.stderr + done.stdout), (line, done.stderr)
        assert done.returncode in (0, 1), (line, done.stderr)
    for line in ("enqueue echo", "tick", "retry 1", "schedule add x --type echo --cron @daily", "prune"):
        assert DENIED.search(jobrunner.refused(None, *line.split(), env=env("jobs_look"))), line
    for role, statements in REFUSED.items():
        with psycopg.connect(urls[role], autocommit=True) as connection:
            for statement in statements:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(statement)


def become_application(jobrunner: Commands, urls: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    environment = jobrunner.environment
    given = {**SCHEMA, "JOBRUNNER_DATABASE_URL": urls["jobs_app"], "APP_URL": urls["jobs_app"]}
    monkeypatch.setattr(jobrunner, "environment", lambda env=None: environment({**given, **(env or {})}))


def test_role_of_an_application_suffices_to_enqueue(
    jobrunner: Commands, urls: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    become_application(jobrunner, urls, monkeypatch)
    assert jobrunner.python(ENQUEUEING) == "all enqueued\n"
    assert jobrunner.python(EXPIRING) == "all enqueued\n"


def test_role_with_the_rights_of_the_release_before_enqueues_all_but_runs_that_expire(
    jobrunner: Commands, database: Database, urls: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an upgrade no application could enqueue until somebody had given its role a right."""
    role = urlsplit(urls["jobs_app"]).username
    database.execute(f'REVOKE INSERT (start_deadline_at) ON jobs.job_runs FROM "{role}"')
    become_application(jobrunner, urls, monkeypatch)
    assert jobrunner.python(ENQUEUEING) == "all enqueued\n"
    _, said = jobrunner.start_python(EXPIRING).communicate(timeout=stretched(60))
    assert "permission denied for table job_runs" in said


@pytest.mark.parametrize("how", ["migrate", "the printed SQL"])
def test_roles_of_the_release_before_go_on_after_the_upgrade_without_a_new_grant(
    jobrunner: Commands, first_release: Release, database: Database, how: str
) -> None:
    """Every tick reads the table that schema 2 adds: all of them would have stood still until somebody granted it."""
    first_release("migrate", env=SCHEMA)
    with granted(database) as urls:
        if how == "migrate":
            jobrunner("migrate", env=SCHEMA)
        else:
            with psycopg.connect(database.url) as session:
                session.execute(jobrunner("schema", "--from-version", "1", env=SCHEMA).stdout.encode())
        ticking, looking = (SCHEMA | {"JOBRUNNER_DATABASE_URL": urls[role]} for role in ("jobs_tick", "jobs_look"))
        jobrunner("enqueue", "echo", env=ticking)
        jobrunner("tick", env=ticking)
        assert database.value("SELECT status FROM jobs.job_runs") == "succeeded"
        jobrunner("limit", "echo", "--max-running", "2", "--reason", "x", env=ticking)
        assert "max_running 2" in jobrunner("status", env=looking).stdout
        assert "permission" not in jobrunner("health", env=looking, check=False).stderr
        # Back, and again: the view that the older schema does not have is in nobody's way.
        jobrunner("downgrade", "1", "--delete-data", env=SCHEMA)
        first_release("status", env=looking)


# It does nothing for its own session, so that its owner can make an index of it.
TRAP = """
CREATE FUNCTION own.replaced(x int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
  IF session_user <> current_user THEN
    PERFORM jobs.jobrunner_replace('[{"id": 1, "payload": "{\\"stolen\\": true}", "run_in": 0}]');
  END IF;
  RETURN x;
END $$
"""


def test_role_that_may_not_enqueue_replaces_no_run_when_an_administrator_analyzes_its_table(
    jobrunner: Commands, urls: dict[str, str], database: Database
) -> None:
    """The server evaluates its index with its rights, in the session of the other one."""
    jobrunner("enqueue", "echo", "--key", "k", env=SCHEMA)
    role = urlsplit(urls["jobs_look"]).username
    database.execute("CREATE SCHEMA own")
    database.execute(f'GRANT ALL ON SCHEMA own TO "{role}"')
    with psycopg.connect(urls["jobs_look"], autocommit=True) as connection:
        connection.execute(TRAP)
        connection.execute("CREATE TABLE own.trap (x int)")
        connection.execute("INSERT INTO own.trap VALUES (1), (2), (3)")
        connection.execute("CREATE INDEX ON own.trap (own.replaced(x))")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        database.execute("ANALYZE own.trap")
    assert database.value("SELECT payload FROM jobs.job_runs") == {}


def test_function_with_the_rights_of_an_application_enqueues_and_replaces_for_who_may_not(
    jobrunner: Commands, urls: dict[str, str], database: Database
) -> None:
    role = urlsplit(urls["jobs_app"]).username
    database.execute("CREATE SCHEMA shop")
    database.execute(f'GRANT ALL ON SCHEMA shop TO "{role}"')
    database.execute("GRANT USAGE ON SCHEMA shop TO PUBLIC")
    with psycopg.connect(urls["jobs_app"], autocommit=True) as connection:
        connection.execute(
            "CREATE FUNCTION shop.buy(payload text) RETURNS void LANGUAGE sql SECURITY DEFINER AS $$ SELECT"
            " jobs.jobrunner_enqueue('echo', payload::jsonb, key => 'k', if_taken => 'replace') $$"
        )
    with psycopg.connect(urls["jobs_look"], autocommit=True) as connection:
        for payload in ('{"n": 1}', '{"n": 2}'):
            connection.execute("SELECT shop.buy(%s)", [payload])
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT jobs.jobrunner_replace('[]')")
    assert database.query("SELECT payload FROM jobs.job_runs") == [{"payload": {"n": 2}}]


def test_function_of_an_application_that_a_repair_has_created_again_serves_who_may_enqueue_only(
    jobrunner: Commands, urls: dict[str, str], database: Database
) -> None:
    database.execute("DROP FUNCTION jobs.jobrunner_replace(json)")
    database.execute("DROP FUNCTION jobs.jobrunner_hold(bigint, json)")
    assert "jobrunner_replace" in jobrunner("migrate", env=SCHEMA).stdout
    for role in ("jobs_app", "jobs_tick"):
        with psycopg.connect(urls[role], autocommit=True) as connection:
            connection.execute("SELECT jobs.jobrunner_replace('[]')")
    with psycopg.connect(urls["jobs_look"], autocommit=True) as connection:
        for call in ("jobs.jobrunner_replace('[]')", "jobs.jobrunner_hold(1, '[]')"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f"SELECT {call}")


def test_role_of_an_application_finds_its_key_though_it_may_not_write_messages_into_the_servers_log(
    jobrunner: Commands, urls: dict[str, str], database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(database, PostgresDatabase)
    with database.access.admin(database.database) as admin:
        (signature,) = admin.execute(
            "SELECT oid::regprocedure::text FROM pg_proc WHERE proname = 'pg_logical_emit_message' AND proargtypes[2] ="
            " 'text'::regtype"
        ).fetchone() or ("",)
        admin.execute(f"REVOKE EXECUTE ON FUNCTION {signature} FROM PUBLIC")
    become_application(jobrunner, urls, monkeypatch)
    enqueue = """
import asyncio, jobrunner
for _ in range(2):
    print(asyncio.run(jobrunner.enqueue_async(None, "echo", key="k")).id)
"""
    assert jobrunner.python(enqueue) == "1\n1\n"


HOLD = """
@job("hold", max_attempts=1)
def hold(ctx: Context, path: str):
    while not os.path.exists(path):
        time.sleep(0.01)
"""


@pytest.mark.promise("P1")
def test_run_at_work_ends_well_while_the_password_changes(
    jobrunner: Commands, app: App, database: PostgresDatabase, urls: dict[str, str]
) -> None:
    app.add(HOLD)
    (change,) = pages.checked_by("tests/store/test_roles.py::test_run_at_work_ends_well_while_the_password_changes")
    old = {**SCHEMA, "JOBRUNNER_DATABASE_URL": urls["jobs_tick"]}
    new = {**SCHEMA, "JOBRUNNER_DATABASE_URL": urls["jobs_tick"].replace(f":{PASSWORD}@", ":the%20new%20one@")}

    def enqueue() -> int:
        payload = json.dumps({"path": str(app.path("go"))})
        return int(jobrunner("enqueue", "hold", "--payload", payload, env=old).stdout)

    def status_of(run_id: int) -> object:
        return database.value("SELECT status FROM jobs.job_runs WHERE id = ?", [run_id])

    at_work = enqueue()
    tick = jobrunner.start("tick", env=old)
    wait_for(lambda: status_of(at_work) == "running")
    waiting = enqueue()
    with database.access.admin() as admin:
        admin.execute(change.text.replace("jobs_tick", f'"jobs_tick_{database.database}"'))
    assert PASSWORD not in jobrunner.refused(69, "status", env=old, says=["cannot use the database", "jobs_tick"])
    app.end(tick, "go")
    assert status_of(at_work) == "succeeded"
    jobrunner.tick(env=new)
    assert status_of(waiting) == "succeeded"
