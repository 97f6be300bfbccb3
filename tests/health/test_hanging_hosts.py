"""A host that dies between two statements, or a forgotten transaction: the other hosts go on with their work."""

import contextlib
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from harness import App, Commands, PostgresDatabase, postgresql_only, wait_for
from harness.database import Row
from harness.fault_points import POINTS
from harness.fault_scene import FaultScene
from harness.invariants import assert_consistent, insert_runs, outcomes, statuses
from harness.processes import is_stopped
from harness.waiting import span, stretched

IN_A_TRANSACTION = [point for point in POINTS if point.endswith(".before_commit")]


OPEN = "datname = current_database() AND application_name = 'jobrunner' AND xact_start IS NOT NULL"


def on(host: str) -> dict[str, str]:
    """The settings of a tick of this host: its calls, and the sessions that it leaves behind, end soon."""
    return {"JOBRUNNER_LEASE": span(4), "JOBRUNNER_HEARTBEAT": "0.2s", "JOBRUNNER_HOST": host}


def ids_of(rows: list[Row]) -> set[int]:
    return {row["id"] for row in rows}


@pytest.mark.promise("P1", "P2", "P6", on="postgresql")
@postgresql_only
@pytest.mark.long(sample=4)
@pytest.mark.parametrize("point", IN_A_TRANSACTION)
def test_host_that_dies_in_a_transaction_blocks_no_other_host(
    jobrunner: Commands, app: App, database: PostgresDatabase, point: str
) -> None:
    scene = FaultScene(jobrunner, app, database)
    env = {**on("dead"), "JOBRUNNER_FAULT": f"{point}=stop", "SLOW_SECONDS": "2"}
    dead = jobrunner.start("tick", env=env)
    wait_for(lambda: is_stopped(dead.pid), 20, "the end of the host")
    due = "SELECT id FROM job_runs WHERE status IN ('queued', 'failed') AND run_at <= jobrunner_now()"
    # Whatever the host is stopped at, it may also have a claim under way, which locks its rows.
    free = ids_of(database.query(f"{due} FOR UPDATE SKIP LOCKED"))
    living = jobrunner.tick(env=on("living"))
    assert living.stderr == ""
    # What the dead host has not got in its hands is done.
    assert not free & ids_of(database.query(due))
    database.wait_until(f"SELECT count(*) = 0 FROM pg_stat_activity WHERE {OPEN}", describe="the end of its session")
    # Its permits are free again: the same host, started again, claims.
    assert jobrunner.tick(env=on("dead")).stderr == ""
    dead.kill()
    scene.settle()
    assert_consistent(database)
    assert len(scene.slot_runs()) == 1
    assert statuses(database) == {"succeeded": len(scene.due) + 2, "dead": 1}
    for run_id in [*scene.due, *scene.slot_runs()]:
        assert outcomes(database, run_id)[-1] == "succeeded"
        assert outcomes(database, run_id)[:-1] in ([], ["lease_expired"])


@contextlib.contextmanager
def locked_definition(database: PostgresDatabase, *selections: str) -> Iterator[int]:
    """In one transaction that stands still; the number of its session."""
    with contextlib.closing(psycopg.connect(database.url)) as session:
        for selection in selections:
            assert session.execute(f"SELECT 1 FROM {selection} FOR UPDATE").fetchone(), selection
        yield session.info.backend_pid


def old_rows(database: PostgresDatabase) -> None:
    """A row to prune in each table that is pruned, and a schedule whose new run replaces one that waits."""
    old, now = datetime(2020, 1, 1, tzinfo=UTC), database.now()
    (run_id,) = insert_runs(database, 1, status="succeeded", finished_at=old)
    database.execute(
        "INSERT INTO job_attempts (run_id, sequence, attempt, lease_token, worker, host, started_at, finished_at,"
        " outcome) VALUES (?, 1, 1, 't', 'w', 'h', ?, ?, 'succeeded')",
        [run_id, old, old],
    )
    database.execute("INSERT INTO job_ticks (host, worker, version, started_at) VALUES ('h', 'w', '0', ?)", [old])
    database.execute("INSERT INTO job_events (at, actor, action, detail) VALUES (?, 'a', 'a', '{}')", [old])
    for name, overlap in (("replacing", "replace"), ("plain", "allow")):
        database.execute(
            "INSERT INTO job_definitions (name, overlap, last_slot_at, next_run_at, created_at, updated_at,"
            " job_type, payload, schedule, timezone, source)"
            " VALUES (?, ?, ?, ?, ?, ?, 'append', '{}', '* * * * *', 'UTC', 'cli')",
            [name, overlap, now - timedelta(minutes=3), now - timedelta(minutes=2), now, now],
        )
    definition_id = database.value("SELECT id FROM job_definitions WHERE name = 'replacing'")
    insert_runs(database, 1, definition_id=definition_id, status="failed", attempts=1, run_at=now + timedelta(hours=1))


@postgresql_only
def test_locked_rows_do_not_stop_the_other_work_of_a_tick(
    jobrunner: Commands, app: App, database: PostgresDatabase
) -> None:
    old_rows(database)
    free, kept = insert_runs(database, 2)
    everywhere = [
        "job_state",
        "job_ticks",
        "job_events",
        "job_runs WHERE status = 'succeeded'",
        "job_runs WHERE definition_id IS NOT NULL",
        f"job_runs WHERE id = {kept}",
    ]
    with locked_definition(database, *everywhere):
        began_at = time.monotonic()
        done = jobrunner.tick(env=on("living"))
        assert time.monotonic() - began_at < stretched(20)
        assert done.stderr == ""
        made = database.query("SELECT name, status FROM job_runs JOIN job_definitions d ON d.id = definition_id")
        assert {(row["name"], row["status"]) for row in made} == {("replacing", "failed"), ("plain", "succeeded")}
        assert outcomes(database, free) == ["succeeded"]
        assert outcomes(database, kept) == []
    jobrunner.tick(env=on("living"))
    assert outcomes(database, kept) == ["succeeded"]
    assert database.value("SELECT count(*) FROM job_runs WHERE status = 'cancelled'") == 1
    assert database.value("SELECT count(*) FROM job_ticks WHERE worker = 'w'") == 0


@postgresql_only
def test_session_that_blocks_pruning_is_named_after_the_other_work(
    jobrunner: Commands, app: App, database: PostgresDatabase
) -> None:
    old_rows(database)
    (run_id,) = insert_runs(database, 1)
    with locked_definition(database, "job_attempts") as session:
        done = jobrunner.tick(env=on("living"), check=False)
    assert done.returncode == 69
    assert re.fullmatch(rf"jobrunner: [^\n]*: session {session} of the role [^\n]*\n", done.stderr)
    assert outcomes(database, run_id) == ["succeeded"]
    assert str(session) in database.value("SELECT error FROM job_ticks WHERE error IS NOT NULL")
