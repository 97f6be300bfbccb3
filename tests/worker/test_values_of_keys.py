"""Which values of a payload are one key: for limits, for a fair share, and on both databases the same."""

from collections.abc import Iterable
from datetime import timedelta

import pytest

from harness import Commands, Database
from harness.limits import claim_all, declare, end
from jobrunner.model import Limits, Policy
from jobrunner.store.drivers.database import Database as Store

ONE_KEY_EACH = [
    ['{"a": 1, "b": {"c": [2, {"e": 3, "dd": null}]}}', '{"b": {"c": [2, {"dd": null, "e": 3}]}, "a": 1}'],
    ['[{"b": 1, "a": 2}, 3]', '[{"a": 2, "b": 1}, 3]'],
    ['{"é": "é{", "": []}', '{"": [], "é": "\\u00e9{"}'],
    ['"é"', '"\\u00e9"'],
    ["[1,2]", "[1, 2]"],
    ["1"],
    ['"1"'],
    ["1.0"],
    ["true"],
    ["0"],
    ["false"],
    ["null"],
    ["[2, 1]"],
    ["[true, 1]"],
    ["{}"],
    ["[]"],
    ['"{}"'],
    ['{"a": 12}'],
    ['{"a1": 2}'],
    ['{"a": true}'],
    ['{"a": {"b": 1}}'],
    ['{"a.b": 1}'],
    ["100000000000000000001"],
    ["100000000000000000002"],
    ["0.0000001", "1e-07"],
]
BY_KEY = Policy("sync", limits=Limits(concurrency_key=("of",), max_running_per_key=1))
BY_TWO = Policy("sync", limits=Limits(concurrency_key=("of", "also"), max_running_per_key=1))
FAIR = Policy("sync", limits=Limits(concurrency_key=("of",), max_running_per_key=1, fair_by="of"))


def enqueue(database: Database, values: Iterable[str]) -> None:
    now = database.now()
    for each in values:
        database.execute(
            "INSERT INTO job_runs (job_type, payload, status, priority, run_at, created_at, updated_at)"
            " VALUES ('sync', ?, 'queued', 0, ?, ?, ?)",
            [f'{{"of": {each}}}', now - timedelta(seconds=1), now, now],
        )


@pytest.mark.promise("P5")
@pytest.mark.parametrize("policy", [BY_KEY, BY_TWO, FAIR], ids=["limit", "two names", "fair"])
def test_values_that_are_the_same_json_are_one_key_and_no_others_on_both_databases(
    store: Store, database: Database, policy: Policy
) -> None:
    declare(store, policy)
    enqueue(database, [text for texts in ONE_KEY_EACH for text in texts * 2])
    begun = [lease.run_id for lease in claim_all(store, "a", policy, limit=100)]
    first, expected = 1, []
    for texts in ONE_KEY_EACH:
        expected.append(first)
        first += 2 * len(texts)
    assert sorted(begun) == expected


@pytest.mark.promise("P5")
@pytest.mark.parametrize("policy", [BY_KEY, BY_TWO], ids=["limit", "two names"])
def test_limit_of_a_key_holds_over_an_upgrade_also_of_keys_that_have_changed(
    jobrunner: Commands, store: Store, database: Database, policy: Policy
) -> None:
    """Of each key one run is at work since the release before, and one waits behind the gate that it had there."""
    declare(store, policy)
    enqueue(database, [texts[0] for texts in ONE_KEY_EACH] * 2)
    begun = claim_all(store, "a", policy, limit=100)
    assert len(begun) == len(ONE_KEY_EACH)
    store.close()
    jobrunner("downgrade", 1, "--delete-data")
    if database.name == "sqlite" and policy.limits is not None:
        names = policy.limits.concurrency_key
        values = ", ".join(f"json_extract(payload, '$.{name}')" for name in names)
        gate = f"'{','.join(names)} ' || substr(json_array({values}), 1, 200)"
        database.execute(f"UPDATE job_runs SET gate = {gate} WHERE gate <> ''")
        database.execute("DELETE FROM job_gates")
        database.execute(
            "INSERT INTO job_gates (job_type, gate, turn_at)"
            " SELECT job_type, gate, min(turn_at) FROM job_runs GROUP BY job_type, gate"
        )
    jobrunner("migrate")
    enqueue(database, [texts[-1] for texts in ONE_KEY_EACH])
    assert claim_all(store, "b", policy, limit=100) == []
    end(store, begun)
    assert len(claim_all(store, "b", policy, limit=100)) == len(ONE_KEY_EACH)
