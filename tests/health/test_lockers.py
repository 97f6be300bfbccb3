"""Who looks is told who holds a lock that ticks need: which session or process, of whom, and for how long."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from harness import App, Commands, Database, PostgresDatabase, SQLiteDatabase, postgresql_only, sqlite_only
from harness.explain_scene import HOUR, Scene, make_scene
from harness.locks import linux_tells
from harness.processes import Patient
from harness.waiting import span
from jobrunner.store.questions.lockers import TABLES
from jobrunner.store.sql.versions import VERSION_TABLE
from jobrunner.store.upkeep.neighbours import our_names

HOLD_FILE = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""
LOCK_WHOLE_FILE = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    fcntl.lockf(file, fcntl.LOCK_EX)
    print("held", flush=True)
    sys.stdin.read()
"""
WHAT = {
    "the row": ("SELECT id FROM job_runs WHERE id = {run} FOR UPDATE", "the row of run {run}"),
    "all rows": ("SELECT id FROM job_runs FOR UPDATE", "the row of run {run}"),
    "a change of the row": ("UPDATE job_runs SET priority = 1 WHERE id = {run}", "the row of run {run}"),
    "the table": ("LOCK TABLE job_runs IN EXCLUSIVE MODE", "the table job_runs"),
}


@pytest.fixture
def scene(jobrunner: Commands, database: Database, app: App) -> Scene:
    return make_scene(jobrunner, database, app)


@contextmanager
def session(database: Database, statement: str) -> Iterator[int]:
    """A session of PostgreSQL that has done this and has not ended its transaction."""
    assert isinstance(database, PostgresDatabase)
    with closing(database.connect()) as holder:
        holder.execute("SET application_name = 'shop'")
        holder.execute("BEGIN")
        holder.execute(statement)
        yield holder.info.backend_pid


