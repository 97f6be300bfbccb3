"""Two runs of one definition never run at the same time, whoever created and whoever claims them."""

import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from harness import App, Commands, Database, postgresql_only
from harness.at_work import BEATS
from harness.invariants import insert_runs
from harness.locks import wait_for_lock
from harness.slots import NO_HANDLERS, go_to, utc
from harness.waiting import stretched
from jobrunner.model import Owner, Policy
from jobrunner.store.drivers.database import Connection
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.drivers.location import locate
from jobrunner.store.queue import claims
from jobrunner.store.queue.claims import Claim, ClaimRequest

HANDLERS = '''
from jobrunner import HandlerStopped


@job("alone", max_attempts=1)
def alone(ctx: Context):
    """Fails beside another one of its kind."""
    leave_trace(ctx)
    path = os.path.join(os.environ["JOBRUNNER_APP_DIR"], "at_work")
    os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    time.sleep(0.1)
    os.unlink(path)


@job("stubborn", timeout="5m", kill_after="2m")
def stubborn(ctx: Context, path: str):
    """Goes on, although it was asked to stop, until the test makes the file."""
    leave_trace(ctx)
    while not os.path.exists(path):
        try:
            time.sleep(0.05)
        except HandlerStopped:
            pass
    raise RuntimeError("stopped late")
'''


@pytest.fixture(autouse=True)
def _handlers(app: App) -> None:
    app.add(HANDLERS)


def add(jobrunner: Commands, job_type: str, *options: str, cron: str = "0 0 1 1 *") -> None:
    jobrunner("schedule", "add", "s", "--type", job_type, "--schedule", cron, *options)


def trigger(jobrunner: Commands, database: Database, count: int = 1) -> list[int]:
    for _ in range(count):
        jobrunner("schedule", "trigger", "s")
    rows = database.query("SELECT id FROM job_runs WHERE origin = 'trigger' ORDER BY id DESC")
    return [row["id"] for row in rows[:count]][::-1]


def make_due(database: Database) -> None:
    """One slot of a yearly schedule, without a step of the clock: each owner keeps its run."""
    values = [database.now() - timedelta(days=366)]
    database.execute("UPDATE job_definitions SET last_slot_at = ?, next_run_at = NULL", values)


def tick_at(jobrunner: Commands, host: str, **env: str) -> "subprocess.Popen[str]":
    return jobrunner.start("tick", env={"JOBRUNNER_HOST": host, **env})


def statuses(database: Database) -> list[str]:
    return [row["status"] for row in database.query("SELECT status FROM job_runs ORDER BY id")]


def wait_for_start(database: Database, run_id: int) -> None:
    database.wait_until("SELECT count(*) AS n FROM job_runs WHERE id = ? AND status = 'running'", [run_id])


@pytest.mark.promise("P2", "P3")
def test_many_hosts_never_run_two_runs_of_one_definition_at_once(
    jobrunner: Commands, app: App, database: Database
) -> None:
    add(jobrunner, "alone")
    ids = trigger(jobrunner, database, 6)
    for _ in range(6):
        ticks = [tick_at(jobrunner, f"host{n}") for n in range(4)]
        assert [(*tick.communicate(timeout=60), tick.returncode) for tick in ticks] == [("", "", 0)] * 4
        if not database.value("SELECT count(*) AS n FROM job_runs WHERE finished_at IS NULL"):
            break
    assert statuses(database) == ["succeeded"] * 6
    assert [line.run_id for line in app.trace()] == ids


