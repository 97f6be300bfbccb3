"""What a claim finds behind the gates of limited types: only runs that it can take."""

from datetime import timedelta
from functools import partial

import pytest

from harness import Database, PostgresDatabase, postgresql_only
from harness.handlers_rows import queue
from harness.limits import claim_all, declare, end, end_all
from jobrunner.model import Actor, Limits, Policy
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.questions import overview
from jobrunner.store.queue import limits, set_limits
from jobrunner.store.queue.set_limits import Wanted
from jobrunner.store.queue.ticks import ticks

CAPPED = Policy("capped", limits=Limits(max_running=1))
KEYED = Policy("keyed", limits=Limits(max_running_per_key=1, concurrency_key=("k",)))


@postgresql_only
def test_run_that_somebody_holds_behind_a_limit_keeps_no_other_run_from_its_place(
    database: PostgresDatabase, store: Store
) -> None:
    first, second, third = (queue(database, "capped") for _ in range(3))
    declare(store, CAPPED)
    assert [lease.run_id for lease in claim_all(store, "a", CAPPED)] == [first]
    end_all(store, database)
    with database.connect() as held:
        held.execute("BEGIN")
        held.execute("SELECT id FROM job_runs WHERE id = %s FOR UPDATE", [second])
        assert [lease.run_id for lease in claim_all(store, "a", CAPPED)] == [third]
        held.execute("ROLLBACK")


def test_gate_behind_which_only_a_quarantined_run_waits_opens_for_no_other(database: Database, store: Store) -> None:
    run_id = queue(database, "keyed", {"k": 1})
    declare(store, KEYED)
    wanted = [(KEYED, 10)]
    assert store.write(lambda each: limits.open_gates(each, wanted, False)).run_ids == [run_id]
    database.execute("UPDATE job_runs SET lease_expiries = 2")
    assert store.write(lambda each: limits.open_gates(each, wanted, False)).run_ids == []
    assert store.write(lambda each: limits.open_gates(each, wanted, True)).run_ids == [run_id]


def test_quarantined_run_is_found_behind_the_gates_of_other_keys(database: Database, store: Store) -> None:
    """Else it would wait for as long as runs of other keys come before it."""
    first, second = (queue(database, "keyed", {"k": key}) for key in (1, 2))
    declare(store, KEYED)
    assert store.write(lambda each: limits.open_gates(each, [(KEYED, 10)], False)).run_ids == [first, second]
    database.execute("UPDATE job_runs SET lease_expiries = 2 WHERE id = ?", [second])
    assert store.write(lambda each: limits.open_gates(each, [(KEYED, 1)], True)).run_ids == [second]


SET, FAIR = Policy("mail"), Policy("mail", limits=Limits(max_running=2, fair_by="customer"))
BY_CUSTOMER = Policy("mail", limits=Limits(concurrency_key=("customer",), max_running_per_key=2))


@pytest.mark.parametrize("policy", [SET, FAIR, BY_CUSTOMER], ids=["a limit that was set", "fair", "of a key"])
def test_status_counts_runs_behind_a_gate_as_due_as_soon_as_a_tick_would_claim_them(
    store: Store, database: Database, policy: Policy
) -> None:
    declare(store, policy)
    if policy is SET:
        wanted = Wanted("mail", 2, None, timedelta(hours=2))
        store.write(partial(set_limits.set_limit, wanted=wanted, actor=Actor("ada", "the mail server is slow")))
    for _ in range(5):
        queue(database, "mail", {"customer": 1})
    begun = claim_all(store, "a", policy)
    assert len(begun) == 2

    def due() -> tuple[int, bool, bool, bool]:
        state = store.read(lambda connection: overview.status(connection, None))
        return (
            state.due,
            state.oldest_due_seconds is not None,
            state.oldest_due is not None,
            store.read(ticks.is_anything_due),
        )

    assert due() == (0, False, False, False)
    if policy is SET:
        database.execute("UPDATE job_set_limits SET ends_at = ?", [database.now()])
    else:
        end(store, begun[:1])
    assert due() == (3, True, True, True)
