"""Runs that are prefetched use no more than the permits of their host, and delay no slow run."""

import pytest

from harness import App, Commands, Database
from harness.handlers_rows import queue
from harness.invariants import assert_consistent, insert_runs, statuses, wait_for_exit
from harness.prefetch_jobs import QUICK
from jobrunner.worker.finalizer import MOST_UNWRITTEN


@pytest.fixture(autouse=True)
def quick_handlers(app: App) -> None:
    app.add(QUICK)


SPANS = """
def note(word, kind):
    spans = os.open(os.environ["SPANS"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(spans, f"{word} {kind}\\n".encode())
    os.close(spans)


def span(kind):
    note("begin", kind)
    time.sleep(0.005)
    note("end", kind)


@job("span")
def free(ctx: Context):
    span("free")


@job("single", concurrency=1)
def single(ctx: Context):
    span("single")
"""
COMMAND = """
[jobs.stamp]
command = ["/bin/sh", "-c", "echo begin command >> $SPANS; sleep 0.02; echo end command >> $SPANS"]
pass_env = ["SPANS"]
"""


def most_at_work(app: App, *kinds: str) -> int:
    """How many of these were at work at once, at most."""
    at_work = most = 0
    for line in app.path("spans").read_text().splitlines():
        word, kind = line.split()
        at_work += (kind in kinds) * (1 if word == "begin" else -1)
        most = max(most, at_work)
    return most


@pytest.mark.promise("P2")
def test_two_prefetching_ticks_use_no_more_than_the_permits_of_their_host(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.add(SPANS)
    insert_runs(database, 200, "span")
    insert_runs(database, 100, "single")
    settings = {"JOBRUNNER_CONCURRENCY": "2", "SPANS": str(app.path("spans"))}
    ticks = [jobrunner.start("tick", env=settings) for _ in range(2)]
    assert [wait_for_exit(tick, 0, 60) for tick in ticks] == ["", ""]
    assert statuses(database) == {"succeeded": 300}
    assert database.value("SELECT count(*) FROM job_attempts") == 300
    assert most_at_work(app, "free", "single") == 2
    assert most_at_work(app, "single") == 1
    assert_consistent(database)


@pytest.mark.promise("P2")
def test_prefetched_runs_and_commands_share_the_permits_of_their_host(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.add(SPANS)
    app.path("jobrunner.toml").write_text(COMMAND)
    insert_runs(database, 200, "span")
    insert_runs(database, 40, "stamp")
    insert_runs(database, 200, "span")
    settings = {"SPANS": str(app.path("spans"))}
    ticks = [jobrunner.start("tick", "--concurrency", "4", env=settings) for _ in range(2)]
    assert [wait_for_exit(tick, 0, 60) for tick in ticks] == ["", ""]
    assert statuses(database) == {"succeeded": 440}
    assert most_at_work(app, "free", "command") <= 4
    assert most_at_work(app, "free") >= 1
    assert most_at_work(app, "command") >= 1
    assert_consistent(database)


@pytest.mark.promise("P1")
def test_stream_of_short_runs_does_not_delay_slow_runs(jobrunner: Commands, app: App, database: Database) -> None:
    slow = []
    for _ in range(3):
        slow.append(queue(database, "sleep", {"seconds": 0.3}, run_at=database.now()))
        insert_runs(database, 700, "quick")
    # More than two thousand runs in one tick, also on a busy machine.
    jobrunner.tick("--concurrency", "2", "--budget", "10m", timeout=100)
    assert statuses(database) == {"succeeded": 2103}
    order = [line.run_id for line in app.trace()]
    positions = [order.index(run_id) for run_id in slow]
    # Each slow run comes after those that were due before it. A few full queues of later runs may come before it, too.
    assert all(at <= rank + MOST_UNWRITTEN + 50 for at, rank in zip(positions, (0, 701, 1402), strict=True)), positions
