"""How often handlers really run, counted outside the database: once; after a kill at most one group runs twice."""

import os
import signal
import subprocess
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from harness import App, Commands, Database, wait_for
from harness.invariants import assert_consistent, statuses, wait_for_exit

NOTED = """
LEDGER = os.open(os.environ["TRACE_FILE"] + "-ledger", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


@job("noted", max_attempts=3)
def noted(ctx: Context):
    os.write(LEDGER, b"%d\\n" % ctx.run_id)
"""
# Notes the most runs that would be lost, or run again, if the tick were killed at that moment.
WATCHING = """
import os, sys

if "tick" in sys.orig_argv:
    from jobrunner.worker.life import Life
    from jobrunner.worker.phase import Phase

    give, most = Life.give, [0]

    def watched(self):
        give(self)
        begun = self._hand.count(Phase.PREFETCHED, Phase.WORKING, Phase.ENDED, Phase.WRITING)
        if begun > most[0]:
            most[0] = begun
            with open(os.environ["MOST"], "w") as file:
                file.write(str(begun))

    Life.give = watched
"""
GROUP = 512
PERMITS = 4
MINUTE = 60.0
PATIENT = ("--budget", "10m")


@pytest.fixture
def ledger(app: App) -> Path:
    """One line for each call of a handler: the id of its run."""
    app.add(NOTED)
    path = app.path("trace-ledger")
    path.touch()
    return path


def insert_due(database: Database, count: int) -> None:
    """By one statement of the database's own: a million rows are too many to send."""
    now = database.now()
    database.execute(
        "INSERT INTO job_runs (job_type, payload, status, priority, run_at, created_at, updated_at)"
        " WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)"
        " SELECT 'noted', '{}', 'queued', 0, ?, ?, ? FROM numbers",
        [count, now, now, now],
    )


def lines(ledger: Path) -> int:
    with ledger.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))


def wait_for_lines(ledger: Path, count: int, seconds: float) -> None:
    """Until the ledger has so many, or the time is over."""
    ends_at = time.monotonic() + seconds
    while lines(ledger) < count and time.monotonic() < ends_at:
        time.sleep(0.1)


def runs_more_than_once(ledger: Path) -> int:
    return sum(times > 1 for times in Counter(ledger.read_bytes().split()).values())


@pytest.mark.promise("P7")
def test_a_tick_never_has_more_begun_or_queued_runs_than_one_group_and_its_permits(
    jobrunner: Commands, app: App, database: Database, ledger: Path
) -> None:
    app.write("sitecustomize", WATCHING)
    insert_due(database, 4_000)
    most = app.path("most")
    jobrunner.tick(
        "--concurrency", PERMITS, *PATIENT, cold=True, env={"PYTHONPATH": str(app.folder), "MOST": str(most)}
    )
    assert statuses(database) == {"succeeded": 4_000}
    assert PERMITS < int(most.read_text()) <= GROUP + PERMITS


@pytest.mark.promise("P1", "P6", "P7")
def test_next_tick_of_the_host_finishes_what_a_killed_tick_left_without_waiting_for_its_lease(
    jobrunner: Commands, database: Database, ledger: Path
) -> None:
    """A lease lasts a minute, and four runs may be at work. Only the budget is longer, for a busy machine."""
    insert_due(database, 10_000)
    tick = jobrunner.start("tick")
    wait_for(lambda: lines(ledger) >= 3_000, 60, "three tenths of the runs")
    os.kill(tick.pid, signal.SIGKILL)
    assert tick.wait(30) == -signal.SIGKILL
    wait_for(lambda: jobrunner.leftover_processes() == [], 10, jobrunner.describe_leftovers)
    jobrunner.tick(*PATIENT, timeout=100)
    # What was charged with a lost attempt waits for its backoff, and nothing else waits.
    left = statuses(database)
    assert left.keys() <= {"succeeded", "failed"}, left
    assert left.get("failed", 0) <= GROUP + PERMITS
    database.move_clock(timedelta(hours=1))
    jobrunner.tick(*PATIENT, timeout=100)
    assert statuses(database) == {"succeeded": 10_000}
    assert runs_more_than_once(ledger) <= GROUP + PERMITS
    assert_consistent(database)


@pytest.mark.promise("P1", "P2")
@pytest.mark.parametrize(
    "count",
    [
        10_000,
        *(pytest.param(count, marks=[pytest.mark.long, pytest.mark.timeout(3600)]) for count in (120_000, 1_000_000)),
    ],
)
def test_every_run_of_a_long_queue_is_executed_once_by_ticks_that_overlap_and_listen(
    jobrunner: Commands, database: Database, ledger: Path, count: int
) -> None:
    insert_due(database, count)
    ticks: list[subprocess.Popen[str]] = []
    while lines(ledger) < count:
        # As cron starts them, on two hosts: each supersedes the one before, and works beside it until then.
        ticks += [jobrunner.start("tick", "--linger", "2m", env={"JOBRUNNER_HOST": host}) for host in ("one", "two")]
        wait_for_lines(ledger, count, MINUTE)
        assert [tick.returncode for tick in ticks if tick.poll()] == []
    # To count a million rows takes some seconds, of which a busy machine makes many.
    database.wait_until("SELECT count(*) = 0 AS written FROM job_runs WHERE status <> 'succeeded'", (), 120)
    for tick in ticks:
        if tick.poll() is None:
            tick.terminate()
    assert [wait_for_exit(tick, 0) for tick in ticks] == [""] * len(ticks)
    assert (lines(ledger), runs_more_than_once(ledger)) == (count, 0)
    assert database.value("SELECT count(*) FROM job_attempts") == count
