"""Limits over all hosts: `max_running` of a type and of a key are never exceeded, and hold up nobody else."""

import re
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from harness import Database, postgresql_only
from harness.handlers_rows import queue, status_of
from harness.invariants import insert_runs
from harness.limits import at_once, at_work, claim_all, claim_of, declare, drain, end, end_all, most_at_once
from harness.plan_calls import KEPT, KNOWN, request
from harness.waiting import stretched
from jobrunner import clock
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.model import Actor, Limits, Owner, Policy
from jobrunner.rates import parse_rate
from jobrunner.store.changes import one_run
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.questions.runs import run_details
from jobrunner.store.queue import claims, declared_limits, expiries
from jobrunner.store.queue.claims import Claim
from jobrunner.store.queue.ticks import retention, ticks

THREE = Policy("capped", limits=Limits(max_running=3))
BY_CUSTOMER = Policy("mail", limits=Limits(concurrency_key=("customer",), max_running_per_key=1))


def is_due(store: Store) -> bool:
    return store.read(ticks.is_anything_due)


def test_runs_of_a_type_at_its_limit_wait_for_the_end_of_others_on_any_host(store: Store, database: Database) -> None:
    runs = insert_runs(database, 5, "capped")
    first = claim_all(store, "a", THREE)
    assert [lease.run_id for lease in first] == runs[:3]
    assert claim_all(store, "b", THREE) == []
    end(store, first[:1])
    assert [lease.run_id for lease in claim_all(store, "b", THREE)] == [runs[3]]
    # Of an owner that was killed: they count until they are recovered.
    database.execute(
        "UPDATE job_runs SET locked_until = ? WHERE status = 'running'", [database.now() - timedelta(days=1)]
    )
    assert claim_all(store, "c", THREE) == []


def test_a_limit_that_was_lowered_below_what_runs_only_waits(store: Store, database: Database) -> None:
    runs = insert_runs(database, 5, "capped")
    first = claim_all(store, "a", THREE)
    one = Policy("capped", limits=Limits(max_running=1))
    declare(store, one)
    assert claim_all(store, "b", one) == []
    end(store, first[:2])
    assert claim_all(store, "b", one) == []
    end(store, first[2:])
    assert [lease.run_id for lease in claim_all(store, "b", one)] == [runs[3]]


def test_show_says_which_limit_a_run_waits_for(store: Store, database: Database) -> None:
    slow = Policy("slow", limits=Limits(rate=parse_rate("rate", "1/h", None)))
    slow_keys = Policy("slow_keys", limits=Limits(concurrency_key=("n",), rate_per_key=parse_rate("rate", "1/h", None)))
    said = {}
    for limit in (THREE, BY_CUSTOMER, slow, slow_keys):
        declare(store, limit)
        last = insert_runs(database, 4, limit.job_type)[-1]
        claim_all(store, "a", limit)
        shown = store.read(partial(run_details.show, run_id=last))
        said[limit.job_type] = shown.waits_for if shown else None
    for job_type, pattern in {
        "capped": r"the limit max_running 3 of its type, which is used by run \d+, \d+, \d+",
        "mail": r"the limit max_running_per_key 1 of customer \S+, which is used by run \d+ and 2 due runs in .*",
        "slow": r"the rate 1/h of its type, which allows it in (3h|2h5\dm) after 2 due runs in front of it",
        "slow_keys": r"the rate 1/h of n \S+, which allows it in \w+( after 2 due runs in front of it)?",
    }.items():
        assert re.fullmatch(pattern, said[job_type] or ""), said


def test_a_run_behind_others_of_its_key_waits_for_the_key_and_not_for_the_type(
    store: Store, database: Database
) -> None:
    both = Policy("mail", limits=Limits(max_running=2, concurrency_key=("customer",), max_running_per_key=1))
    declare(store, both)
    last = [queue(database, "mail", {"customer": 1}) for _ in range(4)][-1]
    claim_all(store, "a", both)
    shown = store.read(partial(run_details.show, run_id=last))
    assert shown is not None
    assert re.match(r"the limit max_running_per_key 1 of customer \[1\]", shown.waits_for or ""), shown.waits_for


def test_each_key_has_its_own_limit_and_holds_up_no_other(store: Store, database: Database) -> None:
    """The payload decides: a missing value is one of its own, and 1 is not "1"."""
    values: list[Any] = [7, 7, 7, "7", "7", None, None, [7], {"a": "ü'\""}, 7.5, True]
    payloads = [{} if value is None else {"customer": value} for value in values]
    runs = [queue(database, "mail", payload) for payload in payloads]
    others = insert_runs(database, 2, "known")
    found = claim_all(store, "a", BY_CUSTOMER, *KNOWN, limit=20)
    assert sorted(lease.run_id for lease in found) == [runs[0], runs[3], runs[5], *runs[7:], *others]
    assert claim_all(store, "b", BY_CUSTOMER) == []
    end(store, [lease for lease in found if lease.run_id in (runs[0], runs[3])])
    assert {lease.run_id for lease in claim_all(store, "b", BY_CUSTOMER)} == {runs[1], runs[4]}


