"""The order of a claim: higher priorities first among runs of similar age, and no run waits for ever."""

from datetime import timedelta

import pytest

from harness import Database
from harness.handlers_rows import queue
from harness.limits import claim_of
from jobrunner.model import Limits, Policy
from jobrunner.store.drivers.database import Database as Store


@pytest.mark.parametrize("limits", [None, Limits(max_running=9), Limits(concurrency_key=("n",), max_running_per_key=1)])
def test_no_stream_of_urgent_runs_keeps_an_old_run_waiting_for_ever(
    store: Store, database: Database, limits: Limits | None
) -> None:
    """Each step of a priority is a minute of waiting, also for runs behind gates; and 1000 of them are a bound."""
    now = database.now()
    ages = {(0, 11): 2, (10, 0): 3, (1000, 0): 1, (0, 0): 5, (8, 1): 4, (-1000, 0): 6}
    for n, (priority, minutes) in enumerate(ages):
        queue(database, "known", {"n": n}, priority=priority, run_at=now - timedelta(minutes=minutes))
    policy = Policy("known", limits=limits)
    taken = [claim_of(store, f"h{n}", policy, limit=1).runs[0].lease.run_id for n in range(len(ages))]
    assert [list(ages.values())[run_id - 1] for run_id in taken] == [1, 2, 3, 4, 5, 6]
