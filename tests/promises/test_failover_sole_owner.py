"""A failover, or a backup that is restored, while the name of a tick stands that counts only what it has in hand."""

import random
import subprocess
from collections.abc import Sequence
from contextlib import closing
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from harness import Database, PostgresDatabase, postgresql_only
from harness.at_work import end_attempt
from harness.binaries import find_binaries
from harness.invariants import insert_runs
from harness.limits import declare
from harness.plan_calls import DONE, KNOWN, request
from harness.standby import Pair
from jobrunner.model import Limits, Owner, Policy
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.drivers.location import locate
from jobrunner.store.queue import claims
from jobrunner.store.queue.claims import Claim

PERMITS = 3
CAPPED = Policy("capped", limits=Limits(max_running=2))
FIRST, SECOND, THIRD = (Owner("here", f"here:{number}:x") for number in range(3))
NAME = "SELECT sole_owner FROM job_locks WHERE name = 'places of here'"


def open_store(database: Database) -> Store:
    return Store(locate(database.url), patience=timedelta(seconds=20))


def claim(store: Store, owner: Owner, policies: Sequence[Policy], in_hand: dict[str, int], limit: int = 9) -> Claim:
    asked: dict[str, Any] = {"owner": owner, "policies": policies, "in_hand": in_hand, "limit": limit}
    return store.write(
        partial(claims.claim, request=request(token=random.randbytes(16).hex(), permits=PERMITS, **asked))
    )


def let_own(store: Store, database: Database) -> Claim:
    """The first tick becomes the sole owner, and has one run of the limited type in hand."""
    insert_runs(database, 9, "capped")
    insert_runs(database, 9, "known")
    declare(store, CAPPED)
    begun = claim(store, FIRST, [CAPPED], {}, limit=1)
    assert (len(begun.runs), database.value(NAME)) == (1, FIRST.name)
    return begun


@pytest.mark.promise("P2", "P5", on="postgresql")
@pytest.mark.parametrize("next_one", [FIRST, THIRD], ids=["the owner", "another tick"])
def test_name_of_an_owner_that_a_standby_has_kept_lets_no_host_and_no_type_have_more_at_work_than_permitted(
    pair: Pair, next_one: Owner
) -> None:
    """The standby has forgotten that its owner has ended its run, and that another tick has taken the name away."""
    pair.set_synchronous("")
    with closing(open_store(pair.database)) as store:
        begun = let_own(store, pair.database)
        pair.wait_for_standby()
        pair.stall()
        store.write(lambda connection: end_attempt(connection, FIRST, begun.runs[0].lease, DONE))
        assert len(claim(store, SECOND, [CAPPED], {}, limit=2).runs) == 2
        assert pair.database.value(NAME) is None
    promoted = pair.fail_over()
    assert promoted.value(NAME) == FIRST.name
    with closing(open_store(promoted)) as store:
        # The run whose end is forgotten counts for its type, on all hosts, until it is recovered.
        hands = {next_one: claim(store, next_one, [CAPPED], {})}
        assert len(hands[next_one].runs) == 1
        for owner in (SECOND, FIRST, THIRD):
            in_hand = {"capped": 1} if owner is next_one else {}
            more = claim(store, owner, [*KNOWN, CAPPED], in_hand)
            assert promoted.value(NAME) in (None, owner.name)
            hands[owner, owner] = more
        at_work = [run.job_type for each in hands.values() for run in each.runs]
        assert (len(at_work) <= PERMITS, at_work.count("capped")) == (True, 1)
        # Every permit has work again.
        assert promoted.value("SELECT count(*) FROM job_runs WHERE status = 'running'") >= PERMITS


@postgresql_only
@pytest.mark.promise("P2", "P5", on="postgresql")
def test_name_of_an_owner_that_a_backup_has_kept_ends_with_the_first_claim_after_it_is_restored(
    store: Store, database: PostgresDatabase, empty: PostgresDatabase, tmp_path: Path
) -> None:
    let_own(store, database)
    programs, backup = find_binaries(), tmp_path / "backup"
    subprocess.run([programs / "pg_dump", "-Fc", "-f", backup, database.url], check=True)
    subprocess.run([programs / "pg_restore", "--no-owner", "-d", empty.url, backup], check=True)
    assert empty.value(NAME) == FIRST.name
    with closing(open_store(empty)) as there:
        found = [claim(there, SECOND, [*KNOWN, CAPPED], {})]
        assert (len(found[0].runs), found[0].permits, empty.value(NAME)) == (2, PERMITS - 1, None)
        # Of a tick that had the name, and goes on with the database that is restored.
        found.append(claim(there, FIRST, [*KNOWN, CAPPED], {"capped": 1}))
        assert (found[1].runs, found[1].permits, empty.value(NAME)) == ([], 1, None)
    assert empty.value("SELECT count(*) FROM job_runs WHERE status = 'running' AND job_type = 'capped'") <= 2
