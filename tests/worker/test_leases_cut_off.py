"""A database that does not answer: calls that hang are cut, and what was claimed is returned."""

import contextlib
import os
import re
import signal
import subprocess
from datetime import timedelta

import psycopg
import pytest

from harness import App, Commands, PostgresDatabase, PrivatePostgres, wait_for
from harness.invariants import assert_consistent, insert_runs, outcomes, read_log, wait_for_exit
from harness.obstacles import commits_wait, sessions
from harness.waiting import stretched

LEASE_SECONDS = 6


@pytest.fixture
def database(private_postgres: PrivatePostgres) -> PostgresDatabase:
    return private_postgres.database


def start_tick(jobrunner: Commands, app: App, lease: timedelta | None = None) -> "subprocess.Popen[str]":
    seconds = stretched(LEASE_SECONDS) if lease is None else lease.total_seconds()
    return jobrunner.start("tick", env={"JOBRUNNER_LOG": str(app.path("log")), "JOBRUNNER_LEASE": f"{seconds}s"})


def tick_at_work(jobrunner: Commands, app: App, lease: timedelta | None = None) -> "subprocess.Popen[str]":
    process = start_tick(jobrunner, app, lease)
    wait_for(app.trace, 20, "the handler's first line")
    return process


@pytest.mark.promise("P2", "P14")
def test_a_call_on_a_frozen_connection_is_cut(
    database: PostgresDatabase, private_jobrunner: Commands, app: App
) -> None:
    """The server process of the main connection is stopped before the finalize: the next one writes it."""
    (run_id,) = insert_runs(database, 1, "wait_for", {"path": str(app.path("go"))})
    lease = timedelta(seconds=stretched(LEASE_SECONDS))
    process = tick_at_work(private_jobrunner, app, lease)
    frozen = sessions(database, "true")[0]
    os.kill(frozen, signal.SIGSTOP)
    released_at = database.now()
    app.end(process, "go")
    finished_at = database.value("SELECT finished_at FROM job_runs WHERE id = ?", [run_id])
    assert lease / 4 <= finished_at - released_at < 3 * lease / 4
    assert outcomes(database, run_id) == ["succeeded"]
    os.kill(frozen, signal.SIGCONT)
    assert_consistent(database)


@pytest.mark.promise("P2", "P14")
def test_a_finalize_whose_commit_hangs_is_found_to_be_applied(
    database: PostgresDatabase, private_jobrunner: Commands, app: App
) -> None:
    """Its row is locked by the COMMIT that hangs: the next try passes it over, until it is known what became of it."""
    (run_id,) = insert_runs(database, 1, "wait_for", {"path": str(app.path("go"))})
    with commits_wait(database, "NEW.status = 'succeeded'"):
        process = tick_at_work(private_jobrunner, app)
        app.release("go")
        wait_for(lambda: any(line["event"] == "finalize" for line in read_log(app.path("log"))), 20, "the cut")
        assert process.poll() is None
    assert wait_for_exit(process, 0) == ""
    assert outcomes(database, run_id) == ["succeeded"]
    assert "finalized" in [line["event"] for line in read_log(app.path("log"))]
    assert_consistent(database)


@pytest.mark.promise("P2", "P6")
def test_other_handlers_go_on_while_a_commit_hangs(
    database: PostgresDatabase, private_jobrunner: Commands, app: App
) -> None:
    """The heartbeat waits for no row that the hanging COMMIT has locked: the others are renewed, again and again."""
    (first,) = insert_runs(database, 1, "wait_for", {"path": str(app.path("go"))})
    (second,) = insert_runs(database, 1, "wait_for", {"path": str(app.path("go on"))})
    leases = "SELECT max(locked_until) - min(locked_until) > interval '4 seconds' FROM job_runs"
    with commits_wait(database, "NEW.status = 'succeeded'"):
        process = start_tick(private_jobrunner, app)
        wait_for(lambda: len(app.trace()) == 2, 20, "both handlers")
        app.release("go")
        database.wait_until(leases, describe="the other lease is renewed, again and again")
    database.wait_until("SELECT status = 'succeeded' AS done FROM job_runs WHERE id = ?", [first])
    app.release("go on")
    wait_for_exit(process, 0)
    assert (outcomes(database, first), outcomes(database, second)) == (["succeeded"], ["succeeded"])
    assert "stopped" not in [line["event"] for line in read_log(app.path("log"))]
    assert_consistent(database)


@pytest.mark.promise("P1", "P6")
def test_claim_whose_commit_got_no_answer_is_returned(
    database: PostgresDatabase, private_jobrunner: Commands, app: App
) -> None:
    """It is applied after the tick has cut it: the run is not started, and is claimed again, uncharged."""
    (run_id,) = insert_runs(database, 1)
    with commits_wait(database, "NEW.status = 'running'"):
        process = start_tick(private_jobrunner, app)
        wait_for(lambda: "unavailable" in [line.get("result") for line in read_log(app.path("log"))], 20, "the cut")
    assert wait_for_exit(process, 0) == ""
    assert outcomes(database, run_id) == ["succeeded"]
    assert [line.attempt for line in app.trace()] == [1]
    assert "unanswered claim returned" in [line.get("result") for line in read_log(app.path("log"))]
    assert_consistent(database)


@pytest.mark.promise("P1", "P2")
def test_cancel_reaches_a_claim_that_is_returned(
    database: PostgresDatabase, private_jobrunner: Commands, app: App
) -> None:
    """Cancel wins over handing back: it waits for the row that the hanging claim has locked."""
    (run_id,) = insert_runs(database, 1)
    with commits_wait(database, "NEW.status = 'running' AND NEW.cancel_requested_at IS NULL"):
        process = start_tick(private_jobrunner, app)
        wait_for(lambda: "unavailable" in [line.get("result") for line in read_log(app.path("log"))], 20, "the cut")
        cancel = private_jobrunner.start("cancel", run_id)
        database.wait_until("SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'")
    assert cancel.wait(20) == 0
    assert wait_for_exit(process, 0) == ""
    assert database.value("SELECT status FROM job_runs") == "cancelled"
    assert app.trace() == []
    assert_consistent(database)


@pytest.mark.promise("P6")
def test_call_that_hangs_outside_the_loop_is_cut(
    database: PostgresDatabase, private_jobrunner: Commands, app: App
) -> None:
    """Else every minute another tick would come to wait behind the first one."""
    with contextlib.closing(psycopg.connect(database.url)) as holder:
        holder.execute("LOCK TABLE job_definitions")
        stderr = wait_for_exit(start_tick(private_jobrunner, app), 69)
        session = holder.info.backend_pid
    assert re.fullmatch(rf"jobrunner: cannot use the database [^\n]*: session {session} of the role [^\n]*\n", stderr)
    assert private_jobrunner.tick().stderr == ""
