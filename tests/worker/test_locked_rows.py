"""A run whose row is locked by another transaction is written later, and delays no other run."""

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest

from harness import App, Commands, PostgresDatabase, postgresql_only, wait_for
from harness.at_work import LEASE, OWNER, end_attempt, running
from harness.invariants import assert_consistent, insert_runs, outcomes, read_log, statuses, wait_for_exit
from harness.locks import open_transaction, wait_for_lock
from harness.plan_calls import request
from harness.tick_parts import tick_parts
from harness.waiting import span
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.model import Actor
from jobrunner.store.changes import one_run
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.drivers.location import locate
from jobrunner.store.queue import claims, expiries, finalize, holding
from jobrunner.store.queue.finalize import Refusal
from jobrunner.worker.finalizer import LONGEST_UNWRITTEN_SECONDS
from jobrunner.worker.phase import Phase

DONE = AttemptResult(Outcome.SUCCEEDED)
Work = Callable[[Connection], Any]
REFERENCE = "CREATE TABLE own (run_id BIGINT REFERENCES job_runs (id))"


@pytest.fixture
def store(database: PostgresDatabase) -> Iterator[Store]:
    opened = Store(locate(database.url), patience=timedelta(seconds=4))
    yield opened
    opened.close()


def write(store: Store, work: Work) -> Any:
    """Whatever waits here would wait for as long as the other transaction lasts: the server gives it up."""
    return store.write(work)


@pytest.mark.promise("P1", "P2", "P6", on="postgresql")
@postgresql_only
def test_application_row_that_references_a_run_blocks_no_tick(store: Store, database: PostgresDatabase) -> None:
    """A foreign key holds the run it names, for as long as the application's transaction lasts."""
    renewed, ended, back, told = running(database, 4)
    (expired,) = running(database, 1, locked_until=database.now() - LEASE, lease_token="e" * 32)
    due, cancelled, late = insert_runs(database, 3, "known", run_at=database.now() - LEASE)
    (dead,) = insert_runs(database, 1, status="dead", finished_at=database.now())
    database.execute(REFERENCE)
    everything = [row["id"] for row in database.query("SELECT id FROM job_runs")]
    with open_transaction(database, "INSERT INTO own SELECT unnest(%s::bigint[])", everything):
        assert write(store, lambda each: holding.renew(each, [renewed], LEASE)).renewed == {renewed: False}
        (answer,) = write(store, lambda each: finalize.finalize_all(each, OWNER, [(ended, DONE)]))
        assert isinstance(answer, finalize.Ended)
        assert write(store, lambda each: claims.return_unstarted(each, back.token, [back.run_id])).runs == 1
        assert write(store, lambda each: holding.report(each, {told: {"output": "so"}})) == {told}
        assert [each.run_id for each in write(store, lambda each: expiries.recover(each, 9))] == [expired.run_id]
        assert write(store, lambda each: one_run.cancel(each, cancelled, Actor("someone"))).applied
        assert write(store, lambda each: one_run.retry(each, dead, Actor("someone"))).applied
        claimed = write(store, lambda each: claims.claim(each, request()._replace(owner=OWNER)))
        assert {run.lease.run_id for run in claimed.runs} == {due, late}


@pytest.mark.promise("P2", "P6", "P14", on="postgresql")
@postgresql_only
def test_run_with_a_locked_row_is_not_taken_for_lost_and_delays_no_other(
    store: Store, database: PostgresDatabase
) -> None:
    held, locked, lost = running(database, 3)
    database.execute("UPDATE job_runs SET lease_token = ? WHERE id = ?", ["n" * 32, lost.run_id])
    three = [held, locked, lost]
    with open_transaction(database, "UPDATE job_runs SET priority = 5 WHERE id = ANY(%s)", [locked.run_id]) as session:
        renewal = write(store, lambda each: holding.renew(each, three, LEASE))
        assert (renewal.renewed, renewal.locked) == ({held: False}, {locked})
        assert write(store, lambda each: holding.report(each, {lease: {"output": "so"} for lease in three})) == {held}
        answers = write(store, lambda each: finalize.finalize_all(each, OWNER, [(lease, DONE) for lease in three]))
        assert answers[1:] == [Refusal.LOCKED, Refusal.LEASE_LOST]
        assert outcomes(database, held.run_id) == ["succeeded"]
        given = write(store, lambda each: claims.return_unstarted(each, locked.token, [locked.run_id, held.run_id]))
        assert (given.runs, given.locked) == (0, {locked.run_id})
        session.execute("COMMIT")
        session.execute("BEGIN")
    assert write(store, lambda each: end_attempt(each, OWNER, locked, DONE)).run_id == locked.run_id


