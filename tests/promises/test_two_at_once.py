"""Two concurrent transactions in an order that the test decides: what each may change for the other."""

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from harness import Database, PostgresDatabase, postgresql_only, wait_for
from harness.at_work import running
from harness.invariants import assert_consistent, insert_runs, outcomes, statuses
from harness.locks import open_transaction
from harness.plan_calls import KEPT, request
from harness.statements import before_commits, before_statements
from harness.stores import opening
from harness.tick_parts import context_of, tick_parts
from harness.waiting import stretched
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.model import Actor, Lease, Owner
from jobrunner.store.changes import one_run
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.queue import claims, expiries, holding
from jobrunner.store.queue.enqueue_sql import NewRun
from jobrunner.store.queue.ticks import retention
from jobrunner.store.timetable import overlap, slot_runs
from jobrunner.worker import recovery

LEASE = timedelta(minutes=1)
DAY = timedelta(days=1)


@pytest.fixture
def open_store(database: Database) -> Iterator[Callable[[], Store]]:
    """Connections of jobrunner's own, which wait for a lock no longer than a second."""
    with opening(database, patience_seconds=1) as open_one:
        yield open_one


@pytest.fixture
def store(open_store: Callable[[], Store]) -> Store:
    return open_store()


def claimed_by(store: Store, host: str, *, quarantined: bool = False) -> set[int]:
    asked = request()._replace(owner=Owner(host, f"{host}:1:a"), token=host.ljust(32, "x"), quarantined=quarantined)
    return {run.lease.run_id for run in store.write(lambda each: claims.claim(each, asked)).runs}


def insert_definition(database: Database) -> int:
    now = database.now()
    database.execute(
        "INSERT INTO job_definitions (name, overlap, last_slot_at, created_at, updated_at, job_type, payload, schedule,"
        " timezone, source) VALUES ('s', 'replace', ?, ?, ?, 'known', '{}', '* * * * *', 'UTC', 'cli')",
        [now - timedelta(minutes=1), now, now],
    )
    return int(database.value("SELECT id FROM job_definitions"))


@postgresql_only
@pytest.mark.promise("P1", "P2", "P6", on="postgresql")
def test_run_changed_by_an_open_transaction_is_not_claimed_recovered_or_pruned(
    store: Store, database: PostgresDatabase
) -> None:
    """Another claim, a late heartbeat and a person's retry, each sent and not committed yet: no call waits for them."""
    due, free = insert_runs(database, 2, "known", run_at=database.now() - LEASE)
    expired, over = running(database, 2, locked_until=database.now() - LEASE)
    kept, old = insert_runs(database, 2, status="dead", finished_at=database.now() - 9 * DAY)
    keep = dict.fromkeys(KEPT, DAY)
    claim = (
        "status = 'running', lease_token = 'n', locked_by = 'o', host = 'h', locked_until = jobrunner_now() + '1 min'"
    )
    with open_transaction(database, f"UPDATE job_runs SET {claim} WHERE id = ANY(%s)", [due]) as session:
        session.execute("UPDATE job_runs SET locked_until = jobrunner_now() + '1 min' WHERE id = %s", [expired.run_id])
        session.execute("UPDATE job_runs SET status = 'queued', finished_at = NULL WHERE id = %s", [kept])
        assert claimed_by(store, "here") == {free}
        assert [each.run_id for each in store.write(lambda each: expiries.recover(each, 9))] == [over.run_id]
        assert store.write(lambda each: retention.prune(each, keep)).deleted == 1
        session.execute("COMMIT")
        session.execute("BEGIN")
    found = {row["id"]: row["status"] for row in database.query("SELECT id, status FROM job_runs")}
    assert old not in found
    assert (found[due], found[expired.run_id], found[kept]) == ("running", "running", "queued")


@pytest.mark.promise("P7")
def test_quarantined_run_is_claimed_only_by_a_claim_for_it_alone(store: Store, database: Database) -> None:
    """One that falls due while a tick is at work must not be taken along with the others."""
    at = database.now() - LEASE
    (quarantined,) = insert_runs(database, 1, "known", run_at=at, lease_expiries=2, attempts=2, priority=9)
    (other,) = insert_runs(database, 1, "known", run_at=at, lease_expiries=1, attempts=2)
    assert claimed_by(store, "here") == {other}
    assert claimed_by(store, "here") == set()
    assert claimed_by(store, "here", quarantined=True) == {quarantined}


@postgresql_only
@pytest.mark.promise("P1", on="postgresql")
def test_run_is_not_pruned_after_its_retry_was_confirmed(
    open_store: Callable[[], Store], database: PostgresDatabase
) -> None:
    """The retry comes between the moment when a run is found to be old and the one when it is deleted."""
    (old,) = insert_runs(database, 1, status="dead", finished_at=database.now() - 9 * DAY)
    pruning, person = open_store(), open_store()
    told: list[bool] = []
    retrying = threading.Thread(
        target=lambda: told.append(person.write(lambda each: one_run.retry(each, old, Actor("someone"))).applied)
    )

    def retry_meanwhile(_: Connection, statement: str, __: object) -> None:
        if not statement.startswith("DELETE") or retrying.ident is not None:
            return
        retrying.start()
        wait_for(lambda: told or database.query("SELECT 1 FROM pg_locks WHERE NOT granted"), 10, "the retry")

    with before_statements(pruning, retry_meanwhile):
        pruning.write(lambda each: retention.prune(each, dict.fromkeys(KEPT, DAY)))
    retrying.join(stretched(10))
    is_there = bool(database.query("SELECT id FROM job_runs WHERE id = ?", [old]))
    assert told == [is_there]


