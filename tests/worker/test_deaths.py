"""A child may die at any instruction: its tick goes on, and at most the running run is charged."""

import itertools
import json
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from harness import App, Commands, Database, PostgresDatabase, SQLiteDatabase, wait_for
from harness.invariants import assert_consistent, insert_runs, wait_for_exit
from harness.prefetch_jobs import ONE, QUICK, begun, ends

DYING = """
import json, os, signal, socket

# Each child takes the next of the moments; those that come after the last one live on.
moment = None
for number, each in enumerate(json.loads(os.environ["MOMENTS"])):
    try:
        os.close(os.open(f"{os.environ['TRACE_FILE']}-moment-{number}", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        continue
    moment = each
    break

sent = 0
whole = socket.socket.send


def send(channel, data, *flags):
    global sent
    kind, nth, where = moment or (None, 0, None)
    sent += f'"kind":"{kind}"'.encode() in data
    if sent != nth or f'"kind":"{kind}"'.encode() not in data:
        return whole(channel, data, *flags)
    if where == "within":
        whole(channel, data[: len(data) // 2], *flags)
    elif where == "after":
        whole(channel, data, *flags)
    os.kill(os.getpid(), signal.SIGKILL)


socket.socket.send = send
"""
TELL = """
@job("tell")
def tell(ctx: Context):
    leave_trace(ctx)
    ctx.progress(1)
"""
Moment = tuple[str, int, str]
WHERE = ("before", "within", "after")
HANDSHAKE: list[Moment] = list(itertools.product(("importing", "ready"), (1,), WHERE))
# The first report leaves its child without work, a later one has others behind it.
WORKING: list[Moment] = list(itertools.product(("progress", "report"), (1, 4), WHERE))


@pytest.mark.promise("P1", "P7", "P8")
def test_a_child_that_dies_before_within_or_after_any_frame_costs_at_most_the_run_at_work(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.write("dying", DYING)
    app.imports = "dying,handlers"
    app.add(TELL)
    died = 0
    # Two children without a handshake end a tick, so each tick gets one of them.
    for handshake, working in zip(HANDSHAKE, zip(WORKING[::2], WORKING[1::2], strict=True), strict=True):
        moments = [handshake, *working]
        insert_runs(database, 20, "tell")
        for number in range(len(moments)):
            app.path(f"trace-moment-{number}").unlink(missing_ok=True)
        done = jobrunner.tick(env={**ONE, "MOMENTS": json.dumps(moments)})
        assert (done.stdout, done.stderr) == ("", ""), moments
        assert all(app.path(f"trace-moment-{number}").exists() for number in range(len(moments))), moments
        died += sum((kind, where) != ("report", "after") for kind, _, where in working)
        assert ends_of_all(database)[("failed", 1, 1)] == died, moments
    total = 20 * len(HANDSHAKE)
    assert ends_of_all(database) == {("succeeded", 1, 1): total - died, ("failed", 1, 1): died}
    assert set(begun(app).values()) == {1}
    assert_consistent(database)


def ends_of_all(database: Database) -> Any:
    return ends(database, [row["id"] for row in database.query("SELECT id FROM job_runs")])


SLOW_SECONDS = 3.0
"""Longer than a child may keep a run that it neither reports nor leaves in its queue."""


@pytest.mark.promise("P7", "P8")
def test_slow_claim_does_not_get_a_healthy_child_killed(jobrunner: Commands, app: App, database: Database) -> None:
    app.add(QUICK)
    insert_runs(database, 150, "quick", {"seconds": 0.003})
    tick = jobrunner.start("tick", env=ONE)
    # What the tick has lined up is done soon; what it then claims waits for the lock.
    wait_for(lambda: len(app.trace()) >= 40, 30, "short runs one after the other")
    with writers_kept_out(database):
        time.sleep(SLOW_SECONDS)
    assert wait_for_exit(tick, 0) == ""
    assert ends_of_all(database) == {("succeeded", 1, 1): 150}
    assert len({line.pid for line in app.trace()}) == 1
    assert_consistent(database)


@contextmanager
def writers_kept_out(database: Database) -> Iterator[None]:
    """Another transaction, which blocks all writes of runs until the block ends."""
    with closing(database.connect()) as somebody:
        somebody.execute("BEGIN IMMEDIATE" if isinstance(database, SQLiteDatabase) else "BEGIN")
        if isinstance(database, PostgresDatabase):
            somebody.execute("LOCK TABLE job_runs IN SHARE ROW EXCLUSIVE MODE")
        yield
        somebody.rollback()
