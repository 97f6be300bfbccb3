"""Many ticks at once: each run starts once, and a host never exceeds its limit."""

import shutil
import subprocess
from collections import Counter
from datetime import timedelta
from functools import partial

import pytest

from harness import App, Commands, Database, wait_for
from harness.at_work import running
from harness.invariants import assert_consistent, insert_runs, outcomes, statuses, wait_for_exit
from harness.plan_calls import request
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.queue import claims

PERMITS = 3

SPAN = """
def note(word, ctx):
    line = f"{word} {os.environ['JOBRUNNER_HOST']} {ctx.run_id}\\n".encode()
    spans = os.open(os.environ["SPANS"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(spans, line)
    os.close(spans)


@job("span")
def span(ctx: Context):
    note("begin", ctx)
    time.sleep(0.01)
    note("end", ctx)
"""


def spans(app: App) -> list[tuple[str, str, int]]:
    """The begins and ends of handlers, in the order in which they happened."""
    words = [line.split() for line in app.path("spans").read_text().splitlines()]
    return [(word, host, int(run_id)) for word, host, run_id in words]


def most_at_work(app: App) -> dict[str, int]:
    """How many handlers each host had at work at once, at most."""
    at_work: Counter[str] = Counter()
    most: Counter[str] = Counter()
    for word, host, _ in spans(app):
        at_work[host] += 1 if word == "begin" else -1
        most[host] = max(most[host], at_work[host])
    return dict(most)


@pytest.mark.promise("P1", "P2")
@pytest.mark.parametrize("hosts", [1, 2])
def test_twenty_ticks_at_once_start_each_run_once(
    jobrunner: Commands, app: App, database: Database, hosts: int
) -> None:
    app.add(SPAN)
    ids = insert_runs(database, 200, "span")
    settings = {"JOBRUNNER_CONCURRENCY": str(PERMITS), "SPANS": str(app.path("spans"))}
    ticks = [jobrunner.start("tick", env={**settings, "JOBRUNNER_HOST": f"host-{n % hosts}"}) for n in range(20)]
    assert [wait_for_exit(tick, 0, 90) for tick in ticks] == [""] * 20
    assert database.query("SELECT * FROM job_attempts WHERE outcome <> 'succeeded'") == []
    assert statuses(database) == {"succeeded": 200}
    assert sorted(run_id for word, _, run_id in spans(app) if word == "begin") == ids
    assert database.value("SELECT count(*) FROM job_attempts") == 200
    most = most_at_work(app)
    assert len(most) == hosts
    assert max(most.values()) <= PERMITS
    assert_consistent(database)


@pytest.mark.promise("P1", "P2")
def test_five_ticks_a_minute_apart_start_ten_long_runs_once_each(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """Each works for three minutes and more, by the database's clock. No lease is that short here."""
    ids = insert_runs(database, 10, "wait_for", {"path": str(app.path("go"))})
    settings = {"JOBRUNNER_LEASE": "10m", "JOBRUNNER_CONCURRENCY": str(PERMITS)}
    ticks: list[subprocess.Popen[str]] = []
    for _ in range(5):
        ticks.append(jobrunner.start("tick", env=settings))
        if len(ticks) > 1:
            assert wait_for_exit(ticks[-1], 0) == ""
        wait_for(lambda: len(app.trace()) >= PERMITS, 20, "as many handlers as permits")
        assert len(app.trace()) == PERMITS
        assert database.value("SELECT count(*) FROM job_runs WHERE status = 'running'") == PERMITS
        assert outcomes(database, ids[0]) == []
        database.move_clock(timedelta(minutes=1))
    app.release("go")
    assert wait_for_exit(ticks[0], 0) == ""
    assert jobrunner.tick(env=settings).stderr == ""
    assert statuses(database) == {"succeeded": 10}
    assert sorted(line.run_id for line in app.trace()) == ids
    assert {line.attempt for line in app.trace()} == {1}
    assert_consistent(database)


@pytest.mark.promise("P2")
def test_claim_leaves_to_its_tick_only_the_permits_that_no_other_tick_of_the_host_holds(
    database: Database, store: Store
) -> None:
    """However many the tick used when it sent the claim: they may have ended since, and others may have taken them."""
    running(database, 1, locked_by="here:2:b")
    for in_use in (0, 1, PERMITS):
        claimed = store.write(partial(claims.claim, request=request(permits=PERMITS, in_use=in_use)))
        assert (in_use, claimed.permits) == (in_use, PERMITS - 1)


@pytest.mark.promise("P2", "P6")
def test_run_whose_lease_has_expired_takes_no_permit_of_its_host_before_it_is_recovered(
    database: Database, store: Store
) -> None:
    """Its row may be locked by somebody for as long as they like, and cannot be recovered meanwhile."""
    running(database, 1, locked_by="here:2:b", locked_until=database.now() - timedelta(seconds=1))
    assert store.write(partial(claims.claim, request=request(permits=1))).permits == 1


@pytest.mark.promise("P2", "P6")
def test_permits_of_a_killed_tick_without_its_notes_are_free_after_its_leases_have_expired(
    jobrunner: Commands, app: App, database: Database
) -> None:
    insert_runs(database, PERMITS, "wait_for", {"path": str(app.path("never"))})
    settings = {"JOBRUNNER_CONCURRENCY": str(PERMITS)}
    tick = jobrunner.start("tick", env=settings)
    wait_for(lambda: len(app.trace()) == PERMITS, 20, "as many handlers as permits")
    (waiting,) = insert_runs(database, 1)
    jobrunner.tick(env=settings)
    tick.kill()
    shutil.rmtree(jobrunner.state_dir)
    jobrunner.tick(env=settings)
    assert outcomes(database, waiting) == []
    database.move_clock(timedelta(seconds=61))
    jobrunner.tick(env=settings)
    assert outcomes(database, waiting) == ["succeeded"]
    assert statuses(database) == {"succeeded": 1, "failed": PERMITS}
    assert_consistent(database)
