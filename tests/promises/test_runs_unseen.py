"""No waiting run stays where no claim would see it, however it came to be there; and those who look are told of it."""

import json
from datetime import timedelta
from functools import partial

import psycopg
import pytest

from harness import App, Commands, Database, PostgresDatabase, SQLiteDatabase, postgresql_only, wait_for
from harness.database import numbers
from harness.handlers_rows import queue, run_of
from harness.invariants import insert_runs
from harness.limits import claim_all, declare, end, end_all
from harness.waiting import span
from jobrunner.model import Limits, Policy
from jobrunner.rates import parse_rate
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.queue import strays
from jobrunner.store.queue.ticks import notices

BY_CUSTOMER = Limits(max_running=2, concurrency_key=("customer",), max_running_per_key=1)
BY_REGION = Limits(concurrency_key=("region",), max_running_per_key=1)
PLAIN = Limits(max_running=2)
DEPLOYS = {
    "a key to none": (BY_CUSTOMER, PLAIN),
    "a key to no limit": (BY_CUSTOMER, None),
    "no key to one": (PLAIN, BY_CUSTOMER),
    "a key to another": (BY_REGION, BY_CUSTOMER),
}
HANDLERS = """
@job("free", max_attempts=1)
def free(ctx, customer: int = 0, region: int = 0):
    leave_trace(ctx)

@job("plain", max_attempts=1, max_running=2)
def plain(ctx, customer: int = 0, region: int = 0):
    leave_trace(ctx)

@job("keyed", max_attempts=1, concurrency_key="customer")
def keyed(ctx, customer: int = 0, region: int = 0):
    leave_trace(ctx)
"""
TYPES = {"free": None, "plain": PLAIN, "keyed": Limits(concurrency_key=("customer",), max_running_per_key=1)}


def unfinished(database: Database) -> int:
    return int(database.value("SELECT count(*) AS n FROM job_runs WHERE status <> 'succeeded'"))


@pytest.mark.promise("P1")
@pytest.mark.parametrize("job_type", TYPES)
def test_runs_that_a_tick_of_older_code_put_behind_its_gates_after_a_deploy_are_done_by_two_ticks(
    jobrunner: Commands, app: App, store: Store, database: Database, job_type: str
) -> None:
    """The stored limits are those of the new code already, so that its ticks have no limits to declare."""
    app.add(HANDLERS)
    for customer in range(6):
        queue(database, job_type, {"customer": customer % 3, "region": customer % 2})
    declare(store, Policy(job_type, limits=TYPES[job_type]))
    olds = (BY_CUSTOMER, BY_REGION, PLAIN)
    for old in (each for each in olds if each.concurrency_key != getattr(TYPES[job_type], "concurrency_key", None)):
        end(store, claim_all(store, "old", Policy(job_type, limits=old), limit=1)[:1])
        end_all(store, database)
    left = unfinished(database)
    assert left > 0
    jobrunner.tick()
    jobrunner.tick()
    assert unfinished(database) == 0


@postgresql_only
@pytest.mark.promise("P1")
@pytest.mark.parametrize("deploy", DEPLOYS)
def test_a_waiting_run_whose_row_was_locked_while_the_limits_changed_is_claimed_after_housekeeping(
    jobrunner: Commands, app: App, store: Store, database: PostgresDatabase, deploy: str
) -> None:
    app.add(HANDLERS)
    before, after = DEPLOYS[deploy]
    (job_type,) = (
        name
        for name, limits in TYPES.items()
        if (limits and limits.concurrency_key) == (after and after.concurrency_key)
    )
    first, waiting = (queue(database, job_type, {"customer": 1, "region": 1}) for _ in range(2))
    one = before._replace(max_running=1)
    held = claim_all(store, "old", Policy(job_type, limits=one))
    assert [lease.run_id for lease in held] == [first]
    assert run_of(database, waiting)["gate"]
    with psycopg.connect(database.url) as other:
        other.execute("SELECT FROM job_runs WHERE id = %s FOR UPDATE", [waiting])
        declare(store, Policy(job_type, limits=TYPES[job_type]))
        end(store, held)
    jobrunner.tick()
    assert run_of(database, waiting)["status"] == "succeeded"


@pytest.mark.promise("P1")
@pytest.mark.parametrize("gate", ["x", "all", "customer [7]", "after"])
def test_runs_behind_a_gate_that_was_written_by_hand_are_told_of_and_done_by_the_next_tick(
    jobrunner: Commands, app: App, database: Database, gate: str
) -> None:
    app.add(HANDLERS)
    insert_runs(database, 1, "free")
    jobrunner.tick()
    runs = [
        queue(database, job_type, {"customer": 1}, run_at=database.now() - timedelta(hours=1)) for job_type in TYPES
    ]
    database.execute("UPDATE job_runs SET gate = ? WHERE status = 'queued'", [gate])
    status = json.loads(jobrunner("status", "--json").stdout)
    assert status["due"] == len(runs)
    assert gate in status["oldest_due"]["sentence"]
    for run_id in runs:
        assert json.loads(jobrunner("show", str(run_id), "--json").stdout)["waits_for"] is None
        explained = json.loads(jobrunner("explain", str(run_id), "--json").stdout)
        assert (explained["reason"], explained["facts"]["gate"]) == ("gate", gate), explained
    health = jobrunner("health", check=False).stdout
    for job_type in TYPES:
        assert f"1 run of {job_type} for 1h" in health, health
    jobrunner.tick()
    assert unfinished(database) == 0


