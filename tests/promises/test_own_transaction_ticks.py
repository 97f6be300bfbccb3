"""Own transactions under ticks: what a child commits, its tick recognizes."""

from datetime import timedelta

import pytest

from harness import App, Commands, Database, PostgresDatabase, postgresql_only, wait_for
from harness.effect_jobs import done, with_effects
from harness.handlers_rows import run_of
from harness.invariants import assert_consistent, insert_runs, outcomes, read_log, wait_for_exit
from harness.obstacles import commits_wait
from harness.waiting import span, whole


@pytest.fixture
def app(app: App, database: Database) -> App:
    return with_effects(app, database)


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
        assert (row["status"], row["attempts"], row["result"]) == ("succeeded", 1 + crashes, {"attempt": 1 + crashes})
        assert done(database, run_id) == 1
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


@pytest.mark.promise("P5")
@postgresql_only
def test_commit_whose_answer_never_comes_is_found_to_be_applied(
    jobrunner: Commands, app: App, database: PostgresDatabase
) -> None:
    """The child is killed while its COMMIT hangs: the row stays locked until it is known what became of it."""
    (run_id,) = insert_runs(database, 1, "work", timeout=whole(1))
    log = app.path("log")
    with commits_wait(database, "NEW.status = 'succeeded'"):
        tick = jobrunner.start("tick", env={"JOBRUNNER_LEASE": span(12), "JOBRUNNER_LOG": str(log)})
        wait_for(lambda: any("locked" in str(line.get("result")) for line in read_log(log)), 30, "the locked row")
    assert wait_for_exit(tick, 0) == ""
    assert (outcomes(database, run_id), done(database, run_id)) == (["succeeded"], 1)
    assert_consistent(database)


@pytest.mark.promise("P5")
@postgresql_only
def test_effects_and_own_transactions_work_in_a_schema_that_is_on_no_search_path(
    jobrunner: Commands, app: App, database: PostgresDatabase
) -> None:
    in_schema = {"JOBRUNNER_SCHEMA": "jobs"}
    jobrunner("downgrade", 0, "--delete-data")
    jobrunner("migrate", env=in_schema)
    for job_type, payload in (("work", "{}"), ("mail", '{"key": "k"}')):
        jobrunner("enqueue", job_type, "--payload", payload, env=in_schema)
    jobrunner.tick(env=in_schema)
    assert database.value("SELECT count(*) FROM jobs.job_runs WHERE status = 'succeeded'") == 2
    assert [done(database, run_id) for run_id in (1, 2)] == [1, 0]
    assert database.value("SELECT state FROM jobs.job_effects") == "applied"
    assert jobrunner("effects", "list", env=in_schema).stdout == "no effect is uncertain\n"
