"""Rates over all hosts: never more than the burst and the rate, and nearly all of it; nobody is busy for nothing."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from harness import App, Commands, Database, wait_for
from harness.handlers_rows import queue
from harness.idle_ticks import tick
from harness.invariants import insert_runs
from harness.limits import at_once, attempts, claim_all, claim_of, declare, drain, end_all, most_at_once, stretches
from harness.waiting import span, stretched
from jobrunner.model import Limits, Policy
from jobrunner.rates import Rate, parse_rate
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.drivers.location import locate
from jobrunner.store.queue import claims
from jobrunner.store.queue.ticks import ticks

CLAIMERS = 20
SECOND = timedelta(seconds=1)
SLACK = timedelta(seconds=0.25)


def rate(text: str, burst: int | None = None) -> Rate:
    return parse_rate("rate", text, burst)


@pytest.fixture
def stores(database: Database) -> Iterator[list[Store]]:
    opened = [Store(locate(database.url), patience=timedelta(seconds=20)) for _ in range(CLAIMERS)]
    yield opened
    for each in opened:
        each.close()


def is_due(store: Store) -> bool:
    return store.read(ticks.is_anything_due)


def use_up(stores: list[Store], database: Database, seconds: int) -> None:
    """Twenty hosts claim all the time; the attempts say what began when."""
    limited = Policy("rated", limits=Limits(rate=rate("25/s")))
    declare(stores[0], limited)
    insert_runs(database, 25 * (seconds + 3), "rated")
    at_once(stores, lambda store, host: drain(store, host, [limited], seconds + 0.5))
    begun = [row["started_at"] for row in attempts(database, "rated")]
    # The start is noted by a later statement of the claim than the one that asks the rate.
    assert [(count, lasted) for count, lasted in stretches(begun) if count > 25 + 25 * (lasted + SLACK) / SECOND] == []
    within = [at for at in begun if at <= begun[0] + seconds * SECOND]
    # On a machine that lets all of them wait for longer than a burst lasts, a part of the rate is lost.
    assert len(within) >= 0.95 * (25 + 25 * seconds) / stretched(1)


@pytest.mark.promise("P1")
def test_twenty_claimers_use_a_rate_up_and_never_exceed_it(stores: list[Store], database: Database) -> None:
    use_up(stores, database, 4)


@pytest.mark.long
def test_twenty_claimers_use_a_rate_up_for_a_minute(stores: list[Store], database: Database) -> None:
    use_up(stores, database, 60)


def test_a_rate_of_each_key_leaves_the_others_alone(stores: list[Store], database: Database) -> None:
    per_key = Policy("mail", limits=Limits(concurrency_key=("customer",), rate_per_key=rate("2/h", 2)))
    for number in range(12):
        queue(database, "mail", {"customer": number % 3})
    store = stores[0]
    declare(store, per_key)
    assert is_due(store)
    assert len(claim_all(store, "a", per_key)) == 6
    assert not is_due(store)
    end_all(store, database)
    claim = claim_of(store, "a", per_key)
    assert (claim.runs, is_due(store)) == ([], False)
    assert claim.opens_in is not None
    assert 1700 < claim.opens_in <= 1800


def test_a_claim_says_when_a_gate_opens_whose_rate_has_become_quicker(stores: list[Store], database: Database) -> None:
    """The tick waits for that instant, where the run would else wait for the next tick."""
    slow, quicker = (
        Policy("mail", limits=Limits(concurrency_key=("customer",), rate_per_key=rate(text, 1)))
        for text in ("1/h", "1/m")
    )
    store = stores[0]
    declare(store, slow)
    for _ in range(2):
        queue(database, "mail", {"customer": 1})
    assert len(claim_all(store, "a", slow)) == 1
    declare(store, quicker)
    claim = claim_of(store, "b", quicker)
    assert claim.runs == []
    assert claim.opens_in is not None
    assert 50 < claim.opens_in <= 60


def test_waiting_for_a_rate_is_not_work_for_an_idle_tick(stores: list[Store], database: Database) -> None:
    store, hourly = stores[0], Policy("rated", limits=Limits(rate=rate("1/h")))
    declare(store, hourly)
    insert_runs(database, 3, "rated")
    assert len(claim_all(store, "a", hourly)) == 1
    assert not is_due(store)
    end_all(store, database)
    claim = claim_of(store, "a", hourly)
    assert (claim.runs, claim.may_be_more, is_due(store)) == ([], False, False)
    assert claim.opens_in is not None
    assert 3500 < claim.opens_in <= 3600
    # The code now allows more.
    declare(store, Policy("rated", limits=Limits(rate=rate("2/h", 2))))
    assert is_due(store)


@pytest.mark.parametrize("per_key", [False, True])
def test_a_clock_that_was_ahead_does_not_close_a_rate_for_longer_than_its_burst(
    stores: list[Store], database: Database, per_key: bool
) -> None:
    limits = Limits(concurrency_key=("customer",), rate_per_key=rate("9/s")) if per_key else Limits(rate=rate("9/s"))
    store, limited = stores[0], Policy("rated", limits=limits)
    declare(store, limited)
    insert_runs(database, 3, "rated")
    assert len(claim_all(store, "a", limited, limit=1)) == 3
    insert_runs(database, 1, "rated")
    tomorrow = database.now() + timedelta(days=1)
    table = "job_gates" if per_key else "job_limits"
    database.execute("UPDATE job_limits SET asked_at = ?", [tomorrow])
    database.execute(f"UPDATE {table} SET spent_until = ?, opens_at = ?", [tomorrow, tomorrow])
    assert is_due(store)
    claim_all(store, "a", limited)
    wait_for(lambda: claim_all(store, "a", limited), 10, "the rate to open")


def test_a_returned_run_does_not_give_its_permission_back(stores: list[Store], database: Database) -> None:
    """So that however often a claim is undone, no more begin than the rate allows."""
    store, hourly = stores[0], Policy("rated", limits=Limits(rate=rate("2/h", 2)))
    insert_runs(database, 3, "rated")
    assert len(claim_all(store, "a", hourly)) == 2
    store.write(lambda connection: claims.return_unstarted(connection, "a".ljust(32, "x")))
    assert claim_all(store, "a", hourly) == []


def test_a_tick_begins_a_quarantined_run_of_a_limited_type(jobrunner: Commands, app: App, database: Database) -> None:
    """Also one that an earlier claim has put behind its gate."""
    app.add(HANDLERS)
    for gate in ("", "customer [1]"):
        queue(database, "one", {"customer": 1}, lease_expiries=2, attempts=2, gate=gate)
    database.execute(
        "INSERT INTO job_gates (job_type, gate, turn_at) VALUES ('one', 'customer [1]', ?)", [database.now()]
    )
    jobrunner.tick()
    assert database.query("SELECT id FROM job_runs WHERE status <> 'succeeded'") == []


HANDLERS = """
@job("rated", rate="20/s", burst=1)
def rated(ctx):
    leave_trace(ctx)

