"""A fair type: claims go round the keys that wait. It is counted in claims, never in seconds."""

from typing import Any

from harness import Database
from harness.limits import claim_of, declare, end
from jobrunner.model import Limits, Policy
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.queue import enqueue_many
from jobrunner.store.queue.enqueue_sql import NewRun

FAIR = Policy("export", limits=Limits(fair_by="customer_id"))


def enqueue_some(store: Store, count: int, customer: Any, job_type: str = "export", **given: Any) -> list[int]:
    """As an application does, many at once."""
    import json

    listed = [{"payload": json.dumps({"customer_id": customer})}] * count
    shared = NewRun(job_type, "{}", **given)
    found = store.write(lambda connection: enqueue_many.enqueue(connection, shared, listed, None))
    return [each.id for each in found if each.id is not None]


def claimed(store: Store, limit: int = 10, policy: Policy = FAIR, host: str = "a") -> list[int]:
    """The runs of one claim, which end at once."""
    leases = [run.lease for run in claim_of(store, host, policy, limit=limit).runs]
    end(store, leases)
    return [lease.run_id for lease in leases]


def test_two_customers(store: Store, database: Database) -> None:
    declare(store, FAIR)
    of_a = enqueue_some(store, 20000, "A")
    assert database.value("SELECT count(*) FROM job_runs WHERE gate = ''") == 0
    assert claimed(store) == of_a[:10]
    (of_b,) = enqueue_some(store, 1, "B")
    found = claimed(store)
    assert len(found) == 6 and of_b in found[:2]
    assert claimed(store) == of_a[15:25]
