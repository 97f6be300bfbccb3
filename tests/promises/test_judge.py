"""The judge of the promises: what it finds in a history, and that it finds nothing in one that is right."""

from datetime import timedelta

import pytest

from harness import Database
from harness.invariants import insert_runs
from harness.judge import breaches, breaches_at
from jobrunner.store.drivers.database import Database as Store


def _attempt(database: Database, run_id: int, sequence: int, begin: int, end: int, outcome: str = "failed") -> None:
    now = database.now()
    database.execute(
        "INSERT INTO job_attempts (run_id, sequence, attempt, lease_token, worker, host, started_at, finished_at,"
        " outcome) VALUES (?, ?, ?, ?, 'w', 'h', ?, ?, ?)",
        [run_id, sequence, sequence, f"t{sequence}", now + timedelta(begin), now + timedelta(end), outcome],
    )


@pytest.mark.promise("P2")
def test_the_judge_names_a_run_whose_attempts_overlap_unless_a_lease_was_lost(database: Database, store: Store) -> None:
    apart, lost, overlapping = insert_runs(database, 3)
    for run_id, second, outcome in ((apart, 2, "failed"), (lost, 1, "lease_expired"), (overlapping, 1, "failed")):
        _attempt(database, run_id, 1, 0, 2, outcome)
        _attempt(database, run_id, 2, second, 3)
    found = [f"run {overlapping}: the attempts 1 and 2 overlap"]
    assert breaches(store) == found
    assert breaches_at(database.url) == found
