"""Fair types where their runs come by another way than an enqueue that is due at once."""

import json
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from harness import App, Commands, Database
from harness.handlers_rows import queue, run_of, status_of
from harness.judge import breaches_at
from harness.limits import claim_of, declare, end, report
from jobrunner.model import Actor, Limits, Policy
from jobrunner.store.changes import one_run
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.queue import deadlines, pauses
from jobrunner.store.queue.ticks import retention

HANDLERS = """
from jobrunner import fixed, job

@job("export", fair_by="customer_id", max_attempts=2, backoff=fixed("0s"))
def export(ctx, customer_id):
    if ctx.attempt == 1 and customer_id == "fails":
        raise ValueError("once")

@job("plain")
def plain(ctx):
    pass
"""


@pytest.fixture
def fair(jobrunner: Commands, app: App) -> Commands:
    app.write("handlers", HANDLERS)
    jobrunner("enqueue", "export", "--payload", '{"customer_id": "A"}')
    # A busy tick declares the type.
    jobrunner.tick()
    return jobrunner


def enqueue(jobrunner: Commands, customer: str, *more: object) -> int:
    return int(jobrunner("enqueue", "export", "--payload", json.dumps({"customer_id": customer}), *more).stdout)


@pytest.mark.promise("P1")
def test_runs_that_wait_for_the_end_of_others_or_come_again_have_their_turn_in_the_same_tick(
    fair: Commands, database: Database
) -> None:
    plain = int(fair("enqueue", "plain").stdout)
    after = enqueue(fair, "B", "--after", plain)
    after_that = enqueue(fair, "C", "--after", after)
    fails = enqueue(fair, "fails")
    fair.tick()
    assert [status_of(database, each) for each in (plain, after, after_that, fails)] == ["succeeded"] * 4
    assert run_of(database, fails)["attempts"] == 2
    assert breaches_at(database.url) == []


FAIR = Policy("export", limits=Limits(fair_by="customer_id"))


def in_line(database: Database, customers: str, name: str = "export", **values: Any) -> list[int]:
    """A due run for each of these customers."""
    return [queue(database, name, {"customer_id": each}, **values) for each in customers]


def claimed(store: Store, *policies: Policy, limit: int = 10) -> list[int]:
    return [run.lease.run_id for run in claim_of(store, "web1", *policies, limit=limit).runs]


def is_anything_due(database: Database) -> bool:
    """As an idle tick asks."""
    return bool(database.value("SELECT is_due FROM job_gates_due"))


@pytest.mark.promise("P1", "P11")
def test_expired_run_in_front_of_its_key_is_dead_takes_no_turn_and_holds_nobody_up(
    store: Store, database: Database
) -> None:
    declare(store, FAIR)

    def expired(customer: str, seconds: int) -> int:
        at = database.now() - timedelta(seconds=seconds)
        return queue(database, "export", {"customer_id": customer}, start_deadline_at=at)

    def ended(limit: int) -> list[int]:
        return [each.run_id for each in store.write(partial(deadlines.end_overdue, limit=limit))]

    first, alone = expired("A", 1), expired("C", 2)
    others = in_line(database, "AAB")
    store.write(partial(pauses.pause, kind="type", name="export", actor=Actor("test", "the disk is full")))
    assert claimed(store, FAIR) == []
    assert ended(1) == [alone]
    store.write(partial(pauses.resume, kind="type", name="export", actor=Actor("test")))
    assert claimed(store, FAIR, limit=2) == [others[0], others[2]]
    assert ended(10) == [first]
    assert claimed(store, FAIR) == others[1:2]
    assert not is_anything_due(database)
    assert breaches_at(database.url) == []


@pytest.mark.promise("P1")
def test_key_whose_first_run_is_cancelled_and_deleted_keeps_its_place_for_the_others(
    store: Store, database: Database
) -> None:
    declare(store, FAIR)
    first, cancelled, last = in_line(database, "AAA")
    (other,) = in_line(database, "B")
    begun = claim_of(store, "web1", FAIR, limit=1).runs
    assert [run.lease.run_id for run in begun] == [first]
    store.write(partial(one_run.cancel, run_id=cancelled, actor=Actor("test")))
    end(store, [run.lease for run in begun])
    database.execute("UPDATE job_runs SET finished_at = created_at WHERE finished_at IS NOT NULL")
    kept = dict.fromkeys(("succeeded", "cancelled", "dead", "ticks", "events"), timedelta(0))
    assert store.write(partial(retention.prune, keep=kept)).deleted >= 2
    assert database.value("SELECT count(*) FROM job_runs") == 2
    (new,) = in_line(database, "A")
    assert claimed(store, FAIR) == [other, last, new]
    assert not is_anything_due(database)
    # Nothing waits there any more, and the next run of the key makes its gate again.
    store.write(partial(retention.prune, keep=kept))
    assert database.value("SELECT count(*) FROM job_gates") == 0
    again = in_line(database, "A")
    assert claimed(store, FAIR) == again
    assert breaches_at(database.url) == []


@pytest.mark.promise("P1", "P5")
def test_pause_holds_the_lines_of_both_names_of_a_fair_type_and_keeps_their_order(
    store: Store, database: Database
) -> None:
    policies = Policy("new", formerly=("export",), limits=FAIR.limits).of_each_name()
    for policy in policies:
        declare(store, policy)
    report(store, *policies)
    old, new = in_line(database, "AAB"), in_line(database, "AC", "new")
    store.write(partial(pauses.pause, kind="type", name="export", actor=Actor("test", "the disk is full")))
    assert claimed(store, *policies) == []
    store.write(partial(pauses.resume, kind="type", name="new", actor=Actor("test")))
    assert claimed(store, *policies, limit=2) == [old[0], old[2]]
    assert sorted(claimed(store, *policies)) == sorted([old[1], *new])
    assert breaches_at(database.url) == []
