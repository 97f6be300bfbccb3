"""What a listening tick does without notifications, or when its database is lost."""

import os
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from harness import App, Commands, Database, PostgresDatabase, PrivatePostgres, postgresql_only, sqlite_only, wait_for
from harness.databases import Copies
from harness.handlers_rows import queue, wait_until_running
from harness.listening_ticks import check_left_quietly, linger, log_lines, stop, wait_for_success
from harness.pooler import pooler
from harness.postgres import Lifeline
from harness.waiting import span, stretched

WAITS = """
SELECT count(*) AS waiting FROM pg_locks JOIN pg_database ON pg_database.oid = database
WHERE locktype = 'advisory' AND classid = 720615 AND datname = current_database()
"""


@pytest.fixture
def jobrunner_on_two_phases(app: App, tmp_path: Path) -> Iterator[Commands]:
    """On a server that lets transactions be prepared."""
    lifeline = Lifeline({"max_prepared_transactions": "2"})
    try:
        access = lifeline.server().start()
        commands = Commands(tmp_path, app, Copies(access).make())
        yield commands
        commands.close()
        access.forget_session()
    finally:
        lifeline.close()


def ended_early(jobrunner: Commands) -> str:
    (line,) = [line for line in log_lines(jobrunner, "linger") if line["result"] == "ended early"]
    assert line["level"] == "warning"
    return str(line["error"])


@postgresql_only
def test_a_lost_notification_only_costs_time(jobrunner: Commands, database: Database) -> None:
    tick = linger(jobrunner)
    database.execute("DROP TRIGGER jobrunner_notify ON job_runs")
    for _ in range(3):
        wait_for_success(database, queue(database, "append"))
    stop(tick)


@postgresql_only
def test_tick_behind_a_pooler_polls_and_leaves_no_listener(jobrunner: Commands, database: Database) -> None:
    with pooler(database.url) as url:
        tick = linger(jobrunner, JOBRUNNER_DATABASE_URL=url)
        assert database.value(WAITS) == 0
        wait_for_success(database, queue(database, "append"), queue(database, "append"))
        stop(tick)


def is_notified_of_insert(connection: psycopg.Connection[Any], database: Database) -> bool:
    """Whether an INSERT notifies: its notification would arrive before our own, which is sent later."""
    queue(database, "nobody_knows_it")
    database.execute("SELECT pg_notify('jobrunner', 'ours')")
    heard: list[str] = []
    while "ours" not in heard:
        heard += [notice.payload for notice in connection.notifies(timeout=stretched(20), stop_after=1)]
        assert heard, "not even our own notification came"
    return heard != ["ours"]


@postgresql_only
def test_enqueue_notifies_only_while_a_tick_listens(jobrunner: Commands, database: PostgresDatabase) -> None:
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute("LISTEN jobrunner")
        assert not is_notified_of_insert(connection, database)
        tick = linger(jobrunner)
        assert is_notified_of_insert(connection, database)
        stop(tick)
        assert not is_notified_of_insert(connection, database)
        killed = linger(jobrunner)
        killed.kill()
        database.wait_until(f"SELECT NOT ({WAITS.replace('count(*) AS waiting', 'count(*) > 0 AS held')}) AS gone")
        assert not is_notified_of_insert(connection, database)


def test_prepared_transaction_works_while_a_tick_listens(jobrunner_on_two_phases: Commands) -> None:
    """PostgreSQL refuses to prepare a transaction that has notified, so none notifies if prepare is enabled."""
    database = jobrunner_on_two_phases.database
    assert isinstance(database, PostgresDatabase)
    tick = linger(jobrunner_on_two_phases)
    with psycopg.connect(database.url) as connection:
        connection.tpc_begin("enqueued")
        connection.execute(
            "INSERT INTO job_runs (job_type, payload, status, priority, run_at, created_at, updated_at)"
            " VALUES ('append', '{}', 'queued', 0, jobrunner_now(), jobrunner_now(), jobrunner_now())"
        )
        connection.tpc_prepare()
        connection.tpc_commit()
    database.wait_until("SELECT count(*) FROM job_runs WHERE status = 'succeeded'")
    stop(tick)


@postgresql_only
def test_tick_that_no_longer_claims_is_not_notified(jobrunner: Commands, app: App, database: PostgresDatabase) -> None:
    tick = linger(jobrunner, "2s")
    run_id = queue(database, "wait_for", {"path": str(app.path("go"))})
    wait_until_running(database, run_id)
    database.wait_until(f"SELECT waiting = 0 AS none FROM ({WAITS}) AS locks")
    app.release("go")
    check_left_quietly(tick)


@postgresql_only
def test_flood_of_runs_pauses_notifications_and_is_drained(jobrunner: Commands, database: PostgresDatabase) -> None:
    tick = linger(jobrunner)
    was_paused = threading.Event()
    sent = 0
    insert = (
        "INSERT INTO job_runs (job_type, payload, status, priority, run_at, created_at, updated_at)"
        " VALUES ('echo', '{}', 'queued', 0, jobrunner_now(), jobrunner_now(), jobrunner_now())"
    )

    def look() -> None:
        database.wait_until(f"SELECT waiting = 0 AS none FROM ({WAITS}) AS locks")
        was_paused.set()

    watcher = threading.Thread(target=look)
    watcher.start()
    with database.connect() as connection:
        while watcher.is_alive():
            connection.execute(insert)
            sent += 1
    assert was_paused.is_set()
    database.wait_until(WAITS)
    database.wait_until(
        "SELECT count(*) = ? AS done FROM job_runs WHERE status = 'succeeded'", [sent], deadline_seconds=60
    )
    assert database.value("SELECT count(*) FROM job_ticks") == 1
    stop(tick)


