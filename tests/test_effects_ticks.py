"""Effects and own transactions under ticks: what a child does in the database, its tick recognizes."""

import json
from datetime import timedelta

import pytest

from harness import App, Commands, Database, PostgresDatabase, postgresql_only, wait_for
from harness.effects import rows_of_effects
from harness.invariants import assert_consistent, insert_runs, outcomes, read_log, wait_for_exit
from harness.obstacles import commits_wait

HANDLERS = """
import asyncio
import os
import sys
import time

from jobrunner import Context, job


def leave_trace(text):
    trace = os.open(os.environ["TRACE_FILE"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(trace, f"{text}\\n".encode())
    os.close(trace)


def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.01)


def send(key):
    leave_trace(key)
    return {"id": key}


@job("mail")
def mail(ctx: Context, key: str):
    effect = ctx.once(key, send, key)
    return {"state": effect.state, "new": effect.is_new, "heavy": "sqlalchemy" in sys.modules}


@job("mail_async")
async def mail_async(ctx: Context, key: str):
    async def send_async(key):
        return send(key)

    effect = await ctx.once_async(key, send_async, key)
    return {"state": effect.state, "new": effect.is_new, "heavy": "sqlalchemy" in sys.modules}


def insert(ctx, connection):
    connection.exec_driver_sql(f"INSERT INTO things VALUES ({ctx.run_id})")


@job("work", kill_after="1s")
def work(ctx: Context, wait: str = "", error: str = "", answer=None):
    with ctx.transaction() as connection:
        insert(ctx, connection)
        ctx.result = {"attempt": ctx.attempt}
    leave_trace(f"committed {ctx.run_id}")
    if wait:
        wait_for(wait)
    if error:
        raise RuntimeError(error)
    return answer


@job("work_async")
async def work_async(ctx: Context):
    def in_a_thread():
        with ctx.transaction() as connection:
            insert(ctx, connection)

    await asyncio.to_thread(in_a_thread)


@job("work_awaited")
async def work_awaited(ctx: Context, wait: float = 0):
    async with ctx.transaction() as connection:
        await connection.exec_driver_sql(f"INSERT INTO things VALUES ({ctx.run_id})")
        ctx.result = {"attempt": ctx.attempt}
        leave_trace("inside")
        await asyncio.sleep(wait)


@job("slow_inside", kill_after="1s")
def slow_inside(ctx: Context):
    with ctx.transaction() as connection:
        leave_trace("inside")
        insert(ctx, connection)
        time.sleep(30)
"""


@pytest.fixture
def app(app: App, database: Database) -> App:
    app.write("handlers", HANDLERS)
    database.execute("CREATE TABLE things (run_id INTEGER)")
    return app


def traces(app: App) -> list[str]:
    return app.trace_file.read_text().splitlines() if app.trace_file.exists() else []


def run_of(database: Database, run_id: int) -> dict[str, object]:
    return database.query("SELECT * FROM job_runs WHERE id = ?", [run_id])[0]


def done(database: Database, run_id: int) -> int:
    count: int = database.value("SELECT count(*) FROM things WHERE run_id = ?", [run_id])
    return count


@pytest.mark.promise("P5")
def test_effect_of_a_child_that_was_killed_is_uncertain_until_a_person_settles_it(
    jobrunner: Commands, app: App, database: Database
) -> None:
    plain = insert_runs(database, 1, "mail", {"key": "a b"})[0]
    in_loop = insert_runs(database, 1, "mail_async", {"key": "c"})[0]
    jobrunner.tick(env={"JOBRUNNER_FAULT": "effect.called=kill"})
    assert (outcomes(database, plain), outcomes(database, in_loop)) == (["crashed"], ["crashed"])
    assert {each["key"] for each in jobrunner.status()["uncertain_effects"]} == {"a b", "c"}
    database.move_clock(timedelta(hours=1))
    jobrunner.tick()
    row = run_of(database, plain)
    assert (row["status"], row["error_type"]) == ("failed", "UncertainEffect")
    assert "jobrunner effects settle 'a b' --applied (or --not-applied)" in str(row["last_error"])
    jobrunner("effects", "settle", "a b", "--applied")
    jobrunner("effects", "settle", "c", "--not-applied")
    database.move_clock(timedelta(hours=1))
    # As it is installed: what a fork of the tests has imported says nothing.
    jobrunner.tick(cold=True)
    assert sorted(traces(app)) == ["a b", "c", "c"]
    results = [run_of(database, each)["result"] for each in (plain, in_loop)]
    assert results == [
        {"state": "applied", "new": False, "heavy": False},
        {"state": "applied", "new": True, "heavy": False},
    ]
    assert {row["state"] for row in rows_of_effects(database).values()} == {"applied"}
    assert_consistent(database)


