"""A fair type: claims go round the keys that wait. That is counted in claims and runs, never in seconds."""

import json
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from harness import Database
from harness.handlers_rows import queue
from harness.limits import claim_of, declare, end
from harness.plan_calls import KNOWN, request
from jobrunner.errors import UsageError
from jobrunner.jobs.policy import as_data, from_data, make_policy
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.model import Limits, Owner, Policy
from jobrunner.rates import parse_rate
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.queue import claims, enqueue_many, fair, limits, strays
from jobrunner.store.queue.enqueue_sql import NewRun
from jobrunner.store.queue.ticks import ticks

FAIR = Policy("export", limits=Limits(fair_by="customer_id"))
PLAIN = Policy("export")


def enqueue_some(store: Store, customers: Sequence[Any], **given: Any) -> list[int]:
    """A run for each of these, in one call of an application."""
    listed = [{"payload": json.dumps({"customer_id": each})} for each in customers]
    shared = NewRun("export", "{}", **given)
    found = store.write(lambda connection: enqueue_many.enqueue(connection, shared, listed, None))
    return [each.id for each in found if each.id is not None]


def claimed(store: Store, limit: int = 10, *policies: Policy, host: str = "a") -> list[int]:
    """The runs of one claim, in its order, which end at once."""
    leases = [run.lease for run in claim_of(store, host, *(policies or (FAIR,)), limit=limit).runs]
    end(store, leases)
    return [lease.run_id for lease in leases]


def customers_of(database: Database, runs: Sequence[int]) -> list[Any]:
    rows = {row["id"]: row["payload"] for row in database.query("SELECT id, payload FROM job_runs")}
    return [json.loads(rows[each])["customer_id"] if isinstance(rows[each], str) else rows[each]["customer_id"] for each in runs]


@pytest.mark.promise
def test_run_of_another_customer_is_in_the_next_claim_behind_any_number_of_one_customer(
    store: Store, database: Database
) -> None:
    declare(store, FAIR)
    of_a = enqueue_some(store, ["A"] * 20_000)
    assert claimed(store) == of_a[:10]
    (of_b,) = enqueue_some(store, ["B"])
    assert claimed(store)[:2] in ([of_a[10], of_b], [of_b, of_a[10]])
    # A single one does not share.
    (of_b,) = enqueue_some(store, ["B"])
    assert [claimed(store, 1) for _ in range(2)].count([of_b]) == 1
    # Where there are fewer keys than the claim can take runs, each has as many, and what is left goes to who has more.
    enqueue_some(store, ["B"] * 40)
    counts = Counter(customers_of(database, claimed(store)))
    assert counts == {"A": 5, "B": 5}


def test_each_round_has_one_run_of_each_key_that_waited_when_it_began(store: Store, database: Database) -> None:
    """More keys than a claim takes runs, and than it looks at gates."""
    declare(store, FAIR)
    keys = [f"k{number:03}" for number in range(fair.WALKED + 50)]
    enqueue_some(store, [key for key in keys for _ in range(3)])
    enqueue_some(store, ["A"] * 500)
    rounds: list[Any] = []
    while len(rounds) < 2 * (len(keys) + 1):
        rounds += customers_of(database, claimed(store, 20))
    first, second = rounds[: len(keys) + 1], rounds[len(keys) + 1 :]
    # The first claim may look before it knows all of them: its keys may come twice.
    assert len(set(first)) >= len(keys) - 20
    assert max(Counter(first + second).values()) <= 3
    assert rounds.count("A") <= 3
