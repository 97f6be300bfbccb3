"""A tick that alone claims on its host need not count what is at work there, and never has more than its permits."""

import random
import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from harness import Database, wait_for
from harness.at_work import LEASE, end_attempt, running
from harness.invariants import insert_runs
from harness.plan_calls import DONE, request
from harness.waiting import stretched
from jobrunner.model import Owner, TickKind
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.queue import claims
from jobrunner.store.queue.claims import Claim
from jobrunner.store.queue.ticks import ticks

PERMITS = 3
FIRST, SECOND = Owner("here", "here:1:a"), Owner("here", "here:2:b")
KIND = TickKind("here", "shop", "")
NONE: dict[str, int] = {}


def claim(store: Store, owner: Owner = FIRST, **changes: Any) -> Claim:
    """``in_hand`` need not be true here: what the claim does with it shows whether it has counted."""
    asked = request(**{"owner": owner, "token": random.randbytes(16).hex(), "permits": PERMITS, "limit": 1, **changes})
    return store.write(partial(claims.claim, request=asked))


def end(store: Store, owner: Owner, claimed: Claim) -> None:
    for run in claimed.runs:
        store.write(lambda connection, run=run: end_attempt(connection, owner, run.lease, DONE))


@pytest.fixture
def is_told(database: Database) -> bool:
    """Only on PostgreSQL a tick tells the others that it is alone; on SQLite it counts, which costs nothing there."""
    return database.name == "postgresql"


@pytest.mark.promise("P2")
def test_tick_that_is_alone_on_its_host_counts_once(database: Database, store: Store, is_told: bool) -> None:
    insert_runs(database, 9, "known")
    assert not claim(store).is_sole
    first = claim(store, in_hand=NONE)
    assert (len(first.runs), first.is_sole) == (1, is_told)
    # By the count it has two now, and one permit left.
    assert len(claim(store, in_hand=NONE, limit=3).runs) == (3 if is_told else 1)


@pytest.mark.promise("P2")
@pytest.mark.parametrize("in_hand", [None, NONE], ids=["counts", "would rather not count"])
def test_tick_counts_again_after_another_tick_of_its_host_has_claimed(
    database: Database, store: Store, is_told: bool, in_hand: dict[str, int] | None
) -> None:
    insert_runs(database, 9, "known")
    mine = claim(store, in_hand=NONE)
    others = claim(store, SECOND, in_hand=in_hand)
    assert (len(others.runs), others.permits, others.is_sole) == (1, PERMITS - 1, False)
    again = claim(store, in_hand={"known": 1}, limit=3)
    assert (len(again.runs), again.permits, again.is_sole) == (1, PERMITS - 1, False)
    # When nothing of the other one is at work any more, it is alone again.
    end(store, SECOND, others)
    end(store, FIRST, mine)
    assert [claim(store, in_hand={"known": 1}, limit=0).is_sole for _ in range(2)] == [is_told, is_told]


@pytest.mark.promise("P2")
def test_two_ticks_that_claim_in_turns_write_the_row_of_their_lock_only_twice_for_both(
    database: Database, store: Store
) -> None:
    """It is read with each claim, and each write leaves an old version of it in the way of the next one."""
    names = []
    for owner in (FIRST, SECOND, FIRST, SECOND):
        claim(store, owner, in_hand=NONE)
        names += [row["sole_owner"] for row in database.query("SELECT sole_owner FROM job_locks")]
    assert names in ([], [FIRST.name, None, FIRST.name, None])


@pytest.mark.promise("P2", "P6")
def test_runs_of_a_killed_tick_keep_their_permits_until_their_leases_are_over(
    database: Database, store: Store, is_told: bool
) -> None:
    insert_runs(database, 9, "known")
    running(database, 1, locked_by="here:9:killed")
    found = claim(store, in_hand=NONE)
    assert (found.permits, found.is_sole) == (PERMITS - 1, False)
    database.move_clock(LEASE * 1.1)
    store.close()  # A session keeps its clock.
    found = claim(store, in_hand={"known": 1})
    assert (found.permits, found.is_sole) == (PERMITS, is_told)