@pytest.mark.promise("P2", "P6", "P14", on="postgresql")
@postgresql_only
def test_tick_writes_other_runs_first_and_a_locked_run_later(
    jobrunner: Commands, app: App, database: PostgresDatabase
) -> None:
    """As `begin; update job_runs set priority = 5 where id = 1` in psql, left open."""
    first, second = insert_runs(database, 2, "wait_for", {"path": str(app.path("go"))})
    log = {"JOBRUNNER_LOG": str(app.path("log"))}
    tick = jobrunner.start("tick", env={**log, "JOBRUNNER_LEASE": span(12), "JOBRUNNER_HEARTBEAT": "0.3s"})
    wait_for(lambda: len(app.trace()) == 2, 20, "both handlers")
    beat = "SELECT heartbeat_at FROM job_runs WHERE id = ?"
    with open_transaction(database, "UPDATE job_runs SET priority = 5 WHERE id = ANY(%s)", [first]) as session:
        before = database.value(beat, [first])
        for _ in range(3):
            database.wait_until("SELECT heartbeat_at > ? FROM job_runs WHERE id = ?", [database.now(), second])
        assert database.value(beat, [first]) == before
        session.execute("COMMIT")
        database.wait_until("SELECT heartbeat_at > ? FROM job_runs WHERE id = ?", [before, first])
        session.execute("BEGIN")
        session.execute("UPDATE job_runs SET priority = 5 WHERE id = %s", [first])
        app.release("go")
        database.wait_until("SELECT status = 'succeeded' FROM job_runs WHERE id = ?", [second])
        assert (tick.poll(), outcomes(database, first)) == (None, [])
    assert wait_for_exit(tick, 0) == ""
    assert statuses(database) == {"succeeded": 2}
    assert [len(app.trace()), *(outcomes(database, each) for each in (first, second))] == [2, *[["succeeded"]] * 2]
    assert not {"stopped", "heartbeat"} & {line["event"] for line in read_log(app.path("log"))}
    assert_consistent(database)


@pytest.mark.promise("P14", on="postgresql")
@postgresql_only
def test_run_of_a_full_type_begins_in_the_tick_that_writes_the_locked_row_before_it(
    jobrunner: Commands, app: App, database: PostgresDatabase
) -> None:
    """A claim that came before the write found no place, and the tick ended: the run waited for the next minute."""
    app.add("""
        @job("single", concurrency=1)
        def single(ctx: Context):
            leave_trace(ctx)
            while not os.path.exists(os.environ["GO"]):
                time.sleep(0.01)
    """)
    first, second = insert_runs(database, 2, "single")
    env = {"GO": str(app.path("go")), "JOBRUNNER_LOG": str(app.path("log"))}
    tick = jobrunner.start("tick", env=env)
    wait_for(lambda: len(app.trace()) == 1, 20, "the handler")
    with open_transaction(database, "UPDATE job_runs SET priority = 5 WHERE id = ANY(%s)", [first]) as session:
        app.release("go")
        wait_for(lambda: "finalize" in {line["event"] for line in read_log(app.path("log"))}, 20, "a second try")
        session.execute("COMMIT")
        session.execute("BEGIN")
    assert wait_for_exit(tick, 0) == ""
    assert [outcomes(database, each) for each in (first, second)] == [["succeeded"]] * 2


@pytest.mark.promise("P2", "P14", on="postgresql")
@postgresql_only
def test_result_that_waits_for_a_locked_row_does_not_stop_claims(database: PostgresDatabase) -> None:
    """It counted as an outcome that had waited for too long, for as long as the other transaction lasted."""
    (locked,) = running(database, 1)
    with (
        tick_parts(database) as tick,
        open_transaction(database, "UPDATE job_runs SET priority = 5 WHERE id = ANY(%s)", [locked.run_id]) as session,
    ):
        (held,) = tick.take([locked])
        tick.work(held)
        tick.end(held, DONE)
        tick.finalizer.work()
        assert held.phase is Phase.ENDED
        assert held.ended_at is not None
        held.ended_at -= 2 * LONGEST_UNWRITTEN_SECONDS
        assert not tick.finalizer.is_behind()
        session.execute("COMMIT")
        session.execute("BEGIN")
        wait_for(tick.write, 10, database.describe)
    assert outcomes(database, locked.run_id) == ["succeeded"]


@postgresql_only
def test_results_are_written_while_the_next_claim_waits_for_a_lock(
    jobrunner: Commands, app: App, database: PostgresDatabase
) -> None:
    """Another thread claims, so the children's work goes on, and what they have done is committed."""
    insert_runs(database, 400, "sleep", {"seconds": 0.02})
    tick = jobrunner.start("tick", "--concurrency", "2")
    wait_for(lambda: statuses(database).get("succeeded", 0) > 20)
    with closing(database.connect()) as locker:
        locker.execute("BEGIN")
        locker.execute("SELECT name FROM job_locks FOR UPDATE")
        wait_for_lock(database)
        wait_for(lambda: "running" not in statuses(database), 3, "the results wait for the claim")
    assert tick.communicate(timeout=60) == ("", "")
    assert statuses(database) == {"succeeded": 400}
    assert_consistent(database)