@pytest.mark.promise("P6")
def test_one_tick_works_through_queued_runs_of_a_definition_one_by_one(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """What becomes claimable by the end of a run does not wait for the next minute."""
    add(jobrunner, "alone")
    ids = trigger(jobrunner, database, 3)
    jobrunner.tick()
    assert statuses(database) == ["succeeded"] * 3
    assert [line.run_id for line in app.trace()] == ids


def test_overlap_allow_lets_runs_of_a_definition_run_at_once(jobrunner: Commands, app: App, database: Database) -> None:
    path = app.path("go")
    add(jobrunner, "wait_for", "--overlap", "allow", "--payload", f'{{"path": "{path}"}}')
    trigger(jobrunner, database, 2)
    tick = tick_at(jobrunner, "here", JOBRUNNER_CONCURRENCY="2")
    database.wait_until("SELECT count(*) = 2 AS both FROM job_runs WHERE status = 'running'")
    app.end(tick, "go")
    assert statuses(database) == ["succeeded"] * 2


@pytest.mark.parametrize("overlap", ["skip", "queue", "replace"])
def test_retry_of_an_old_run_waits_while_another_run_is_running(
    jobrunner: Commands, app: App, database: Database, overlap: str
) -> None:
    add(jobrunner, "wait_for", "--overlap", overlap, "--payload", f'{{"path": "{app.path("go")}"}}')
    (old,) = trigger(jobrunner, database)
    jobrunner("cancel", old)
    (new,) = trigger(jobrunner, database)
    tick = tick_at(jobrunner, "here")
    wait_for_start(database, new)
    jobrunner("retry", old)
    other = tick_at(jobrunner, "there")
    assert other.communicate(timeout=60) == ("", "")
    assert statuses(database) == ["queued", "running"]
    app.end(tick, "go")
    jobrunner.tick()
    assert statuses(database) == ["succeeded"] * 2
    assert [line.run_id for line in app.trace()] == [new, old]


def test_cancel_of_a_run_lets_the_next_run_of_its_definition_start(
    jobrunner: Commands, app: App, database: Database
) -> None:
    add(jobrunner, "append")
    first, second, third = trigger(jobrunner, database, 3)
    jobrunner("cancel", first)
    assert database.query("SELECT id FROM job_claimable") == [{"id": second}]
    jobrunner("cancel", second)
    assert database.query("SELECT id FROM job_claimable") == [{"id": third}]
    jobrunner.tick()
    assert [line.run_id for line in app.trace()] == [third]


def test_triggered_run_starts_while_a_failed_run_waits_for_its_retry(
    jobrunner: Commands, app: App, database: Database
) -> None:
    add(jobrunner, "fail")
    (failed,) = trigger(jobrunner, database)
    jobrunner.tick()
    assert statuses(database) == ["failed"]
    (second,) = trigger(jobrunner, database)
    assert database.query("SELECT id FROM job_claimable") == [{"id": second}]
    # Both are due: the older one goes first.
    database.execute("UPDATE job_runs SET run_at = ?", [database.now() - timedelta(seconds=1)])
    assert database.query("SELECT id FROM job_claimable") == [{"id": failed}]


@pytest.mark.promise("P2", "P12")
def test_overlap_replace_starts_the_new_run_after_the_old_one_has_ended(
    jobrunner: Commands, app: App, database: Database
) -> None:
    payload = f'{{"path": "{app.path("go")}"}}'
    add(jobrunner, "stubborn", "--overlap", "replace", "--payload", payload)
    old, waiting = trigger(jobrunner, database, 2)
    # As if slots had made them: what a person has asked for is not replaced.
    database.execute("UPDATE job_runs SET origin = 'slot'")
    first = tick_at(jobrunner, "here", **BEATS)
    wait_for_start(database, old)
    make_due(database)
    assert jobrunner.tick(env=NO_HANDLERS).stderr == ""
    new = database.value("SELECT max(id) AS id FROM job_runs")
    assert statuses(database) == ["running", "cancelled", "queued"]
    assert jobrunner.show(old)["cancel_requested_at"] is not None
    # Another host has a hand free, and there is nothing for it.
    assert tick_at(jobrunner, "there").communicate(timeout=60) == ("", "")
    assert [line.run_id for line in app.trace()] == [old]
    app.end(first, "go")
    jobrunner.tick()
    assert statuses(database)[:2] == ["cancelled", "cancelled"]
    assert [line.run_id for line in app.trace()][:2] == [old, new]
    told = database.query("SELECT run_id, detail FROM job_events WHERE action = 'replace' ORDER BY run_id")
    details = [{"from": "running", "by": new}, {"from": "queued", "by": new}]
    assert told == [{"run_id": run_id, "detail": each} for run_id, each in zip((old, waiting), details, strict=True)]


@pytest.mark.promise("P3")
def test_overlap_replace_does_not_cancel_the_run_of_the_same_slot(jobrunner: Commands, database: Database) -> None:
    """A watermark set back by hand must not cancel the run of a slot for a new one that is never made."""
    go_to(database, utc(2026, 5, 1, 12, 30))
    add(jobrunner, "append", "--overlap", "replace", cron="0 * * * *")
    hour = timedelta(hours=1)
    for _ in range(2):
        database.execute("UPDATE job_definitions SET last_slot_at = ?, next_run_at = NULL", [database.now() - hour])
        jobrunner.tick(env=NO_HANDLERS)
    assert statuses(database) == ["queued"]
    assert database.query("SELECT id FROM job_events WHERE action = 'replace'") == []


class Race:
    """Two owners' claims on connections of their own, as two hosts have them."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.stores = [Store(locate(database.url), patience=timedelta(seconds=10)) for _ in range(2)]

    def request(self, host: str) -> ClaimRequest:
        return ClaimRequest(
            owner=Owner(host, f"{host}:1:a"),
            token=host.ljust(32, "x"),
            policies=[Policy("echo")],
            limit=5,
            permits=5,
            lease=timedelta(minutes=1),
        )

    def insert(self, **values: Any) -> int:
        return insert_runs(self.database, 1, "echo", **{"concurrency_key": "k", **values})[0]


@pytest.fixture
def race(database: Database) -> Iterator[Race]:
    made = Race(database)
    yield made
    for store in made.stores:
        store.close()


@postgresql_only
@pytest.mark.promise("P2", on="postgresql")
def test_two_concurrent_claims_take_one_run_of_a_concurrency_key(race: Race, database: Database) -> None:
    """The first takes the newer run while the older one is not due; by the second's turn it is, and the first's claim
    is not committed yet. The index is the last judge, and the loser looks again."""
    now = database.now()
    older = race.insert(run_at=now + timedelta(hours=1))
    newer = race.insert()
    looked, go_on = threading.Event(), threading.Event()
    first, second = race.stores

    def claim_slowly(connection: Connection) -> Claim:
        claimed = claims.claim(connection, race.request("here"))
        looked.set()
        assert go_on.wait(stretched(20))
        return claimed

    attempts = []

    def claim_again(connection: Connection) -> Claim:
        attempts.append(1)
        return claims.claim(connection, race.request("there"))

    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(first.write, claim_slowly)
        assert looked.wait(stretched(20))
        database.execute("UPDATE job_runs SET run_at = ? WHERE id = ?", [now, older])
        quick = pool.submit(second.write, claim_again)
        # It waits for the first one's outcome, at the index.
        wait_for_lock(database)
        go_on.set()
        assert [run.lease.run_id for run in slow.result(stretched(30)).runs] == [newer]
        assert quick.result(stretched(30)).runs == []
    assert len(attempts) == 2
    assert [(row["id"], row["status"]) for row in database.query("SELECT id, status FROM job_runs ORDER BY id")] == [
        (older, "queued"),
        (newer, "running"),
    ]


def test_claim_takes_one_run_per_concurrency_key_and_every_run_without_a_key(race: Race, database: Database) -> None:
    keyed = [race.insert() for _ in range(3)]
    others = [race.insert(concurrency_key=None) for _ in range(2)]
    claimed = race.stores[0].write(lambda connection: claims.claim(connection, race.request("here")))
    assert sorted(run.lease.run_id for run in claimed.runs) == [keyed[0], *others]
    assert race.stores[1].write(lambda connection: claims.claim(connection, race.request("there"))).runs == []


def test_database_refuses_a_second_running_run_of_a_concurrency_key(race: Race, database: Database) -> None:
    for _ in range(2):
        race.insert()
    running = (
        "UPDATE job_runs SET status = 'running', lease_token = 't', locked_by = 'o', locked_until = run_at WHERE id = ?"
    )
    first, second = (row["id"] for row in database.query("SELECT id FROM job_runs ORDER BY id"))
    database.execute(running, [first])
    with pytest.raises(Exception, match=r"job_runs_key_running|UNIQUE constraint failed: job_runs.concurrency_key"):
        database.execute(running, [second])