@pytest.mark.promise("P2")
def test_tick_counts_while_a_tick_of_another_version_may_be_at_work_on_its_host(
    database: Database, store: Store, is_told: bool
) -> None:
    """An older one locks the same row and leaves the name of the other one there."""
    insert_runs(database, 9, "known")
    rows = []
    for owner, version in ((FIRST, "0.2.0"), (SECOND, "0.1.0")):
        rows.append(store.write(partial(ticks.open_tick, owner=owner, kind=KIND, version=version)))
    claim(store, in_hand=NONE)
    claim(store, in_hand=NONE)
    assert len(claim(store, in_hand=NONE, limit=3).runs) == 1
    old = ticks.TickRow(rows[1].id, SECOND)
    assert store.write(lambda connection: ticks.close_tick(connection, old, ticks.TickEnd({}, None, "empty")))
    assert len(claim(store, in_hand=NONE, limit=3).runs) == (3 if is_told else 0)


@pytest.mark.promise("P2")
def test_tick_waits_for_the_claim_of_another_tick_and_then_counts_what_it_has_claimed(
    database: Database, open_store: Callable[[], Store]
) -> None:
    insert_runs(database, 9, "known")
    first, second = open_store(), open_store()
    claim(first, in_hand=NONE)
    has_claimed, may_commit = threading.Event(), threading.Event()
    found: list[Claim] = []

    def claim_slowly() -> None:
        def work(connection: Any) -> None:
            claims.claim(connection, request(owner=SECOND, token="2" * 32, permits=PERMITS, limit=1))
            has_claimed.set()
            may_commit.wait(stretched(20))

        second.write(work)

    threads = [threading.Thread(target=claim_slowly)]
    threads[0].start()
    assert has_claimed.wait(stretched(20))
    threads.append(threading.Thread(target=lambda: found.append(claim(first, in_hand={"known": 1}, limit=3))))
    threads[1].start()
    if database.name == "postgresql":
        waits = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        wait_for(lambda: database.value(waits) > 0, 20, "the second claim waits for the first")
    assert not found
    may_commit.set()
    for each in threads:
        each.join(stretched(20))
    assert [(len(each.runs), each.permits) for each in found] == [(1, PERMITS - 1)]


@pytest.mark.promise("P2")
@pytest.mark.parametrize("seed", range(3))
def test_ticks_that_come_go_and_are_killed_never_have_more_at_work_than_the_permits_of_their_host(
    database: Database, store: Store, seed: int
) -> None:
    choose = random.Random(seed)
    insert_runs(database, 200, "known")
    alive: dict[Owner, list[Claim]] = {}
    at_work = "SELECT count(*) FROM job_runs WHERE status = 'running' AND locked_until > ?"
    for step in range(60):
        if len(alive) < 3:
            alive[Owner("here", f"here:{step}:x")] = []
        owner = choose.choice(list(alive))
        runs = alive[owner]
        what = choose.choices(["claim", "end", "kill", "wait"], [12, 6, 1, 1])[0]
        if what == "claim":
            in_hand = {"known": sum(len(each.runs) for each in runs)}
            runs.append(claim(store, owner, in_hand=choose.choice([in_hand, in_hand, None]), limit=2))
        elif what == "end" and runs:
            end(store, owner, runs.pop())
        elif what == "kill":
            del alive[owner]
        elif what == "wait":
            database.move_clock(LEASE * 2)
            store.close()  # A session keeps its clock.
            alive.clear()
        assert database.value(at_work, [database.now()]) <= PERMITS, f"seed {seed}, step {step}: {what}"


def test_claim_leaves_runs_of_a_type_that_are_before_the_turn_from_which_it_looks(
    database: Database, store: Store, is_told: bool
) -> None:
    now = database.now()
    for name in ("known", "known_too"):
        insert_runs(database, 1, name, run_at=now - timedelta(minutes=2))
        insert_runs(database, 1, name, run_at=now - timedelta(seconds=1))
    since = {"known": now - timedelta(minutes=1)}
    left = store.read(lambda connection: ticks.count_claimable(connection, request().policies, 9, since=since))
    assert left == (3 if is_told else 4)
    found = claim(store, limit=9, permits=9, since=since, in_hand=NONE)
    assert sorted(run.job_type for run in found.runs) == ["known", "known", "known_too", "known_too"][is_told:]
    assert len(claim(store, limit=9, permits=9).runs) == (1 if is_told else 0)


def test_claim_says_the_earliest_turn_of_each_type_and_none_of_one_with_keys(database: Database, store: Store) -> None:
    now = database.now()
    insert_runs(database, 2, "known", run_at=now - timedelta(minutes=2))
    insert_runs(database, 1, "known", priority=9, run_at=now)
    for key in (None, "k", None):
        insert_runs(database, 1, "known_too", run_at=now, concurrency_key=key)
    found = claim(store, limit=9, permits=9, in_hand=NONE)
    assert len(found.runs) == 6
    assert found.first_turns == {"known": now - timedelta(minutes=9), "known_too": None}