@contextmanager
def process(database: Database, program: str = HOLD_FILE) -> Iterator[int]:
    """A process that holds the write lock of the file."""
    assert isinstance(database, SQLiteDatabase)
    command = [sys.executable, "-c", program, str(database.path)]
    with Patient(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == "held\n"
        try:
            yield holder.pid
        finally:
            if not holder.stdin.closed:
                holder.stdin.close()
            holder.wait(10)


def check(scene: Scene, name: str) -> dict[str, Any]:
    (found,) = [
        each
        for each in scene.run("doctor", "--json", "--no-crontab", check=False).json()["checks"]
        if each["name"] == name
    ]
    return dict(found)


@postgresql_only
@pytest.mark.promise("P12")
@pytest.mark.parametrize("what", WHAT)
def test_who_holds_a_row_or_the_table_is_named_to_who_asks_why_a_run_waits(what: str, scene: Scene) -> None:
    """explain said "would be claimed now", and health "ok", while ticks passed the row over."""
    run_id = scene.queue()
    assert scene.explain(run_id)["reason"] == "ready"
    statement, named = (each.format(run=run_id) for each in WHAT[what])
    with session(scene.database, statement) as pid:
        found = scene.explain(run_id)
        assert (found["reason"], found["facts"]["session"]) == ("locked", pid), found
        assert f"session {pid} of the role " in found["sentence"], found
        assert "(shop), idle in transaction, its transaction open for " in found["sentence"]
        assert f"holds {named}" in found["sentence"]
        assert found["facts"]["held_since"] is not None
        if what in ("the row", "the table"):
            env = {**scene.env, "JOBRUNNER_HEALTH_TICK_AGE": "0.001s"}
            health = scene.jobrunner("health", "--json", "--only", "locked", env=env, check=False).json()["findings"]
            assert [f"session {pid} of" in each["sentence"] for each in health] == [True]
            assert check(scene, "locks")["verdict"] in ("ok", "wrong")
        scene.database.execute(found["remedy"].rpartition(": ")[2])
    assert scene.explain(run_id)["reason"] == "ready"


@postgresql_only
def test_who_holds_the_row_of_a_due_schedule_is_named(scene: Scene) -> None:
    scene.run("schedule", "add", "nightly", "--type", "echo", "--cron", "@daily")
    at = scene.database.now() - HOUR
    scene.database.execute("UPDATE job_definitions SET last_slot_at = ?, next_run_at = ?", [at - 24 * HOUR, at])
    assert scene.explain("nightly")["reason"] == "ready"
    with session(scene.database, "SELECT id FROM job_definitions FOR UPDATE") as pid:
        found = scene.explain("nightly")
        assert (found["reason"], found["facts"]["session"]) == ("locked", pid), found
        assert "holds the row of the schedule nightly" in found["sentence"]
        scene.database.execute(found["remedy"].rpartition(": ")[2])
    assert scene.explain("nightly")["reason"] == "ready"


@postgresql_only
def test_a_role_that_may_not_see_the_session_of_another_one_is_told_so(scene: Scene) -> None:
    run_id, database = scene.queue(), scene.database
    assert isinstance(database, PostgresDatabase)
    name = f"look_{database.database}"
    with database.access.admin(database.database) as admin:
        admin.execute(f"CREATE ROLE \"{name}\" LOGIN PASSWORD 'x'")
        admin.execute(f'GRANT USAGE ON SCHEMA public TO "{name}"')
        admin.execute(f'GRANT SELECT ON ALL TABLES IN SCHEMA public TO "{name}"')
    try:
        url = database.url.replace("://", f"://{name}:x@", 1) if "@" not in database.url else None
        if url is None:
            scheme, _, rest = database.url.partition("://")
            url = f"{scheme}://{name}:x@{rest.rpartition('@')[2]}"
        with session(database, f"SELECT id FROM job_runs WHERE id = {run_id} FOR UPDATE") as pid:
            env = {**scene.env, "JOBRUNNER_DATABASE_URL": url}
            found = scene.jobrunner("explain", run_id, "--json", env=env).json()
        assert found["reason"] == "locked", found
        assert f"session {pid} of the role " in found["sentence"]
        assert "doing what only that role may see" in found["sentence"]
    finally:
        database.forget_sessions()
        with database.access.admin(database.database) as admin:
            admin.execute(f'DROP OWNED BY "{name}"')
            admin.execute(f'DROP ROLE "{name}"')


@linux_tells
@sqlite_only
def test_the_process_that_holds_the_write_lock_of_a_file_is_named(scene: Scene) -> None:
    assert isinstance(scene.database, SQLiteDatabase)
    run_id = scene.queue()
    env = {**scene.env, "JOBRUNNER_PATIENCE": span(1), "JOBRUNNER_HEALTH_TICK_AGE": "0.5s"}
    with process(scene.database) as pid:
        found = scene.explain(run_id)
        assert (found["reason"], found["facts"]["session"]) == ("locked", pid), found
        assert f"process {pid} (" in found["sentence"]
        assert "holds the write lock of the file" in found["sentence"]
        assert found["remedy"].endswith(f": kill {pid}")
        health = scene.jobrunner("health", "--json", "--only", "locked", env=env, check=False).json()["findings"]
        assert [f"process {pid} (" in each["sentence"] for each in health] == [True]
        assert check(scene, "locks")["remedy"] == f"kill {pid}"
        # Who acts is told, too.
        refused = scene.jobrunner("cancel", run_id, env=env, check=False)
        assert refused.returncode == 69
        assert f"process {pid} (" in refused.stderr, refused
    assert scene.explain(run_id)["reason"] == "ready"
    with closing(sqlite3.connect(scene.database.path)) as reader:
        # A reader holds nobody up.
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM job_runs")
        assert scene.explain(run_id)["reason"] == "ready"


@linux_tells
@sqlite_only
def test_process_that_has_locked_a_file_up_to_its_end_is_named(jobrunner: Commands, database: Database) -> None:
    """As a program that copies it: SQLite itself locks single bytes."""
    with process(database, LOCK_WHOLE_FILE) as pid:
        named = [f"process {pid} (", "holds the write lock of the file"]
        jobrunner.refused(69, "status", env={"JOBRUNNER_PATIENCE": span(1)}, says=named)


def test_the_tables_whose_locks_are_looked_at_are_ours() -> None:
    assert set(TABLES) == our_names() - {VERSION_TABLE}
