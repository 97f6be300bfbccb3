"""A real PgBouncer with transaction pooling: paused, and in front of a server with a held lock."""

import re
import socket
from contextlib import ExitStack, closing
from pathlib import Path

import psycopg
import pytest

import jobrunner as library
from harness import App, Commands, PostgresDatabase, postgresql_only, wait_for
from harness.at_work import BEATS
from harness.front import connect, in_front_of
from harness.handlers_rows import make_due, queue, run_of
from harness.invariants import insert_runs, outcomes
from harness.pgbouncer import Bouncer
from harness.processes import is_stopped
from harness.stops import start_tick
from jobrunner import ask

LEASE = {"JOBRUNNER_LEASE": "8s", "JOBRUNNER_PATIENCE": "3s"}

pytestmark = postgresql_only


def test_paused_pooler_is_detected_and_a_resumed_pooler_is_used(
    jobrunner: Commands, database: PostgresDatabase, bouncer: Bouncer
) -> None:
    (run_id,) = insert_runs(database, 1)
    env = {**LEASE, "JOBRUNNER_DATABASE_URL": bouncer.url}
    jobrunner("status", env=env)
    bouncer.tell("PAUSE")
    words = [["tick"], ["status"], ["enqueue", "echo"], ["migrate"]]
    started = [jobrunner.start(*each, env=env) for each in words]
    for process in started:
        _, stderr = process.communicate(timeout=25)
        assert process.returncode == 69
        assert re.fullmatch(r"jobrunner: [^\n]* (no answer for (2|3\.75) s|did not answer in time); [^\n]*\n", stderr)
    bouncer.tell("RESUME")
    assert jobrunner.tick(env=env).stderr == ""
    assert outcomes(database, run_id) == ["succeeded"]


@pytest.mark.promise("P1", "P6", on="postgresql")
def test_time_limits_hold_behind_a_pooler_and_the_holder_of_a_lock_is_named(
    jobrunner: Commands, app: App, database: PostgresDatabase, bouncer: Bouncer
) -> None:
    (run_id,) = insert_runs(database, 1)
    env = {**LEASE, "JOBRUNNER_DATABASE_URL": bouncer.url}
    with closing(psycopg.connect(database.url)) as holder:
        holder.execute("LOCK TABLE job_definitions")
        stderr = jobrunner.tick(env=env, check=False).stderr
        assert f": session {holder.info.backend_pid} of the role {database.access.role} " in stderr
        waiting = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        assert database.value(waiting) == 0
    dead = jobrunner.start("tick", env={**env, "JOBRUNNER_FAULT": "claim.before_commit=stop"})
    wait_for(lambda: is_stopped(dead.pid), 20, "the end of the host")
    database.wait_until(
        "SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = current_database()"
        " AND application_name = 'jobrunner' AND xact_start IS NOT NULL",
        describe="the end of its transaction",
    )
    assert jobrunner.tick(env=env).stderr == ""
    assert outcomes(database, run_id) == ["succeeded"]


def test_callers_without_prepared_statements_enqueue_behind_a_transaction_pooler(
    database: PostgresDatabase, bouncer: Bouncer
) -> None:
    """What docs/howto/operations.md tells them to set. Two clients at once have the pooler give them other sessions."""
    with psycopg.connect(bouncer.url, prepare_threshold=None) as first, psycopg.connect(bouncer.url) as second:
        second.prepare_threshold = None
        for number in range(12):
            for connection in (first, second) if number % 2 else (second, first):
                library.enqueue(connection, "append", {"number": number}, key=f"{number} {id(connection)}")
            second.rollback()
            first.commit()
    assert database.value("SELECT count(*) FROM job_runs") == 12


PAGES = """
@job("pages", max_attempts=2)
def pages(ctx: Context, go: str):
    page = ctx.step("load", lambda: ctx.attempt)
    ctx.checkpoint([ctx.attempt, ctx.last_checkpoint])
    while not os.path.exists(go):
        time.sleep(0.01)
    if ctx.attempt == 1:
        raise ValueError("once")
    return [page, ctx.last_checkpoint]
"""


@pytest.mark.promise("P1", on="postgresql")
def test_checkpoint_is_written_by_a_beat_behind_a_pooler_and_the_next_attempt_goes_on_from_it(
    jobrunner: Commands, app: App, database: PostgresDatabase, bouncer: Bouncer
) -> None:
    app.add(PAGES)
    run_id = queue(database, "pages", {"go": str(app.path("go"))})
    env = {"JOBRUNNER_DATABASE_URL": bouncer.url}
    tick = start_tick(jobrunner, **BEATS, **env)
    database.wait_until("SELECT count(*) FROM job_runs WHERE checkpoint IS NOT NULL", describe="a beat")
    app.release("go")
    assert tick.wait(30) == 0
    assert run_of(database, run_id)["checkpoint"] == {"value": [1, None], "steps": {"load": 1}}
    make_due(database, run_id)
    jobrunner.tick(env=env)
    assert run_of(database, run_id)["result"] == [1, [2, [1, None]]]


@pytest.mark.parametrize("autocommit", [True, False])
def test_callers_without_prepared_statements_ask_behind_a_transaction_pooler_and_nothing_stays_on_its_sessions(
    jobrunner: Commands, database: PostgresDatabase, bouncer: Bouncer, autocommit: bool
) -> None:
    run_id = jobrunner.enqueue("echo")
    jobrunner.tick()
    with psycopg.connect(bouncer.url, autocommit=autocommit, prepare_threshold=None) as connection:
        for _ in range(7):
            assert ask.health(connection).healthy
            assert ask.run(connection, run_id).status == "succeeded"
            assert ask.runs(connection, status="succeeded").runs[0].id == run_id
        shown = "SELECT current_setting('statement_timeout'), current_setting('enable_seqscan')"
        assert connection.execute(shown).fetchone() == ("0", "on")


def test_tick_that_finds_all_clients_of_the_pooler_taken_asks_again_until_one_has_gone(
    jobrunner: Commands, database: PostgresDatabase, tmp_path: Path
) -> None:
    """As the ticks of two hundred hosts do behind a PgBouncer that takes a hundred."""
    (run_id,) = insert_runs(database, 1)
    with closing(Bouncer(database.url, tmp_path, most_clients=4)) as bouncer, ExitStack() as others:
        held = [others.enter_context(closing(psycopg.connect(bouncer.url))) for _ in range(4)]
        tried: list[socket.socket] = []

        def serve(client: socket.socket, target: tuple[str, int]) -> None:
            tried.append(client)
            connect(client, target)

        url = others.enter_context(in_front_of(bouncer.url, serve))
        env = {"JOBRUNNER_DATABASE_URL": url}
        refused = jobrunner("status", env=env, check=False).stderr
        assert "the server has no free connection; end sessions that" in refused
        assert "max_client_conn of a pooler" in refused
        ticks = [jobrunner.start("tick", *words, env=env) for words in ((), ("--no-strict",))]
        wait_for(lambda: len(tried) > 5, describe="ticks that ask again")
        assert [tick.poll() for tick in ticks] == [None, None]
        for each in held:
            each.close()
        for tick in ticks:
            assert (*tick.communicate(timeout=30), tick.returncode) == ("", "", 0)
    assert outcomes(database, run_id) == ["succeeded"]
