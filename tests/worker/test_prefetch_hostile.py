"""Handlers that take, forge or close what lies in the queue of their child: no run is lost."""

import pytest

from harness import App, Commands, Database
from harness.invariants import assert_consistent, insert_runs
from harness.prefetch_jobs import KINDS, ONE, QUICK, ends, make_all_due, of_kind, queue_head, warm_up

HOSTILE = """
import json, socket, struct

CHANNEL = int(sys.argv[1])


def sockets():
    for name in os.listdir("/proc/self/fd"):
        try:
            if int(name) != CHANNEL and os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                yield int(name)
        except OSError:
            pass


def forge(run_id, outcome):
    body = json.dumps({"kind": "report", "run_id": run_id, "outcome": outcome}).encode()
    os.write(CHANNEL, struct.pack("!I", len(body)) + body)


@job("hostile", timeout="2s", kill_after="1s")
def hostile(ctx: Context, act=None):
    leave_trace(ctx)
    if act is None or ctx.attempt > 1:
        return
    note_queue(ctx)
    if act == "forge":
        for run_id in range(ctx.run_id + 1, ctx.run_id + 10):
            forge(run_id, "succeeded")
    elif act == "forge both":
        for run_id in range(ctx.run_id, ctx.run_id + 3):
            forge(run_id, "failed")
    for number in sockets():
        if act == "read":
            os.set_blocking(number, False)
            try:
                while os.read(number, 1 << 16): pass
            except BlockingIOError:
                pass
        elif act == "close":
            os.close(number)
        elif act == "shut down":
            socket.socket(fileno=os.dup(number)).shutdown(socket.SHUT_RDWR)
        elif act == "write":
            os.write(number, b"no frame")
        elif act == "tear":
            os.read(number, 1)
        elif act == "flood":
            socket.socket(fileno=os.dup(number)).send(b"x" * 1_000_000, socket.MSG_DONTWAIT)
"""


def check_no_run_is_lost(jobrunner: Commands, app: App, database: Database, bad: int, others: list[int]) -> None:
    """After a few ticks all runs have succeeded, also those that were queued behind the bad one."""
    for _ in range(6):
        jobrunner.tick(env=ONE, timeout=60)
        if make_all_due(database) == 0:
            break
    assert app.path(f"trace-queue-{bad}").exists()
    assert {status for status, _, _ in ends(database, [bad, *others])} == {"succeeded"}
    assert_consistent(database)


@pytest.mark.long(sample=0.5)
@pytest.mark.promise("P1", "P8")
@pytest.mark.parametrize("act", ["read", "tear", "close", "shut down", "write", "flood", "forge", "forge both"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_handler_that_uses_the_prefetch_queue_loses_no_run(
    jobrunner: Commands, app: App, database: Database, act: str, kind: str
) -> None:
    app.add(of_kind(kind, QUICK + HOSTILE))
    others = warm_up(database, "hostile")
    bad = queue_head(database, "hostile", act=act)
    others += insert_runs(database, 30, "hostile")
    check_no_run_is_lost(jobrunner, app, database, bad, others)


@pytest.mark.promise("P1", "P8")
@pytest.mark.parametrize("kind", KINDS)
def test_runs_that_a_handler_has_read_from_the_queue_do_not_wait_for_its_timeout(
    jobrunner: Commands, app: App, database: Database, kind: str
) -> None:
    app.add(of_kind(kind, QUICK))
    others = warm_up(database)
    bad = queue_head(database, act="steal", path="/nowhere")
    others += insert_runs(database, 30, "quick")
    # Its timeout is five minutes, and no tick of these may take one.
    check_no_run_is_lost(jobrunner, app, database, bad, others)