@postgresql_only
@pytest.mark.promise("P2", on="postgresql")
def test_run_being_replaced_is_not_claimed(open_store: Callable[[], Store], database: PostgresDatabase) -> None:
    """Another host's claim comes between the moment when a run is found to wait and the one when it is cancelled."""
    definition_id = insert_definition(database)
    # The first of its definition: it may be claimed.
    older, new = insert_runs(database, 2, "known", definition_id=definition_id, run_at=database.now() - LEASE)
    database.execute("UPDATE job_runs SET origin = 'slot', created_at = ?", [database.now() - LEASE])
    mine, others = open_store(), open_store()
    at = database.now()
    claimed: list[set[int]] = []

    def claim_meanwhile(_: Connection, statement: str, __: object) -> None:
        if statement.startswith("UPDATE job_runs") and not claimed:
            claimed.append(claimed_by(others, "elsewhere"))

    with before_statements(mine, claim_meanwhile):
        replaced = mine.write(lambda each: overlap.replace_older(each, [(definition_id, new)], at))
    assert replaced == {definition_id: (older,)}
    assert claimed == [{new}]
    assert database.value("SELECT status FROM job_runs WHERE id = ?", [older]) == "cancelled"


@postgresql_only
@pytest.mark.promise("P2", "P6", on="postgresql")
@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_stricter_default_isolation_skips_changed_rows_like_any_other(
    store: Store, database: PostgresDatabase, level: str
) -> None:
    """At those levels a row that changed since the transaction began is an error, and not just passed over."""
    with database.access.admin(database.database) as admin:
        admin.execute(f"ALTER DATABASE \"{database.database}\" SET default_transaction_isolation = '{level}'")
    leases = running(database, 2)
    tries = []

    def renew(connection: Connection) -> holding.Renewal:
        tries.append(expiries.expired_runs(connection))
        if len(tries) == 1:
            database.execute("UPDATE job_runs SET priority = 5 WHERE id = ?", [leases[0].run_id])
        return holding.renew(connection, leases, LEASE)

    assert store.write(renew).renewed == dict.fromkeys(leases, False)
    assert len(tries) == 1


@pytest.mark.promise("P2")
def test_recovery_ends_only_the_runs_whose_handlers_it_has_stopped(
    store: Store, database: Database, tmp_path: Path
) -> None:
    """A lease that ends while the leftovers of others are killed: its own handler may be at work still."""
    at = database.now() - LEASE
    (seen,) = running(database, 1, locked_until=at, host="here")
    context = context_of(database, store, state_dir=tmp_path)
    late: list[Lease] = []

    def expire_meanwhile() -> None:
        if not late:
            # Of a host that comes before the other one in each order.
            late.extend(running(database, 1, locked_until=at, host="a", locked_by="a:1:a"))

    with before_commits(store, expire_meanwhile):
        recovery.recover(context)
    assert outcomes(database, seen.run_id) == ["lease_expired"]
    assert outcomes(database, late[0].run_id) == []
    recovery.recover(context)
    assert outcomes(database, late[0].run_id) == ["lease_expired"]
    assert_consistent(database)


@pytest.mark.promise("P3")
def test_a_slot_that_is_expanded_again_makes_no_second_run(store: Store, database: Database) -> None:
    """Whatever became of the watermark; and the database itself takes no second one from anybody."""
    definition_id, slot = insert_definition(database), database.now()
    run = NewRun("known", "{}", run_at=slot, definition_id=definition_id, scheduled_for=slot, origin="slot")
    made = store.write(lambda each: slot_runs.insert(each, [run, run]))
    assert list(made) == [(definition_id, slot)]
    assert store.write(lambda each: slot_runs.insert(each, [run])) == {}
    assert statuses(database) == {"queued": 1}
    with pytest.raises(Exception, match=r"job_runs_slot|UNIQUE constraint failed: job_runs\.definition_id"):
        insert_runs(database, 1, definition_id=definition_id, scheduled_for=slot)


@postgresql_only
@pytest.mark.promise("P14", on="postgresql")
def test_run_that_breaks_the_connection_of_its_write_harms_no_other_run(
    store: Store, database: PostgresDatabase, tmp_path: Path
) -> None:
    """Which of a group it is, is not known: after a connection was lost each of them is written alone."""
    leases = running(database, 3)
    bad = leases[1].run_id
    database.execute(
        "CREATE FUNCTION break_off() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$"
    )
    database.execute(
        f"CREATE TRIGGER break_off BEFORE UPDATE ON job_runs FOR EACH ROW WHEN (OLD.id = {bad})"
        " EXECUTE FUNCTION break_off()"
    )
    with tick_parts(database) as tick:
        finalizer = tick.finalizer
        for held in tick.take(leases):
            tick.work(held)
            tick.end(held, AttemptResult(Outcome.SUCCEEDED))

        def write() -> bool:
            finalizer.work()
            return finalizer.unwritten() == 1

        wait_for(write, 10, database.describe)
        assert [outcomes(database, lease.run_id) for lease in leases] == [["succeeded"], [], ["succeeded"]]
        database.execute("DROP TRIGGER break_off ON job_runs")
        wait_for(tick.write, 10, database.describe)
    assert statuses(database) == {"succeeded": 3}
