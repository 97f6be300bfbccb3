"""A renamed type in claims: its runs keep their names, and places, limits and pauses count them together."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from itertools import accumulate
from typing import Any

import pytest

from harness import Database, PostgresDatabase, postgresql_only
from harness.handlers_rows import queue
from harness.invariants import insert_runs
from harness.judge import breaches_at
from harness.limits import at_once, attempts, claim_all, claim_of, declare, end, end_all, report
from harness.plan_calls import request
from jobrunner.model import Actor, Capacity, Limits, Owner, Policy
from jobrunner.rates import parse_rate
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.questions import facts, findings
from jobrunner.store.questions.explain.runs import explain_run
from jobrunner.store.questions.runs import run_details
from jobrunner.store.queue import claims, pauses, set_limits
from jobrunner.store.queue.set_limits import Wanted

OLD = Policy("old")
ACTOR = Actor("test", "the other side is down")


def renamed(**options: Any) -> tuple[Policy, ...]:
    """The policies of today's code, under both names."""
    return Policy("new", formerly=("old",), **options).of_each_name()


def in_turn(database: Database, *names: str, **payload: Any) -> list[int]:
    """Due runs of these types, whose turns come in this order."""
    start = database.now() - timedelta(minutes=10)
    return [
        queue(database, name, payload, run_at=start + timedelta(seconds=number)) for number, name in enumerate(names)
    ]


def ids(leases: Any) -> list[int]:
    return sorted(each.run_id for each in leases)


def test_names_of_a_type_share_its_places_on_a_host_in_the_order_of_their_turns(
    store: Store, database: Database
) -> None:
    runs = in_turn(database, "new", "old", "old", "new", "old", "new")
    policies = renamed(concurrency=3)
    claim = claim_of(store, "a", *policies, limit=10)
    # Each run keeps its name, and has the policy of the type.
    assert [(run.lease.run_id, run.job_type) for run in claim.runs] == list(
        zip(runs[:3], ("new", "old", "old"), strict=True)
    )
    assert claim_of(store, "a", *policies).runs == []
    # What older code has at work on this host takes a place, too.
    end(store, [claim.runs[0].lease])
    assert ids(run.lease for run in claim_of(store, "a", OLD, limit=1).runs) == [runs[4]]
    assert claim_of(store, "a", *policies).runs == []
    assert ids(run.lease for run in claim_of(store, "b", *policies).runs) == [runs[3], runs[5]]


def test_names_of_an_async_type_share_its_places_and_those_that_wait_for_one(store: Store, database: Database) -> None:
    in_turn(database, *["new", "old"] * 10)
    asked = request(owner=Owner("a", "a:1:a"), policies=renamed(concurrency=3, is_async=True), limit=100)
    asked = asked._replace(capacity=Capacity(0, ahead=100), may_wait={"new": 4, "old": 4})
    claim = store.write(lambda connection: claims.claim(connection, asked))
    assert (len(claim.runs), claim.places) == (7, {"new": 3, "old": 3})
    assert Counter(run.job_type for run in claim.runs) == {"new": 4, "old": 3}


LIMITED: dict[str, tuple[Limits, int]] = {
    "max_running": (Limits(max_running=3), 3),
    "rate": (Limits(rate=parse_rate("rate", "3/h", 3)), 3),
    "key": (Limits(concurrency_key=("n",), max_running_per_key=1), 1),
    "keys and type": (Limits(max_running=2, concurrency_key=("n",), max_running_per_key=3), 2),
    "rate of a key": (Limits(concurrency_key=("n",), rate_per_key=parse_rate("rate_per_key", "2/h", 2)), 2),
    "a fair share, too": (Limits(concurrency_key=("n",), max_running_per_key=2, fair_by="n"), 2),
}


@pytest.mark.promise("P5")
@pytest.mark.parametrize("name", LIMITED)
def test_limits_of_a_type_count_its_names_together_and_keep_neither_waiting_for_ever(
    store: Store, database: Database, name: str
) -> None:
    limit, most = LIMITED[name]
    policies = renamed(limits=limit)
    for policy in policies:
        declare(store, policy)
    runs = in_turn(database, "old", *["new"] * 3, "old", "new", n=1)
    first = claim_all(store, "a", *policies)
    assert len(first) == most
    assert runs[0] in ids(first)
    assert claim_all(store, "b", *policies) == []
    # What runs under the one name keeps the other one waiting, also after the row of the first is gone.
    end_all(store, database)
    if limit.rate is None and limit.rate_per_key is None:
        seen = [*ids(first)]
        while found := claim_all(store, "b", *policies):
            assert len(found) <= most
            seen += ids(found)
            end(store, found)
        assert sorted(seen) == runs
    else:
        assert claim_all(store, "b", *policies) == []
        assert claim_all(store, "c", policies[1]) == []


@pytest.mark.promise("P5")
def test_rate_that_older_code_has_used_up_allows_no_run_of_the_new_name(store: Store, database: Database) -> None:
    rate = Limits(rate=parse_rate("rate", "2/h", 2))
    in_turn(database, "old", "old", "new")
    for policy in renamed(limits=rate):
        declare(store, policy)
    assert len(claim_all(store, "a", Policy("old", limits=rate))) == 2
    assert claim_all(store, "b", *renamed(limits=rate)) == []