def test_gate_of_the_most_urgent_run_is_the_first_whatever_it_is_called(store: Store, database: Database) -> None:
    """Else a key with much to do, whose name comes first, would keep the others waiting for ever.

    Without the index that happens to have this order: the planner may choose another one.
    """
    database.execute("DROP INDEX job_gates_turn")
    at = database.now() - timedelta(hours=1)
    minutes = {"b": 3, "d": 1, "a": 4, "c": 2, "e": 5}
    runs = {
        name: queue(database, "mail", {"customer": name}, run_at=at + timedelta(minutes=n))
        for name, n in minutes.items()
    }
    found = [claim_of(store, "a", BY_CUSTOMER, limit=1).runs[0].lease.run_id for _ in minutes]
    assert found == [runs[name] for name in "dcbae"]


def test_several_of_a_key_and_several_names_in_one(store: Store, database: Database) -> None:
    two = Policy("mail", limits=Limits(max_running=5, concurrency_key=("a", "b"), max_running_per_key=2))
    payloads = [{"a": a, "b": b} for a in (1, [2, {"c": "ä"}]) for b in (1, {"d": []}) for _ in range(3)]
    for payload in payloads:
        queue(database, "mail", payload)
    for count in (5, 5, 2):
        assert len(claim_all(store, "a", two)) == count
        working = database.query("SELECT payload FROM job_runs WHERE status = 'running'")
        assert max(Counter(str(row["payload"]) for row in working).values()) <= 2
        end_all(store, database)


def test_only_runs_that_may_begin_are_due_while_others_wait_at_their_limit(store: Store, database: Database) -> None:
    """An idle tick must not become a busy one each minute for runs that it cannot begin."""
    for limit, count in ((THREE, 5), (BY_CUSTOMER, 3)):
        declare(store, limit)
        insert_runs(database, count, limit.job_type)
        assert is_due(store)
        found = claim_all(store, "a", limit)
        assert database.value("SELECT count(*) AS n FROM job_due") == 0
        assert not is_due(store)
        end(store, found[:1])
        assert is_due(store)
        claim_all(store, "a", limit)
        assert not is_due(store)
    # The code may have changed, and nobody has said so yet.
    database.execute("UPDATE job_limits SET asked_at = ?", [database.now() - timedelta(minutes=11)])
    assert is_due(store)


@pytest.mark.parametrize("how", ["failed", "returned", "expired", "cancelled and retried", "dead and retried"])
def test_a_run_of_a_limited_type_is_never_lost_on_its_way_back(store: Store, database: Database, how: str) -> None:
    policies = [THREE, BY_CUSTOMER]
    runs = [queue(database, policy.job_type) for policy in policies]
    behind = [queue(database, policy.job_type) for policy in policies for _ in range(3)]
    if how == "cancelled and retried":
        held = claim_all(store, "a", *policies)
        waiting = [run_id for run_id in behind if status_of(database, run_id) == "queued"]
        for run_id in waiting:
            assert store.write(
                lambda connection, run_id=run_id: one_run.cancel(connection, run_id, Actor("me"))
            ).applied  # type: ignore[misc]
        end(store, held)
        store.write(lambda connection: retention.prune(connection, dict.fromkeys(KEPT, timedelta(days=9))))
        for run_id in waiting:
            assert store.write(lambda connection, run_id=run_id: one_run.retry(connection, run_id, Actor("me"))).applied  # type: ignore[misc]
    else:
        claim_all(store, "a", *policies)
        send_back(store, database, how)
    left = {*runs, *behind}
    for _ in range(20):
        found = claim_all(store, "b", *policies)
        left -= {lease.run_id for lease in found}
        end(store, found)
    assert database.query("SELECT id, status, gate FROM job_runs WHERE status <> 'succeeded'") == []


def send_back(store: Store, database: Database, how: str) -> None:
    held = at_work(database)
    assert held
    if how == "returned":
        store.write(lambda connection: claims.return_unstarted(connection, held[0].token))
    elif how == "expired":
        database.execute(
            "UPDATE job_runs SET locked_until = ? WHERE status = 'running'", [database.now() - timedelta(1)]
        )
        store.write(lambda connection: expiries.recover(connection, 100))
    else:
        outcome = Outcome.FAILED if how == "failed" else Outcome.DISCARDED
        end(store, held, AttemptResult(outcome, wait=timedelta(0)))
    if how == "dead and retried":
        for lease in held:
            assert store.write(
                lambda connection, lease=lease: one_run.retry(connection, lease.run_id, Actor("me"))
            ).applied  # type: ignore[misc]
    database.execute("UPDATE job_runs SET run_at = ? WHERE status = 'failed'", [database.now()])


