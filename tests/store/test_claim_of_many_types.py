"""A claim of any number of job types: the most urgent runs of all, and of each type no more than it may have."""

from __future__ import annotations

from datetime import timedelta

import pytest

from harness import Database
from harness.counted_calls import calls_of
from harness.invariants import insert_runs
from jobrunner.model import Capacity, Owner, Policy
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.queue.claims import ClaimRequest, claim
from jobrunner.store.queue.ticks import ticks

TYPES = [f"type_{number:03}" for number in range(600)]


def asked(limit: int, **changes: object) -> ClaimRequest:
    policies = [Policy(name, max_attempts=3, timeout=timedelta(seconds=9)) for name in TYPES]
    request = ClaimRequest(Owner("here", "here:1:a"), "t" * 32, policies, limit, 999, timedelta(minutes=1))
    return request._replace(capacity=Capacity(limit), **changes)


@pytest.mark.promise("P1")
def test_a_host_of_six_hundred_types_claims_the_most_urgent_runs_of_all_and_of_none_too_many(
    database: Database, store: Store
) -> None:
    """SQLite refused a claim of more than 256 types, and every busy tick ended with 70."""
    due = database.now() - timedelta(minutes=1)
    for name in (TYPES[599], TYPES[300], TYPES[0]):
        insert_runs(database, 3, name, run_at=due)
    (urgent,) = insert_runs(database, 1, TYPES[450], run_at=due, priority=9)
    insert_runs(database, 1, "of nobody here", run_at=due, priority=9)
    found = store.write(lambda connection: claim(connection, asked(5, type_limits={TYPES[599]: 2, TYPES[300]: 0})))
    store.close()
    assert found.runs[0].lease.run_id == urgent
    assert [run.job_type for run in found.runs[1:]] == [TYPES[599], TYPES[599], TYPES[0], TYPES[0]]
    assert {(run.attempt, run.timeout) for run in found.runs} == {(1, timedelta(seconds=9))}
    rows = database.query("SELECT max_attempts FROM job_runs WHERE status = 'running'")
    assert [row["max_attempts"] for row in rows] == [3] * 5


def test_a_host_of_six_hundred_types_counts_what_is_due_of_all_of_them(database: Database, store: Store) -> None:
    for name in (TYPES[599], TYPES[0]):
        insert_runs(database, 3, name, run_at=database.now() - timedelta(minutes=1))
    policies = [Policy(name, concurrency=2 if name == TYPES[0] else None) for name in TYPES]
    counted = {most: store.read(lambda each, most=most: ticks.count_claimable(each, policies, most)) for most in (9, 4)}
    store.close()
    assert counted == {9: 5, 4: 4}


def test_names_of_a_renamed_type_share_its_limit_and_leave_that_of_others_to_them(
    database: Database, store: Store
) -> None:
    for name in ("old", "new", "other"):
        insert_runs(database, 3, name, run_at=database.now() - timedelta(minutes=1))
    policies = [*Policy("new", formerly=("old",), concurrency=2).of_each_name(), Policy("other", concurrency=3)]
    found = store.write(lambda connection: claim(connection, asked(9, policies=policies)))
    store.close()
    assert sorted(run.job_type for run in found.runs) == ["old", "old", "other", "other", "other"]


def test_a_claim_of_six_hundred_types_makes_few_calls_for_each_of_them(store: Store) -> None:
    """Each claim built and encoded the whole list anew, which on SQLite took as long as the claim of 100 runs."""
    few, many = (_calls(store, types) for types in (1, len(TYPES)))
    store.close()
    assert (many - few) / len(TYPES) < 2


def _calls(store: Store, types: int) -> int:
    """How many functions a claim of so many types calls that is not the first of its tick."""
    first = asked(5, policies=[Policy(name) for name in TYPES[:types]], token=f"{types} first")
    store.write(lambda connection: claim(connection, first))
    second = first._replace(token=f"{types} second")
    return calls_of(lambda: store.write(lambda connection: claim(connection, second)))
