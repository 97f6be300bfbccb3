"""Which values of a payload are one key: for limits, for a fair share, and on both databases the same."""

from datetime import timedelta

import pytest

from harness import Database
from harness.limits import claim_all, declare
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


@pytest.mark.promise("P5")
@pytest.mark.parametrize("policy", [BY_KEY, BY_TWO, FAIR], ids=["limit", "two names", "fair"])
def test_values_that_are_the_same_json_are_one_key_and_no_others_on_both_databases(
    store: Store, database: Database, policy: Policy
) -> None:
    declare(store, policy)
    now = database.now()
    values = [now - timedelta(seconds=1), now, now]
    for each in [text for texts in ONE_KEY_EACH for text in texts * 2]:
        database.execute(
            "INSERT INTO job_runs (job_type, payload, status, priority, run_at, created_at, updated_at)"
            " VALUES ('sync', ?, 'queued', 0, ?, ?, ?)",
            [f'{{"of": {each}}}', *values],
        )
    begun = [lease.run_id for lease in claim_all(store, "a", policy, limit=100)]
    first, expected = 1, []
    for texts in ONE_KEY_EACH:
        expected.append(first)
        first += 2 * len(texts)
    assert sorted(begun) == expected
