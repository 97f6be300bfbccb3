"""Transactions: enqueue belongs to the caller's transaction, and jobrunner has none open while a handler works."""

import json
import time
from contextlib import closing
from datetime import datetime

import pytest

from harness import App, Commands, Database, PostgresDatabase, SQLiteDatabase, postgresql_only, sqlite_only, wait_for
from harness.at_work import BEATS
from harness.handlers_rows import queue, run_of, status_of, wait_until_running
from harness.waiting import stretched

APPLICATION = """
import json, os, sys
from datetime import timedelta
from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session
import jobrunner
import handlers

url = os.environ["JOBRUNNER_DATABASE_URL"].replace("postgresql://", "postgresql+psycopg://")
engine = create_engine(url)
with engine.begin() as connection:
    connection.execute(text("CREATE TABLE orders (id INTEGER)"))


def transaction(kind):
    return Session(engine) if kind == "session" else engine.connect()


def order(connection, number):
    connection.execute(text("INSERT INTO orders VALUES (:number)"), {"number": number})


answers = {}
for kind in ("connection", "session"):
    with transaction(kind) as connection:
        order(connection, 1)
        handlers.append.enqueue(connection, kind=kind, end="rolled back")
        connection.rollback()
        order(connection, 2)
        lost = handlers.append.using(key=f"{kind} 1").enqueue(connection, kind=kind, end="dropped")
        connection.rollback()
        order(connection, 3)
        options = {"priority": 3, "max_attempts": 2, "timeout": "9s", "run_at": timedelta(0)}
        kept = handlers.append.using(key=f"{kind} 1", **options).enqueue(connection, kind=kind, end="committed")
        again = handlers.append.using(key=f"{kind} 1").enqueue(connection, kind=kind, end="again")
        connection.commit()
        later = handlers.append.using(key=f"{kind} 1").enqueue(connection, kind=kind, end="again")
        other = handlers.echo.using(key=f"{kind} 1").enqueue(connection, end="of another type")
        by_name = jobrunner.enqueue(connection, "append", {"kind": kind, "end": "by name"})
        refused = []
        for wrong in ({"seconds": "x"}, {}, {"seconds": 1, "minutes": 2}, {"run_at": "soon"}, {"timeout": 0},
                      {"max_attempts": 0}, {"priority": 5000}):
            try:
                if "seconds" in wrong or not wrong:
                    handlers.sleep.enqueue(connection, **wrong)
                else:
                    handlers.sleep.using(**wrong).enqueue(connection, seconds=1)
            except Exception as error:
                refused.append(type(error).__name__)
        connection.commit()
    answers[kind] = {"lost": lost.created, "kept": [kept.id, kept.created], "again": [again.id, again.created],
                     "later": [later.id, later.created], "other": other.created, "by_name": by_name.created,
                     "refused": refused}
print(json.dumps(answers))
"""


@pytest.mark.promise("P1", "P4")
def test_a_run_exists_if_and_only_if_the_callers_transaction_commits(
    jobrunner: Commands, app: App, database: Database
) -> None:
    answers = json.loads(jobrunner.python(APPLICATION))
    for kind in ("connection", "session"):
        found = answers[kind]
        run_id, created = found["kept"]
        assert (created, found["lost"], found["other"], found["by_name"]) == (True, True, True, True)
        assert found["again"] == found["later"] == [run_id, False]
        assert found["refused"] == ["PayloadMismatch"] * 3 + ["WrongOption"] * 4
        row = run_of(database, run_id)
        assert row["payload"] == {"kind": kind, "end": "committed"}
        options = (row["priority"], row["max_attempts"], row["timeout"], row["idempotency_key"])
        assert options == (3, 2, 9.0, f"{kind} 1")
    assert [row["id"] for row in database.query("SELECT id FROM orders ORDER BY id")] == [3, 3]
    ends = [row["payload"]["end"] for row in database.query("SELECT payload FROM job_runs ORDER BY id")]
    assert ends == ["committed", "of another type", "by name"] * 2
    jobrunner.tick()
    assert database.value("SELECT count(*) FROM job_runs WHERE status = 'succeeded'") == 6


