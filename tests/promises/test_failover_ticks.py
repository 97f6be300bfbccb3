"""Ticks beside a standby that stalls and is promoted: the ledger outside of the database shows one payment."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from harness import App, Commands, Database, PostgresDatabase, pages, postgresql_only, sqlite_only, wait_for
from harness.effect_jobs import traces
from harness.handlers_rows import run_of
from harness.idle_ticks import tick
from harness.invariants import insert_runs, read_log
from harness.standby import Pair
from harness.waiting import span

HANDLERS = """
import os
import time

from jobrunner import Context, job


def leave_trace(text):
    trace = os.open(os.environ["TRACE_FILE"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(trace, f"{text}\\n".encode())
    os.close(trace)


def pay(key):
    leave_trace(f"paid {key}")


@job("charge", kill_after="1s")
def charge(ctx: Context, go: str):
    leave_trace("begun")
    while not os.path.exists(go):
        time.sleep(0.01)
    ctx.once("charge:7", pay, "charge:7")
"""


@pytest.mark.promise("P2", "P5")
def test_payment_is_made_once_though_the_standby_without_its_intent_is_promoted(
    pair: Pair, jobrunner_on_pair: Commands, app: App
) -> None:
    app.write("handlers", HANDLERS)
    go = app.path("go")
    (run_id,) = insert_runs(pair.database, 1, "charge", {"go": str(go)})
    # A quarter of the lease is the limit of a call: the watch cuts the COMMIT of the intent after half a second.
    tick = jobrunner_on_pair.start("tick", env={"JOBRUNNER_LEASE": span(2)})
    wait_for(lambda: traces(app) == ["begun"], 20, "the handler")
    pair.stall()
    go.touch()
    pair.database.wait_until("SELECT count(*) = 1 FROM job_effects")
    jobrunner_on_pair.finish(tick)
    promoted = pair.fail_over()
    assert promoted.query("SELECT key FROM job_effects") == []
    assert [run_of(promoted, run_id)[name] for name in ("status", "attempts")] == ["running", 1]
    jobrunner_on_pair.database = promoted
    for _ in range(2):
        promoted.move_clock(timedelta(hours=1))
        jobrunner_on_pair.tick()
    assert traces(app) == ["begun", "begun", "paid charge:7"]
    assert run_of(promoted, run_id)["status"] == "succeeded"


@pytest.mark.promise("P14")
def test_result_is_written_again_until_the_standby_has_it_and_the_tick_ends_well(
    pair: Pair, jobrunner_on_pair: Commands, app: App
) -> None:
    go, log = app.path("go"), app.path("log")
    (run_id,) = insert_runs(pair.database, 1, "wait_for", {"path": str(go)})
    tick = jobrunner_on_pair.start("tick", env={"JOBRUNNER_LEASE": span(8), "JOBRUNNER_LOG": str(log)})
    wait_for(app.trace, 20, "the handler")
    pair.stall()
    go.touch()
    # The watch has cut its COMMIT: the result is visible, and no standby has it.
    pair.database.wait_until("SELECT status = 'succeeded' FROM job_runs")
    wait_for(lambda: "finalize" in events(log), 20, "the second try")
    wait_for(pair.waiting, 20, "its COMMIT")
    assert run_of(pair.standby, run_id)["status"] == "running"
    assert "finalized" not in events(log)
    pair.resume()
    assert jobrunner_on_pair.finish(tick).returncode == 0
    assert "finalized" in events(log)
    assert run_of(pair.fail_over(), run_id)["status"] == "succeeded"


def events(log: Path) -> list[str]:
    return [line["event"] for line in read_log(log)]


def moves(database: Database) -> list[dict[str, Any]]:
    """By the question of the page."""
    name = "tests/promises/test_failover_ticks.py::test_promotion_is_noticed_once_in_the_trail_and_in_the_log"
    (block,) = pages.checked_by(name)
    return [row["detail"] for row in database.query(block.text)]


def prune(jobrunner: Commands, app: App, **env: str) -> list[str]:
    """A tick ten minutes later; what its log says of the server."""
    jobrunner.database.move_clock(timedelta(minutes=11))
    jobrunner.tick(env={"JOBRUNNER_LOG": str(app.path("log")), **env})
    return [line["result"] for line in read_log(app.path("log")) if line["event"] == "server changed"]


def test_promotion_is_noticed_once_in_the_trail_and_in_the_log(
    pair: Pair, jobrunner_on_pair: Commands, app: App
) -> None:
    """With a URL that names both servers, as the page has it, nothing is to be changed."""
    env = {"JOBRUNNER_DATABASE_URL": pair.url_of_both}
    assert prune(jobrunner_on_pair, app, **env) == prune(jobrunner_on_pair, app, **env) == []
    system, timeline = pair.database.value("SELECT server FROM job_state").split("/")
    jobrunner_on_pair.database = promoted = pair.fail_over()
    told = ["a standby was promoted, or a backup restored"]
    assert prune(jobrunner_on_pair, app, **env) == prune(jobrunner_on_pair, app, **env) == told
    before, after = ({"system": system, "timeline": str(int(timeline) + more)} for more in (0, 1))
    assert moves(promoted) == [{"before": before, "after": after}]


@postgresql_only
def test_database_that_was_restored_into_another_cluster_is_noticed(
    jobrunner: Commands, database: Database, app: App
) -> None:
    prune(jobrunner, app)
    database.execute("UPDATE job_state SET server = '1/7'")
    assert prune(jobrunner, app) == ["another server"]
    (detail,) = moves(database)
    assert detail["before"] == {"system": "1", "timeline": "7"}


@postgresql_only
def test_server_that_does_not_say_what_it_is_stops_no_tick_and_hides_no_promotion(
    jobrunner: Commands, database: Database, app: App
) -> None:
    hide(database, "pg_control_system()")
    database.execute("UPDATE job_state SET server = '1/7'")
    assert prune(jobrunner, app) == ["a standby was promoted, or a backup restored"]
    assert [each["after"] for each in moves(database)] == [{"system": "1", "timeline": "1"}]


def hide(database: Database, function: str) -> None:
    assert isinstance(database, PostgresDatabase)
    with database.access.admin(database.database) as admin:
        admin.execute(f"REVOKE EXECUTE ON FUNCTION {function} FROM PUBLIC")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        database.query(f"SELECT {function.replace('pg_lsn', 'pg_current_wal_lsn()')}")


@postgresql_only
def test_server_that_does_not_say_its_timeline_stops_no_tick_not_even_an_idle_one(
    jobrunner: Commands, database: Database
) -> None:
    hide(database, "pg_walfile_name(pg_lsn)")
    database.execute("UPDATE job_state SET server = '1/7'")
    jobrunner.tick()
    assert tick(jobrunner).was_short


@sqlite_only
def test_file_has_no_server_that_could_change(jobrunner: Commands, database: Database, app: App) -> None:
    assert prune(jobrunner, app) == []
    assert database.query("SELECT server FROM job_state") == [{"server": None}]


def test_idle_tick_beside_a_stalled_standby_says_what_its_commit_waits_for_and_what_to_do(
    pair: Pair, jobrunner_on_pair: Commands
) -> None:
    jobrunner_on_pair.tick()
    pair.stall()
    done = jobrunner_on_pair("tick", env={"JOBRUNNER_LEASE": span(2)}, check=False)
    assert (done.returncode, done.stdout) == (69, "")
    # The one or the other, by who was faster: the answer to the cancel request, or the end of the connection.
    found = "no synchronous standby has confirmed it|waits for a synchronous standby that does not confirm it"
    told = re.fullmatch(rf"jobrunner: .*(?:{found}); start the standby, or go on without it: (.*)\n", done.stderr)
    assert told, done.stderr
    with pair.access.admin() as admin:
        for statement in told[1].split("; "):
            admin.execute(statement)
    wait_for(lambda: not pair.waiting(), 20, "the setting")
    jobrunner_on_pair.tick()