def test_a_host_whose_code_has_no_limit_any_more_finds_the_runs_that_wait_behind_gates(
    store: Store, database: Database
) -> None:
    runs = insert_runs(database, 6, "mail")
    held = claim_all(store, "a", BY_CUSTOMER)
    assert len(held) == 1
    free = Policy("mail")
    assert store.read(lambda connection: declared_limits.changed(connection, [free])) == [free]
    declare(store, free)
    assert store.read(lambda connection: declared_limits.changed(connection, [free])) == []
    assert {lease.run_id for lease in claim_all(store, "b", free)} == {*runs} - {held[0].run_id}
    # An older host, in the middle of a deploy, goes on as before.
    more = insert_runs(database, 2, "mail")
    assert [lease.run_id for lease in claim_all(store, "a", BY_CUSTOMER)] == []
    end(store, held)
    assert [lease.run_id for lease in claim_all(store, "a", BY_CUSTOMER)] == more[:1]


def test_a_type_counted_by_another_argument_takes_its_waiting_runs_along(store: Store, database: Database) -> None:
    runs = [queue(database, "mail", {"customer": 1, "order": order}) for order in (1, 2, 2)]
    declare(store, BY_CUSTOMER)
    held = claim_all(store, "a", BY_CUSTOMER)
    by_order = Policy("mail", limits=Limits(concurrency_key=("order",), max_running_per_key=1))
    declare(store, by_order)
    assert [lease.run_id for lease in held] == runs[:1]
    assert [lease.run_id for lease in claim_all(store, "b", by_order)] == runs[1:2]


def test_a_quarantined_run_keeps_to_the_limit_too(store: Store, database: Database) -> None:
    (poison,) = insert_runs(database, 1, "capped", lease_expiries=2)
    insert_runs(database, 3, "capped")
    asked = request(owner=Owner("a", "a:1:a"), token="q" * 32, policies=[THREE], limit=1, quarantined=True)
    assert poison not in [lease.run_id for lease in claim_all(store, "b", THREE)]
    assert store.write(lambda connection: claims.claim(connection, asked)).runs == []
    end_all(store, database)
    (run,) = store.write(lambda connection: claims.claim(connection, asked)).runs
    assert run.lease.run_id == poison


@postgresql_only
def test_a_host_that_stalls_in_a_claim_holds_up_its_limited_type_only(
    open_store: Callable[[], Store], database: Database
) -> None:
    """Nobody waits for it, and all of them look again soon."""
    one, other = open_store(), open_store()
    declare(one, THREE)
    capped, known = insert_runs(database, 2, "capped"), insert_runs(database, 1, "known")
    asked = request(owner=Owner("a", "a:1:a"), token="a" * 32, policies=[THREE], limit=1)
    answers = []

    def stall(connection: Connection) -> Claim:
        claim = claims.claim(connection, asked)
        began_at = clock.elapsed()
        answers.append(claim_of(other, "b", THREE, *KNOWN))
        assert clock.elapsed() - began_at < stretched(1)
        return claim

    assert [run.lease.run_id for run in one.write(stall).runs] == capped[:1]
    (meanwhile,) = answers[0].runs
    assert (meanwhile.lease.run_id, answers[0].opens_in) == (known[0], 0.05)
    assert [lease.run_id for lease in claim_all(other, "b", THREE)] == capped[1:]


@pytest.mark.promise("P1")
def test_twenty_claimers_at_once_never_exceed_a_limit_nor_leave_a_run(
    open_store: Callable[[], Store], database: Database
) -> None:
    """Judged by the attempts afterwards: how many of a type and of a key overlapped."""
    policies = [THREE, BY_CUSTOMER]
    insert_runs(database, 60, "capped")
    # All begin while the type is at its limit: whether they would reach it by themselves is chance.
    host_before = open_store()
    held = claim_all(host_before, "before", THREE)
    for number in range(60):
        queue(database, "mail", {"customer": number % 4})

    def is_done() -> bool:
        return database.value("SELECT count(*) AS n FROM job_runs WHERE status <> 'succeeded'") == 0

    def work(store: Store, host: str) -> None:
        if store is host_before:
            end(store, held)
        drain(store, host, policies, 15, is_done)

    at_once([host_before, *(open_store() for _ in range(19))], work)
    assert is_done()
    assert most_at_once(database, "capped") == 3
    for customer in range(4):
        assert most_at_once(database, "mail", {"customer": customer}) == 1
