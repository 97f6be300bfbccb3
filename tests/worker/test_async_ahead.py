"""Short ``async def`` runs are claimed ahead: some wait in the tick, and begin as soon as others have ended."""

from datetime import timedelta

import pytest

from harness import App, Commands, Database
from harness.handlers_rows import queue, wait_until_running
from harness.invariants import insert_runs
from jobrunner.model import Capacity, Owner, Policy
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.queue.claims import Claim, ClaimRequest, claim

HANDLERS = """
import asyncio, contextvars, os, sqlite3, time
from pathlib import Path

import psycopg

from jobrunner import job

GO = Path(__file__).with_name("go")
now, most = 0, 0

@job("short", concurrency=3)
async def short(ctx):
    global now, most
    now += 1
    most = max(most, now)
    await asyncio.sleep(0.002)
    now -= 1
    return most

@job("turns", concurrency=1)
async def turns(ctx, does: str):
    if does == "open":
        GO.touch()
    while does == "wait" and not GO.exists():
        await asyncio.sleep(0.01)

@job("chain", concurrency=5, max_attempts=1)
async def chain(ctx, does: str):
    with GO.with_name("begun").open("a") as file:
        file.write(f"{ctx.run_id}\\n")
    if does == "exit":
        os._exit(7)

kept = contextvars.ContextVar("kept", default=0)

@job("keeps", concurrency=2)
async def keeps(ctx):
    before = kept.get()
    kept.set(ctx.run_id)
    return before

begun = 0

def keep_writers_out():
    url = os.environ["JOBRUNNER_DATABASE_URL"]
    if url.startswith("sqlite"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
    else:
        connection = psycopg.connect(url)
        connection.execute("LOCK TABLE job_attempts IN EXCLUSIVE MODE")
    return connection

@job("beside_a_write", concurrency=3)
async def beside_a_write(ctx):
    global begun
    begun += 1
    if begun % 50:
        return None
    connection, before, ends_at = keep_writers_out(), begun, time.monotonic() + 0.2
    while begun < before + 10 and time.monotonic() < ends_at:
        await asyncio.sleep(0)
    connection.close()
    return begun - before
"""


def claimed(store: Store, worker: str, may_wait: int) -> Claim:
    policies = [Policy("short", is_async=True, concurrency=3)]
    request = ClaimRequest(
        Owner("here", worker), worker[-1] * 32, policies, 100, 4, timedelta(minutes=1), may_wait={"short": may_wait}
    )
    return store.write(lambda connection: claim(connection, request._replace(capacity=Capacity(0, ahead=100))))


@pytest.mark.promise("P5")
def test_claim_ahead_gives_no_second_tick_of_the_host_a_place_that_is_taken(database: Database, store: Store) -> None:
    insert_runs(database, 20, "short", run_at=database.now() - timedelta(minutes=1))
    first = claimed(store, "here:1:a", may_wait=0)
    assert (len(first.runs), first.places) == (3, {"short": 3})
    # The other tick holds three, so this one has no place, and no run may wait in it for one.
    second = claimed(store, "here:2:b", may_wait=9)
    assert (len(second.runs), second.places) == (0, {"short": 0})
    # Its own runs take places of the tick that asks, and as many as it says may wait beside them.
    again = claimed(store, "here:1:a", may_wait=9)
    assert (len(again.runs), again.places) == (9, {"short": 3})
    assert len(claimed(store, "here:1:a", may_wait=9).runs) == 0
    store.close()


def test_tick_that_claims_async_runs_ahead_has_no_more_at_work_than_their_concurrency(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.write("handlers", HANDLERS)
    runs = insert_runs(database, 200, "short")
    jobrunner.tick("--batch", "200")
    rows = database.query("SELECT status, attempts, result FROM job_runs")
    assert [(row["status"], row["attempts"]) for row in rows] == [("succeeded", 1)] * len(runs)
    assert max(row["result"] for row in rows) == 3
    # More than three at a time were claimed.
    claims = database.query("SELECT count(*) AS runs FROM job_attempts GROUP BY lease_token")
    assert max(row["runs"] for row in claims) > 3


def test_short_async_runs_go_on_while_the_results_of_others_are_written(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """Every fiftieth keeps all writers out until ten more have begun, or for a moment if no more wait in the tick."""
    app.write("handlers", HANDLERS)
    insert_runs(database, 400, "beside_a_write")
    jobrunner.tick("--batch", "400")
    rows = database.query("SELECT status, result FROM job_runs")
    assert {row["status"] for row in rows} == {"succeeded"}
    assert max(row["result"] or 0 for row in rows) >= 10


def test_async_run_that_waits_behind_a_long_one_goes_to_another_host(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """The first of these waits for the last, which its tick has claimed ahead."""
    app.write("handlers", HANDLERS)
    runs = [queue(database, "turns", {"does": does}) for does in ("nothing",) * 40 + ("wait", "open")]
    tick = jobrunner.start("tick")
    wait_until_running(database, runs[-2])
    other = jobrunner.start("tick", "--linger", env={"JOBRUNNER_HOST": "elsewhere"})
    assert tick.wait(30) == 0
    other.terminate()
    assert other.wait(30) == 0
    rows = database.query("SELECT status, attempts FROM job_runs")
    assert [(row["status"], row["attempts"]) for row in rows] == [("succeeded", 1)] * 42


@pytest.mark.promise("P7", "P8")
def test_async_run_that_ends_its_child_loses_no_result_before_it_and_charges_no_run_behind_it(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """Others have ended in the same pass of the event loop, and many wait in the child for their turn."""
    app.write("handlers", HANDLERS)
    runs = [queue(database, "chain", {"does": "exit" if number == 83 else "nothing"}) for number in range(160)]
    jobrunner.tick()
    assert sorted(map(int, app.path("begun").read_text().split())) == runs
    rows = database.query("SELECT status, attempts FROM job_runs ORDER BY id")
    assert [(row["status"], row["attempts"]) for row in rows] == [
        ("dead" if number == 83 else "succeeded", 1) for number in range(160)
    ]
    # Only those that had a place, and had not begun.
    assert database.value("SELECT count(*) FROM job_attempts WHERE outcome = 'released'") < 5


def test_async_run_sees_no_context_variable_of_the_run_whose_place_it_takes(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.write("handlers", HANDLERS)
    insert_runs(database, 100, "keeps")
    jobrunner.tick()
    assert database.query("SELECT DISTINCT status, result FROM job_runs") == [{"status": "succeeded", "result": 0}]