def test_name_under_which_runs_come_all_the_time_keeps_the_other_one_not_waiting(
    store: Store, database: Database
) -> None:
    policies = renamed(limits=Limits(max_running=1))
    in_turn(database, *["new"] * 4)
    (old,) = in_turn(database, "old")
    database.execute("UPDATE job_runs SET run_at = ? WHERE id = ?", [database.now() - timedelta(minutes=9), old])
    claimed: list[int] = []
    while old not in claimed:
        assert len(claimed) < 5
        (lease,) = claim_all(store, "a", *policies)
        claimed.append(lease.run_id)
        end(store, [lease])
        # As urgent as those that wait, by its turn; but others of this name have come before.
        insert_runs(database, 1, "new")


@pytest.mark.promise("P5")
@postgresql_only
def test_claims_of_new_code_at_once_never_exceed_a_limit_of_both_names(
    open_store: Callable[[], Store], database: Database
) -> None:
    policies = renamed(limits=Limits(max_running=3))
    runs = in_turn(database, *["new", "old"] * 12)

    def work(store: Store, host: str) -> None:
        while any(row["status"] != "succeeded" for row in database.query("SELECT status FROM job_runs")):
            end(store, claim_all(store, host, *policies, limit=2))

    at_once([open_store() for _ in range(5)], work)
    begun = [each for name in ("new", "old") for each in attempts(database, name)]
    assert len(begun) == len(runs)
    at = sorted([(each["started_at"], 1) for each in begun] + [(each["finished_at"], -1) for each in begun])
    assert max(accumulate(change for _, change in at)) <= 3


@postgresql_only
def test_claim_of_older_code_that_holds_its_name_keeps_new_code_from_counting_wrong(
    store: Store, database: PostgresDatabase
) -> None:
    policies = renamed(limits=Limits(max_running=1))
    for policy in policies:
        declare(store, policy)
    in_turn(database, "new", "old")
    with database.connect() as older:
        older.execute("BEGIN")
        older.execute("SELECT FROM job_limits WHERE job_type = 'old' FOR UPDATE")
        claim = claim_of(store, "a", *policies)
        assert (claim.runs, claim.opens_in) == ([], pytest.approx(0.05))
        older.execute("ROLLBACK")
    assert len(claim_all(store, "a", *policies)) == 1


def test_limit_that_is_set_for_one_name_holds_for_all_and_of_two_the_lower_one(
    store: Store, database: Database
) -> None:
    policies = renamed()
    in_turn(database, *["new", "old"] * 4)
    # Nobody has reported the names yet.
    store.write(partial(set_limits.set_limit, wanted=Wanted("old", 3, None), actor=ACTOR))
    assert len(claim_all(store, "a", *policies)) == 3
    end_all(store, database)
    report(store, *policies)
    store.write(partial(set_limits.set_limit, wanted=Wanted("new", 2, None), actor=ACTOR))
    assert {each.job_type: each.max_running for each in store.read(set_limits.listed)} == {"new": 2, "old": 2}
    assert len(claim_all(store, "a", *policies)) == 2
    database.execute("UPDATE job_set_limits SET max_running = 4 WHERE job_type = 'new'")
    assert claim_all(store, "b", *policies) == []
    assert store.write(partial(set_limits.unset, job_type="old", actor=ACTOR)) is not None
    assert store.read(set_limits.listed) == []
    assert len(claim_all(store, "a", *policies)) == 3
    assert breaches_at(database.url) == []


def test_pause_of_one_name_holds_all_of_them_and_ends_with_one_word(store: Store, database: Database) -> None:
    policies = renamed()
    old, new = in_turn(database, "old", "new")
    # Before a host has reported the names.
    store.write(partial(pauses.pause, kind="type", name="old", actor=ACTOR))
    assert claim_all(store, "a", *policies) == []
    report(store, *policies)
    told = store.read(partial(explain_run, run_id=new))
    assert told is not None
    assert (told.reason, told.remedy) == ("paused", "jobrunner resume --type old")
    assert store.write(partial(pauses.resume, kind="type", name="new", actor=ACTOR)) is not None
    # From now on both have a row, which older code and each question sees.
    assert store.write(partial(pauses.pause, kind="type", name="new", actor=ACTOR)) is None
    assert sorted(each.name for each in store.read(pauses.listed)) == ["new", "old"]
    assert claim_all(store, "a", OLD) == []
    assert store.write(partial(pauses.resume, kind="type", name="old", actor=ACTOR)) is not None
    assert ids(claim_all(store, "a", *policies)) == [old, new]
    assert breaches_at(database.url) == []


def test_run_behind_the_limit_that_its_other_name_uses_is_explained_and_is_no_finding(
    store: Store, database: Database
) -> None:
    limit = Limits(max_running=1)
    policies = renamed(limits=limit)
    for policy in policies:
        declare(store, policy)
    report(store, *policies)
    new, old = in_turn(database, "new", "old")
    assert ids(claim_all(store, "a", *policies)) == [new]
    for table, column in (("job_gates", "turn_at"), ("job_runs", "run_at")):
        database.execute(f"UPDATE {table} SET {column} = ?", [database.now() - timedelta(hours=2)])
    shown = store.read(partial(run_details.show, run_id=old))
    assert shown is not None
    assert shown.waits_for == f"the limit max_running 1 of its type, which is used by run {new}"
    few = facts.Limits(*[timedelta(hours=1)] * 5)
    assert store.read(partial(findings.facts, limits=few)).due == []
    end_all(store, database)
    database.execute("UPDATE job_runs SET finished_at = ? WHERE id = ?", [database.now() - timedelta(hours=1), new])
    # Now nothing but a tick is missing.
    assert [each.job_type for each in store.read(partial(findings.facts, limits=few)).due] == ["old"]