@pytest.mark.promise("P2", "P5", "P7")
def test_child_that_dies_around_the_commit_of_its_own_transaction_is_charged_only_before_it(
    jobrunner: Commands, app: App, database: Database
) -> None:
    for number, (point, crashes) in enumerate((("before_end", 1), ("before_commit", 1), ("committed", 0)) * 2):
        (run_id,) = insert_runs(database, 1, "work" if number < 3 else "work_awaited")
        tick = jobrunner.tick(env={"JOBRUNNER_FAULT": f"transaction.{point}=kill"})
        assert (outcomes(database, run_id), done(database, run_id)) == (
            (["crashed"], 0) if crashes else (["succeeded"], 1)
        )
        counts = database.value("SELECT counts FROM job_ticks ORDER BY id DESC")
        assert counts == {"claimed": 1, "failed" if crashes else "succeeded": 1}
        assert tick.stderr == ""
        database.move_clock(timedelta(hours=1))
        jobrunner.tick()
        row = run_of(database, run_id)
        assert (row["status"], row["attempts"], row["result"]) == (
            "succeeded",
            1 + crashes,
            {"attempt": 1 + crashes},
        )
        assert done(database, run_id) == 1
    assert_consistent(database)


@pytest.mark.promise("P2", "P5", "P6")
def test_handler_that_goes_on_after_its_commit_keeps_no_lease_and_ends_as_succeeded_whatever_it_does(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """For longer than its lease. Another run of its child, prefetched or not, is not touched."""
    wait = str(app.path("go"))
    (failing,) = insert_runs(database, 1, "work", {"wait": wait, "error": "too late"})
    (returning,) = insert_runs(database, 1, "work", {"wait": wait, "answer": 7})
    (overdue,) = insert_runs(database, 1, "work", {"wait": str(app.path("never"))}, timeout=5)
    log = app.path("log")
    env = {"JOBRUNNER_LEASE": "3s", "JOBRUNNER_HEARTBEAT": "0.3s", "JOBRUNNER_LOG": str(log)}
    tick = jobrunner.start("tick", env={**env, "JOBRUNNER_CONCURRENCY": "3"})
    wait_for(lambda: len(traces(app)) == 3, 20, "the commits")
    committed_at = database.now()
    assert {run_of(database, each)["status"] for each in (failing, returning, overdue)} == {"succeeded"}
    wait_for(lambda: database.now() - committed_at > timedelta(seconds=3.3), 20, "more than a lease")
    app.release("go")
    assert wait_for_exit(tick, 0) == ""
    attempts = {row["run_id"]: row for row in database.query("SELECT * FROM job_attempts")}
    assert {row["outcome"] for row in attempts.values()} == {"succeeded"}
    assert "after its own transaction: RuntimeError: too late\nTraceback" in attempts[failing]["output"]
    assert "the return value was not kept" in attempts[returning]["output"]
    assert "after its own transaction: timeout: timed out after 5s" in attempts[overdue]["output"]
    assert database.value("SELECT counts FROM job_ticks") == {"claimed": 3, "succeeded": 3}
    assert not {line["event"] for line in read_log(log)} & {"lease lost", "crashed", "failed"}
    assert_consistent(database)


@pytest.mark.promise("P2", "P5")
def test_own_transaction_of_an_async_handler_ends_its_run(jobrunner: Commands, app: App, database: Database) -> None:
    """In its event loop or from a thread; and one that is stopped inside has done nothing."""
    runs = [*insert_runs(database, 2, "work_async"), *insert_runs(database, 2, "work_awaited")]
    assert jobrunner.tick().stderr == ""
    assert [(outcomes(database, each), done(database, each)) for each in runs] == [(["succeeded"], 1)] * 4
    assert run_of(database, runs[-1])["result"] == {"attempt": 1}
    (stopped,) = insert_runs(database, 1, "work_awaited", {"wait": 60}, timeout=1)
    jobrunner.tick()
    assert (outcomes(database, stopped), done(database, stopped)) == (["timed_out"], 0)
    assert_consistent(database)


@pytest.mark.promise("P5")
def test_run_that_waits_for_one_with_its_own_transaction_begins_in_the_same_tick(
    jobrunner: Commands, app: App, database: Database
) -> None:
    first = jobrunner.enqueue("work")
    second = jobrunner.enqueue("mail", {"key": "k"}, after=first)
    jobrunner.tick()
    assert (outcomes(database, first), outcomes(database, second)) == (["succeeded"], ["succeeded"])


@pytest.mark.promise("P2", "P5")
def test_run_that_is_stopped_inside_its_own_transaction_has_done_nothing(
    jobrunner: Commands, app: App, database: Database
) -> None:
    (run_id,) = insert_runs(database, 1, "slow_inside", timeout=1)
    jobrunner.tick(env={"JOBRUNNER_LEASE": "20s"})
    assert traces(app) == ["inside"]
    assert (outcomes(database, run_id), done(database, run_id)) == (["timed_out"], 0)


@pytest.mark.promise("P5")
@postgresql_only
def test_commit_whose_answer_never_comes_is_found_to_be_applied(
    jobrunner: Commands, app: App, database: PostgresDatabase
) -> None:
    """The child is killed while its COMMIT hangs: the row stays locked until it is known what became of it."""
    (run_id,) = insert_runs(database, 1, "work", timeout=1)
    log = app.path("log")
    with commits_wait(database, "NEW.status = 'succeeded'"):
        tick = jobrunner.start("tick", env={"JOBRUNNER_LEASE": "12s", "JOBRUNNER_LOG": str(log)})
        wait_for(lambda: any("locked" in str(line.get("result")) for line in read_log(log)), 30, "the locked row")
    assert wait_for_exit(tick, 0) == ""
    assert (outcomes(database, run_id), done(database, run_id)) == (["succeeded"], 1)
    assert_consistent(database)


def test_database_of_a_configuration_file_reaches_the_child_and_no_process_list(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """Neither its arguments nor its environment name the database: only the channel does."""
    app.write(
        "handlers",
        """
        import json, os, sys
        from jobrunner import job

        @job("look")
        def look(ctx):
            assert ctx.once("k", lambda: 1).is_new
            return {"environment": dict(os.environ), "arguments": sys.orig_argv}
        """,
    )
    app.path("jobrunner.toml").write_text(f"[settings]\ndatabase_url = {json.dumps(database.url)}\n")
    (run_id,) = insert_runs(database, 1, "look")
    jobrunner.tick(env={"JOBRUNNER_DATABASE_URL": None})
    assert run_of(database, run_id)["status"] == "succeeded"
    assert database.url not in json.dumps(run_of(database, run_id)["result"])


@pytest.mark.promise("P5")
@postgresql_only
def test_effects_and_own_transactions_work_in_a_schema_that_is_on_no_search_path(
    jobrunner: Commands, app: App, database: PostgresDatabase
) -> None:
    in_schema = {"JOBRUNNER_SCHEMA": "jobs"}
    jobrunner("migrate", "--to", 0, "--delete-data")
    jobrunner("migrate", env=in_schema)
    for job_type, payload in (("work", "{}"), ("mail", '{"key": "k"}')):
        jobrunner("enqueue", job_type, "--payload", payload, env=in_schema)
    jobrunner.tick(env=in_schema)
    assert database.value("SELECT count(*) FROM jobs.job_runs WHERE status = 'succeeded'") == 2
    assert [done(database, run_id) for run_id in (1, 2)] == [1, 0]
    assert database.value("SELECT state FROM jobs.job_effects") == "applied"
    assert jobrunner("effects", "list", env=in_schema).stdout == "no effect is uncertain\n"