@job("hourly", rate="1/h")
def hourly(ctx):
    leave_trace(ctx)

@job("one", concurrency_key="customer")
def one(ctx, customer: int):
    leave_trace(ctx)
"""


def test_three_ticks_at_once_never_exceed_a_limit(jobrunner: Commands, app: App, database: Database) -> None:
    """The ticks themselves; ``test_limits.py`` has twenty claimers in each run."""
    at_limits(jobrunner, app, database, 3)


@pytest.mark.long
def test_twenty_ticks_at_once_never_exceed_a_limit(jobrunner: Commands, app: App, database: Database) -> None:
    at_limits(jobrunner, app, database, 20)


def at_limits(jobrunner: Commands, app: App, database: Database, count: int) -> None:
    app.add(SLOW)
    capped = insert_runs(database, 6 * count, "capped")
    for number in range(6 * count):
        queue(database, "one_each", {"customer": number % 3})
    started = [
        jobrunner.start("tick", env={"JOBRUNNER_HOST": f"h{number}", "JOBRUNNER_CONCURRENCY": "4"})
        for number in range(count)
    ]
    for process in started:
        assert process.wait(120) == 0
    left = len(capped)
    while left:
        # What ended while no tick was left to claim its successor.
        jobrunner.tick()
        left = database.value("SELECT count(*) AS n FROM job_runs WHERE status <> 'succeeded'")
    assert most_at_once(database, "capped") == 3
    assert max(most_at_once(database, "one_each", {"customer": customer}) for customer in range(3)) == 1


SLOW = """
@job("capped", max_running=3)
def capped(ctx):
    time.sleep(0.05)

@job("one_each", concurrency_key="customer")
def one_each(ctx, customer: int):
    time.sleep(0.02)
"""


def test_a_tick_waits_for_a_rate_within_its_budget_and_leaves_the_rest(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """Two ticks at once. What the rate allows only after their budgets is for another tick, and none of them waits."""
    app.add(HANDLERS)
    insert_runs(database, 15, "rated")
    insert_runs(database, 2, "hourly")
    for customer in (1, 1, 2):
        queue(database, "one", {"customer": customer})
    both = [jobrunner.start("tick", env={"JOBRUNNER_HOST": host, "JOBRUNNER_BUDGET": span(20)}) for host in "ab"]
    for process in both:
        assert process.wait(15) == 0
    left = database.query("SELECT job_type FROM job_runs WHERE status <> 'succeeded'")
    assert left == [{"job_type": "hourly"}]
    begun = [row["started_at"] for row in attempts(database, "rated")]
    assert all(count <= 1 + 20 * lasted / SECOND for count, lasted in stretches(begun))
    assert tick(jobrunner).was_short
    status = jobrunner.status()
    assert [each["job_type"] for each in status["running_limits"]] == ["hourly", "one", "rated"]