@pytest.mark.promise("P11")
@postgresql_only
def test_no_session_is_in_a_transaction_while_a_handler_works(
    jobrunner: Commands, app: App, database: PostgresDatabase
) -> None:
    runs = [queue(database, "wait_for", {"path": str(app.path("go"))}) for _ in range(3)]
    tick = jobrunner.start("tick", env={**BEATS, "JOBRUNNER_HEARTBEAT": "100ms"})
    for run_id in runs:
        wait_until_running(database, run_id)
    beats: set[datetime] = set()
    states: set[str] = set()
    oldest = 0.0
    ends_at = time.monotonic() + 100
    while len(beats) < 20:
        assert time.monotonic() < ends_at, "twenty heartbeats"
        beats.add(run_of(database, runs[0])["heartbeat_at"])
        for session in database.query(
            "SELECT state, extract(epoch FROM clock_timestamp() - xact_start) AS age FROM pg_stat_activity"
            # A session that is just being made has no state yet.
            " WHERE datname = current_database() AND application_name = 'jobrunner' AND state IS NOT NULL"
        ):
            states.add(session["state"])
            oldest = max(oldest, session["age"] or 0.0)
    # A heartbeat in the middle of its statements may be seen; a transaction that stays open may not.
    assert states <= {"idle", "active", "idle in transaction"}
    assert "idle" in states
    assert oldest < stretched(1.5)
    app.end(tick, "go")
    assert {status_of(database, run_id) for run_id in runs} == {"succeeded"}


@pytest.mark.promise("P11")
@postgresql_only
def test_between_two_heartbeats_every_session_is_idle(
    jobrunner: Commands, app: App, database: PostgresDatabase
) -> None:
    run_id = queue(database, "wait_for", {"path": str(app.path("go"))})
    # One place and a minute between heartbeats: nothing has to be written until the handler ends.
    tick = jobrunner.start("tick", env={"JOBRUNNER_CONCURRENCY": "1", "JOBRUNNER_LEASE": "5m"})
    wait_until_running(database, run_id)
    statement = (
        "SELECT count(*) > 0 AND bool_and(state = 'idle') AND bool_and(xact_start IS NULL)"
        " AND bool_and(state_change < clock_timestamp() - interval '1 second') FROM pg_stat_activity"
        " WHERE datname = current_database() AND application_name = 'jobrunner'"
    )
    database.wait_until(statement, describe="every session of the tick has been idle for a second")
    locks = "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE application_name = 'jobrunner'"
    assert database.value(locks + " AND datname = current_database()") == 0
    app.end(tick, "go")


@pytest.mark.promise("P11")
@sqlite_only
def test_another_writer_gets_the_sqlite_file_at_once_while_a_handler_works(
    jobrunner: Commands, app: App, database: SQLiteDatabase
) -> None:
    run_id = queue(database, "wait_for", {"path": str(app.path("go"))})
    tick = jobrunner.start("tick", env={"JOBRUNNER_CONCURRENCY": "1", "JOBRUNNER_LEASE": "5m"})
    wait_until_running(database, run_id)
    wait_for(app.trace, 20, "the handler's start")
    with closing(database.connect()) as writer:
        writer.execute("PRAGMA busy_timeout = 0")
        writer.execute("CREATE TABLE own (a)")
        ends_at = time.monotonic() + 1
        while time.monotonic() < ends_at:
            writer.execute("BEGIN IMMEDIATE")
            writer.execute("INSERT INTO own VALUES (1)")
            writer.execute("COMMIT")
            # Nor does a reader of ours keep the log of the file from being emptied.
            assert writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
    assert (tick.poll(), status_of(database, run_id)) == (None, "running")
    app.end(tick, "go")
    assert status_of(database, run_id) == "succeeded"