@pytest.mark.promise("P1")
def test_a_run_behind_a_gate_whose_row_is_gone_or_has_no_turn_is_done_by_the_next_tick(
    jobrunner: Commands, app: App, store: Store, database: Database
) -> None:
    app.add(HANDLERS)
    for change in ("DELETE FROM job_gates", "UPDATE job_gates SET turn_at = NULL"):
        for job_type in ("plain", "keyed"):
            limits = Limits(max_running=1, concurrency_key=TYPES[job_type].concurrency_key)  # type: ignore[union-attr]
            for _ in range(3):
                queue(database, job_type, {"customer": 1})
            held = claim_all(store, "a", Policy(job_type, limits=limits), limit=1)
            database.execute(change)
            end(store, held)
        assert unfinished(database) == 4
        jobrunner.tick()
        assert unfinished(database) == 0


AGAIN = {
    "sqlite": "CREATE TRIGGER again AFTER UPDATE OF gate ON job_runs WHEN new.gate = ''"
    " BEGIN UPDATE job_runs SET gate = 'x' WHERE id = new.id; END",
    "postgresql": "CREATE FUNCTION again() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN NEW.gate := 'x'; RETURN NEW; END $$;"
    " CREATE TRIGGER again BEFORE UPDATE OF gate ON job_runs FOR EACH ROW EXECUTE FUNCTION again()",
}


def test_runs_that_older_code_puts_behind_its_gate_again_at_once_keep_no_tick_from_going_on(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """The older tick is as quick as can be: a trigger."""
    app.add(HANDLERS)
    stray, due = queue(database, "plain", gate="x"), queue(database, "free")
    database.execute(AGAIN["sqlite" if isinstance(database, SQLiteDatabase) else "postgresql"])
    tick = jobrunner.start("tick", "--budget", span(1))
    try:
        assert tick.wait(20) == 0
    finally:
        tick.kill()
    assert [run_of(database, each)["status"] for each in (stray, due)] == ["queued", "succeeded"]


@pytest.mark.promise("P1")
def test_a_run_that_waits_for_another_one_goes_on_waiting_for_it_after_its_gate_was_changed_by_hand(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.add(HANDLERS)
    (parent,) = insert_runs(database, 1, "free", run_at=database.now() + timedelta(hours=1), has_dependants=1)
    (child,) = insert_runs(database, 1, "free", gate="x")
    database.execute("INSERT INTO job_parents VALUES (?, ?, 'cancel', NULL)", [parent, child])
    jobrunner.tick()
    assert (run_of(database, child)["status"], run_of(database, child)["gate"]) == ("queued", "after")
    database.execute("UPDATE job_runs SET run_at = ? WHERE id = ?", [database.now(), parent])
    jobrunner.tick()
    assert run_of(database, child)["status"] == "succeeded"


def test_a_rate_of_older_code_keeps_no_tick_of_the_new_one_from_looking(store: Store, database: Database) -> None:
    """A claim whose limits are not the stored ones says nothing of when these open."""
    slow = Limits(concurrency_key=("customer",), rate_per_key=parse_rate("rate_per_key", "1/h", 1))
    quick = Limits(concurrency_key=("customer",), rate_per_key=parse_rate("rate_per_key", "9/s", 9))
    declare(store, Policy("keyed", limits=quick))
    for _ in range(3):
        queue(database, "keyed", {"customer": 1})
    end(store, claim_all(store, "old", Policy("keyed", limits=slow)))
    assert database.value("SELECT count(*) AS n FROM job_due WHERE kind = 'claim'") == 2
    wait_for(lambda: claim_all(store, "new", Policy("keyed", limits=quick)), 10, "the rate of the new code")


def test_a_gate_of_no_limit_is_found_at_once_beside_thousands_of_keys_and_a_lost_one_when_a_tick_prunes(
    store: Store, database: Database
) -> None:
    """So that an idle tick does not look at every key of a type each minute."""
    limits = Limits(concurrency_key=("customer",), rate_per_key=parse_rate("rate_per_key", "1/h", 1))
    declare(store, Policy("keyed", limits=limits))
    count = 2100
    at = database.now()
    insert = "INSERT INTO job_runs (job_type, payload, status, priority, run_at, created_at, updated_at, gate)"
    gates = f"SELECT 'customer [' || n || ']' AS gate FROM ({numbers(database, count)}) AS numbered"
    database.execute(f"{insert} SELECT 'keyed', '{{}}', 'queued', 0, ?, ?, ?, gate FROM ({gates}) AS g", [at] * 3)
    database.execute(
        f"INSERT INTO job_gates (job_type, gate, turn_at) SELECT 'keyed', gate, ? FROM ({gates}) AS g", [at]
    )
    assert store.read(strays.find) == ([], [])
    last = database.value("SELECT max(gate) AS gate FROM job_gates")
    database.execute("DELETE FROM job_gates WHERE gate = ?", [last])
    lost = {"job_type": "keyed", "gate": last}
    assert store.read(partial(strays.find, every=True)).gates == [lost]
    database.execute("UPDATE job_runs SET gate = 'x' WHERE gate = 'customer [7]'")
    assert {"job_type": "keyed", "gate": "x"} in store.read(strays.find).gates
    while store.write(partial(strays.free, strays=store.read(partial(strays.find, every=True)))):
        pass
    assert store.read(partial(strays.find, every=True)) == ([], [])


def test_hooks_are_told_of_a_late_run_behind_a_gate_where_no_claim_looks(store: Store, database: Database) -> None:
    late = timedelta(minutes=10)
    queue(database, "free", gate="x", run_at=database.now() - timedelta(hours=1))
    queue(database, "plain", gate="x")
    found = store.write(lambda connection: notices.note_late(connection, lambda *_: [], lambda *_: late, late))
    assert found == {notices.Subject("free", "")}
