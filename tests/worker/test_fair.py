"""A fair type: claims go round the keys that wait. That is counted in claims and runs, never in seconds."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness import Commands, Database, postgresql_only
from harness.handlers_rows import queue, status_of
from harness.limits import at_once, claim_of, declare, drain, end
from harness.plan_calls import KNOWN, request
from harness.releases import Release
from harness.waiting import stretched
from jobrunner.errors import UsageError
from jobrunner.jobs.policy import as_data, from_data, make_policy
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.model import Limits, Owner, Policy
from jobrunner.rates import parse_rate
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.questions.explain.queue import place_of
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
    payloads = [json.loads(text) if isinstance(text := rows[each], str) else text for each in runs]
    return [each["customer_id"] for each in payloads]


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


def test_no_key_that_waits_is_passed_over_while_new_keys_come_all_the_time(store: Store, database: Database) -> None:
    """More keys come than claims take runs, with names before and behind the one that waits."""
    declare(store, FAIR)
    (waits,) = enqueue_some(store, ["m"])
    enqueue_some(store, [f"{letter}{number}" for letter in "az" for number in range(20)])
    for number in range(30):
        enqueue_some(store, [f"{letter}{number}x{n}" for letter in "az" for n in range(3)])
        if waits in claimed(store, 5):
            break
    # Nobody came before it; of those that came with it each has one run.
    assert number <= 41 // 5
    # A gate that claims have seen is not looked for again.
    enqueue_some(store, ["a0", "m", "z0"] * 5)
    assert "m" in customers_of(database, [run for _ in range(20) for run in claimed(store, 20)])


def test_run_of_one_host_has_its_turn_there_among_the_keys_that_wait(store: Store, database: Database) -> None:
    declare(store, FAIR)
    others = enqueue_some(store, ["A"] * 5)
    own = queue(database, "export", {"customer_id": "B"}, only_host="a")
    assert claimed(store, 2, host="b") == others[:2]
    assert set(claimed(store, 2, host="a")) == {others[2], own}
    assert claimed(store, 5, host="b") == others[3:]


def test_limits_and_a_fair_share_hold_at_once(store: Store, database: Database) -> None:
    both = Policy(
        "export",
        limits=Limits(max_running=3, concurrency_key=("customer_id",), max_running_per_key=2, fair_by="customer_id"),
    )
    declare(store, both)
    enqueue_some(store, ["A"] * 50)
    (first, second) = (claim_of(store, host, both) for host in "ab")
    assert (len(first.runs), len(second.runs)) == (2, 0)
    of_b = enqueue_some(store, ["B"] * 3)
    third = claim_of(store, "c", both)
    assert [run.lease.run_id for run in third.runs] == of_b[:1]
    # At the limit of the type nothing is due, also not for a key that no claim has seen.
    enqueue_some(store, ["C"])
    store.write(lambda connection: strays.free(connection, strays.find(connection)))
    assert not store.read(ticks.is_anything_due)
    end(store, [run.lease for run in first.runs[:1]])
    assert store.read(ticks.is_anything_due)
    # B had its turn after C came.
    assert customers_of(database, claimed(store, 10, both)) in (["A"], ["B"], ["C"])
    assert customers_of(database, claimed(store, 10, both) + claimed(store, 10, both)).count("C") <= 1
    # By a rate of each key, too.
    slow = Policy(
        "export",
        limits=Limits(
            concurrency_key=("customer_id",), rate_per_key=parse_rate("rate", "1/h", 1), fair_by="customer_id"
        ),
    )
    declare(store, slow)
    found = [each for _ in range(3) for each in customers_of(database, claimed(store, 10, slow))]
    assert max(Counter(found).values()) == 1


def test_runs_that_are_due_later_and_retries_stand_in_line_when_they_are_due(store: Store, database: Database) -> None:
    declare(store, FAIR)
    enqueue_some(store, ["A"] * 300)
    later = enqueue_some(store, ["B"], run_at=timedelta(hours=1))
    assert later[0] not in claimed(store)
    database.execute("UPDATE job_runs SET run_at = ? WHERE id = ?", [database.now(), later[0]])
    assert later[0] in claimed(store)
    (again,) = enqueue_some(store, ["C"])
    held = claim_of(store, "b", FAIR).runs
    end(store, [run.lease for run in held], AttemptResult(Outcome.FAILED, wait=timedelta(0)))
    assert again in claimed(store, 2) + claimed(store, 2)
    # Keys of which nothing is due any more do not stand in front of the others.
    put_off = enqueue_some(store, ["X", "Y"])
    claim_of(store, "c", FAIR, limit=1)
    database.execute(f"UPDATE job_runs SET run_at = ? WHERE id >= {put_off[0]}", [database.now() + timedelta(1)])
    assert sum(len(claimed(store, 1)) for _ in range(5)) == 5
    # A quarantined run is claimed alone.
    (poison,) = enqueue_some(store, ["D"])
    database.execute("UPDATE job_runs SET lease_expiries = 2 WHERE id = ?", [poison])
    assert poison not in claimed(store, 20)
    alone = request(owner=Owner("a", "a:1:a"), token="q" * 32, policies=[FAIR], limit=1, quarantined=True)
    (run,) = store.write(lambda connection: claims.claim(connection, alone)).runs
    assert run.lease.run_id == poison


def test_run_of_a_higher_priority_comes_before_all_keys_and_its_key_keeps_no_place_by_it(
    store: Store, database: Database
) -> None:
    declare(store, FAIR)
    enqueue_some(store, [f"k{number}" for number in range(40)] * 3)
    claimed(store, 5)
    (urgent,) = enqueue_some(store, ["k39"], priority=5)
    assert claimed(store, 1) == [urgent]
    # Its next run is of priority 0, and waits for its turn.
    rest = [each for _ in range(8) for each in customers_of(database, claimed(store, 5))]
    assert rest.count("k39") <= 1
    # Beside an older run of another type: that one first, and then the line.
    queue(database, "known", run_at=database.now() - timedelta(days=1))
    (new,) = enqueue_some(store, ["new"])
    assert new not in claimed(store, 1, FAIR, KNOWN[0])


def test_any_value_is_a_key_also_none_and_hostile_ones(store: Store, database: Database) -> None:
    """Also of a run that older code or SQL has inserted, which knows nothing of keys."""
    declare(store, FAIR)
    values = [
        None,
        1,
        "1",
        "",
        "'; DROP TABLE job_runs; --",
        '"}',
        "ü\u0001\u2028",
        "x" * 5000,
        ["a"],
        {"b": None},
        1e300,
    ]
    enqueue_some(store, ["A"] * 300)
    runs = enqueue_some(store, values)
    without = queue(database, "export", {})
    assert {*runs, without} <= {*claimed(store, 20), *claimed(store, 20)}
    # What is missing and null are one key, as for limits.
    gates = database.query("SELECT gate FROM job_gates")
    assert len(gates) == len(values) + 1


def test_nothing_waits_unseen_while_only_some_hosts_know_that_the_type_is_fair(
    store: Store, database: Database
) -> None:
    of_a = enqueue_some(store, ["A"] * 1500)
    declare(store, FAIR)
    (of_b,) = enqueue_some(store, ["B"])
    # Behind those that came before: they stand behind their gate as claims meet them, and hold up nobody.
    assert of_b in claimed(store, 4)
    # A host whose code is older takes what it can, from the next tick on all of it.
    declare(store, PLAIN)
    assert database.value("SELECT count(*) FROM job_runs WHERE status = 'queued' AND gate <> ''") == 0
    assert len(claimed(store, 10, PLAIN)) == 10
    declare(store, FAIR)
    (of_b,) = enqueue_some(store, ["B"])
    assert of_b in claimed(store, 4)
    # Only a gate that no claim has seen: a tick must not think that it has nothing to do, nor take its runs from there.
    database.execute("DELETE FROM job_runs WHERE status = 'queued'")
    claimed(store)
    assert not store.read(ticks.is_anything_due)
    of_c = enqueue_some(store, ["C"] * 3)
    assert store.read(ticks.is_anything_due)
    assert store.read(lambda connection: limits.count_open(connection, [FAIR], 9)) == 3
    found = store.read(strays.find)
    assert store.write(lambda connection: strays.free(connection, found)) == 0
    assert store.read(strays.find).gates == []
    assert claimed(store) == of_c
    assert of_a


def test_explain_names_the_claims_that_come_before_a_run_of_a_fair_type(store: Store, database: Database) -> None:
    declare(store, FAIR)
    enqueue_some(store, ["A"] * 50 + ["B"] * 2 + ["C"] * 9)
    claimed(store, 3)
    last = enqueue_some(store, ["D"] * 4)[-1]
    row = database.query("SELECT * FROM job_runs WHERE id = ?", [last])[0]
    place = store.read(lambda connection: place_of(connection, SimpleNamespace(**row)))
    assert (place.keys, place.of_key) == (3, 3)
    order = [claimed(store, 1) for _ in range(place.in_front + 1)]
    assert order.index([last]) in (place.in_front, place.in_front - 1)


def test_options_that_cannot_be_kept_together_are_refused_with_the_reason() -> None:
    with pytest.raises(UsageError, match="a run waits in one line only"):
        make_policy("export", fair_by="customer_id", concurrency_key="region")
    for wrong in (["a", "b"], 7, "", "no name"):
        with pytest.raises(UsageError, match="must name one argument of the payload"):
            make_policy("export", fair_by=wrong)
    for given in ({"fair_by": "a"}, {"fair_by": "a", "concurrency_key": "a"}, {"fair_by": "a", "rate": "1/s"}):
        policy = make_policy("export", **given)
        assert from_data(as_data(policy)) == policy


def test_ticks_of_the_release_before_leave_no_run_of_a_fair_type_behind(
    jobrunner: Commands, first_release: Release, database: Database, tmp_path: Path
) -> None:
    """It knows no fair share, and its code has none. A new run goes behind its gate all the same."""
    jobrunner("migrate")
    for name, option in (("old", ""), ("new", 'fair_by = "customer_id"\n')):
        (tmp_path / name).write_text(f'[jobs.export]\ncommand = ["true"]\n{option}')
    new, old = ({"JOBRUNNER_CONFIG": str(tmp_path / name)} for name in ("new", "old"))
    for tick in (partial(jobrunner, "tick", env=new), partial(first_release, "tick", env=old)) * 2:
        runs = [queue(database, "export", {"customer_id": customer}) for customer in "AAB"]
        tick()
        assert [status_of(database, each) for each in runs] == ["succeeded"] * 3
    assert database.value("SELECT count(*) FROM job_runs WHERE gate <> ''") == 0
    # What only the new code has left, the old one must find.
    runs = [queue(database, "export", {"customer_id": customer}) for customer in "AAB"]
    assert database.value("SELECT count(*) FROM job_runs WHERE gate <> ''") == 3
    first_release("tick", env=old)
    assert [status_of(database, each) for each in runs] == ["succeeded"] * 3


def test_hosts_that_claim_at_once_take_every_run_once_while_others_are_enqueued(
    open_store: Callable[[], Store], database: Database
) -> None:
    stores = [open_store() for _ in range(4)]
    declare(stores[0], FAIR)

    def work(store: Store, host: str) -> None:
        for number in range(5):
            enqueue_some(store, [f"{host}{number}", "A", f"x{number}"] * 3)
            drain(store, host, [FAIR], 0.1)
        drain(store, host, [FAIR], stretched(30), is_done=lambda: not store.read(ticks.is_anything_due))

    at_once(stores, work)
    assert database.query("SELECT status, attempts FROM job_runs GROUP BY status, attempts") == [
        {"status": "succeeded", "attempts": 1}
    ]


@postgresql_only
def test_run_that_commits_after_its_key_was_empty_is_found_by_the_next_claim(
    store: Store, open_store: Callable[[], Store], database: Database
) -> None:
    declare(store, FAIR)
    (first,) = enqueue_some(store, ["A"])

    def in_the_middle(connection: Connection) -> list[int]:
        shared, listed = NewRun("export", "{}"), [{"payload": '{"customer_id": "A"}'}]
        late = enqueue_many.enqueue(connection, shared, listed, None)[0]
        assert claimed(store) == [first]
        assert claimed(store) == []
        return [late.id] if late.id is not None else []

    assert open_store().write(in_the_middle) == claimed(store)