@postgresql_only
def test_listening_tick_whose_connection_is_cut_goes_on_listening(
    jobrunner: Commands, database: PostgresDatabase
) -> None:
    tick = linger(jobrunner)
    for _ in range(2):
        assert database.cut_connections() >= 1
        database.wait_until(WAITS, describe="that it listens again")
        wait_for_success(database, queue(database, "append"))
    stop(tick)
    (row,) = database.query("SELECT * FROM job_ticks")
    assert (row["ended_by"], row["error"], row["counts"]["succeeded"]) == ("signal", None, 2)
    told = [line["result"] for line in log_lines(jobrunner, "linger")]
    assert told == ["listens", *["lost its connection", "listens again"] * 2, "over"]


@postgresql_only
def test_tick_that_listens_again_is_superseded_by_the_next_one_and_says_so(
    jobrunner: Commands, database: PostgresDatabase
) -> None:
    older = linger(jobrunner)
    assert database.cut_connections() >= 1
    database.wait_until(WAITS, describe="that it listens again")
    newer = linger(jobrunner)
    check_left_quietly(older)
    wait_for_success(database, queue(database, "append"))
    assert database.query("SELECT ended_by FROM job_ticks WHERE finished_at IS NOT NULL") == [
        {"ended_by": "superseded"}
    ]
    (line,) = log_lines(jobrunner, "tick")
    assert (line["result"], line["ended_by"]) == ("done", "superseded")
    stop(newer)


@postgresql_only
@pytest.mark.promise("P14", on="postgresql")
def test_running_runs_finish_and_later_ones_begin_after_the_listening_connection_is_cut(
    jobrunner: Commands, app: App, database: PostgresDatabase
) -> None:
    tick = linger(jobrunner)
    run_id = queue(database, "wait_for", {"path": str(app.path("go"))})
    wait_until_running(database, run_id)
    database.cut_connections()
    wait_for_success(database, queue(database, "append"))
    app.release("go")
    wait_for_success(database, run_id)
    stop(tick)
    assert database.value("SELECT count(*) FROM job_attempts") == 2


def wait_for_the_first_seconds(database: PostgresDatabase) -> None:
    # Not in the middle of its first claim, of which it would have to find out what became.
    database.wait_until("SELECT listening_at < jobrunner_now() - interval '2 seconds' AS waits FROM job_ticks")


def test_listening_tick_waits_for_a_server_that_comes_back(
    private_jobrunner: Commands, private_postgres: PrivatePostgres
) -> None:
    tick = linger(private_jobrunner)
    database = private_postgres.database
    wait_for_the_first_seconds(database)
    private_postgres.stop()
    wait_for(lambda: any(line["result"] == "lost its connection" for line in log_lines(private_jobrunner, "linger")))
    # A plain tick cannot do anything.
    assert private_jobrunner.tick(check=False).returncode == 69
    assert tick.poll() is None
    private_postgres.start()
    wait_for_success(database, queue(database, "append"))
    stop(tick)
    (row,) = database.query("SELECT * FROM job_ticks WHERE listening_at IS NOT NULL")
    assert (row["error"], row["counts"]["succeeded"]) == (None, 1)


def test_listening_tick_that_is_cut_off_until_its_time_is_over_says_so(
    private_jobrunner: Commands, private_postgres: PrivatePostgres
) -> None:
    tick = linger(private_jobrunner, "5s")
    wait_for_the_first_seconds(private_postgres.database)
    private_postgres.stop()
    out, err = tick.communicate(timeout=30)
    assert (tick.returncode, out, err.count("\n")) == (69, "", 1)
    assert err.startswith(("jobrunner: cannot use the database", "jobrunner: lost the connection"))
    private_postgres.start()
    after = linger(private_jobrunner)
    wait_for_success(private_postgres.database, queue(private_postgres.database, "append"))
    stop(after)


@sqlite_only
@pytest.mark.parametrize("replaced", [True, False])
def test_replaced_or_removed_sqlite_file_ends_listening(
    replaced: bool, jobrunner: Commands, database: Database
) -> None:
    path = database.url.removeprefix("sqlite:///")
    tick = linger(jobrunner)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy(path, f"{path}.new")
    os.remove(path)
    if replaced:
        os.rename(f"{path}.new", path)
    out, err = tick.communicate(timeout=10)
    assert (tick.returncode, out, err) == (69, "", f"jobrunner: {ended_early(jobrunner)}\n")
    assert "lost the connection" in err


@postgresql_only
def test_listening_tick_whose_claims_are_held_up_says_so_once_though_its_questions_are_answered(
    jobrunner: Commands, database: PostgresDatabase
) -> None:
    tick = linger(jobrunner, JOBRUNNER_LEASE=span(1))
    with closing(database.connect()) as session:
        session.execute("BEGIN")
        session.execute("INSERT INTO job_locks (name) VALUES ('places of here') ON CONFLICT DO NOTHING")
        session.execute("SELECT name FROM job_locks WHERE name = 'places of here' FOR UPDATE")
        run_id = queue(database, "append")
        for _ in range(3):
            wait_for_another_try(database)
        session.execute("ROLLBACK")
    wait_for_success(database, run_id)
    stop(tick)
    told = [line["result"] for line in log_lines(jobrunner, "database")]
    assert told == ["unavailable"], log_lines(jobrunner, "database")


def wait_for_another_try(database: PostgresDatabase) -> None:
    """Until a session waits for a lock, and then none or another statement does."""
    tries = (
        "SELECT pid, query_start FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    (first, *_) = wait_for(lambda: database.query(tries), 20, "a try")
    wait_for(lambda: first not in database.query(tries), 20, "the end of the try")
