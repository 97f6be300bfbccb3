"""A host that stalled past its lease begins no run of any kind that another host may have done since."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness import App, Commands, Database, wait_for
from harness.handlers_rows import attempts_of, make_due, queue, run_of
from harness.processes import state_of
from harness.standstill import ASYNC, COMMAND, stop_between_transactions, stopped_at
from harness.waiting import span
from jobrunner import clock
from jobrunner.children.command_child import CommandLine, CommandProcess
from jobrunner.children.inside.exec_command import LATE


def let_another_host_do_it(jobrunner: Commands, database: Database, run_id: int) -> None:
    database.wait_until("SELECT count(*) FROM job_recoverable", describe="the end of the lease")
    jobrunner.tick(env={"JOBRUNNER_HOST": "other"})
    make_due(database, run_id)
    jobrunner.tick(env={"JOBRUNNER_HOST": "other"})
    assert run_of(database, run_id)["status"] == "succeeded"


@pytest.mark.promise("P2", "P6")
@pytest.mark.parametrize("job_type", ["append", "asynchronous", "command"])
def test_tick_that_stalled_after_its_claim_begins_no_run_done_by_another_host(
    jobrunner: Commands, app: App, database: Database, job_type: str
) -> None:
    app.add(ASYNC)
    app.path("jobrunner.toml").write_text(COMMAND)
    run_id = queue(database, job_type)
    fault = {"JOBRUNNER_FAULT": "claim.committed=stop", "JOBRUNNER_FAULT_TRACE": str(app.path("faults"))}
    tick = jobrunner.start("tick", env={"JOBRUNNER_LEASE": span(2), **fault, "JOBRUNNER_HOST": "stopped"})
    stopped_at(app)
    let_another_host_do_it(jobrunner, database, run_id)
    tick.send_signal(signal.SIGCONT)
    assert tick.communicate(timeout=30) == ("", "")
    assert [line.attempt for line in app.trace()] == [2]
    assert [each["outcome"] for each in attempts_of(database, run_id)] == ["lease_expired", "succeeded"]


@pytest.mark.promise("P2", "P6")
def test_event_loop_that_stalled_begins_no_run_done_by_another_host(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.add(ASYNC)
    run_id = queue(database, "asynchronous")
    fault = {"JOBRUNNER_FAULT": "loop.received=stop", "JOBRUNNER_FAULT_TRACE": str(app.path("faults"))}
    tick = jobrunner.start("tick", env={"JOBRUNNER_LEASE": span(2), **fault, "JOBRUNNER_HOST": "stopped"})
    child = stopped_at(app)
    stop_between_transactions(tick, database)
    let_another_host_do_it(jobrunner, database, run_id)
    # The child goes on at once; its parent, which would kill it, still stands still.
    os.kill(child, signal.SIGCONT)
    wait_for(lambda: state_of(child) == "S", 20, "the child to wait for more")
    assert [line.attempt for line in app.trace()] == [2]
    tick.send_signal(signal.SIGCONT)
    assert tick.communicate(timeout=30) == ("", "")
    assert [line.attempt for line in app.trace()] == [2]


BLOCKED_LOOP = """
import os, socket, threading, time
from jobrunner import job, clock
from jobrunner.children.frames import Inbox
from jobrunner.children.begun_marks import BegunMarks
from jobrunner.children.inside.event_loop import serve
from jobrunner.children.inside.own_work import DatabaseAccess
from jobrunner.children.messages import Cancel, StartRun, StartRuns
from jobrunner.children.tokens import Tokens

ours, theirs = socket.socketpair()
rings, hears = socket.socketpair()
cell = os.memfd_create("running")
os.ftruncate(cell, 8)
in_time = clock.elapsed() + 0.1
began = []

@job("blocks")
async def blocks(ctx):
    began.append("blocks")
    while clock.elapsed() <= in_time:
        time.sleep(0.01)

@job("late")
async def late(ctx):
    began.append("late")

def start(run_id, job_type, begin_before):
    return StartRun(run_id, job_type, {}, 1, 5, 0.0, 0.0, 1000, begin_before)

def read():
    inbox, reports = Inbox(), {}
    while len(reports) < 3:
        found = inbox.feed(theirs.recv(1 << 16))
        reports.update({frame["run_id"]: frame["outcome"] for frame in found if frame["kind"] == "report"})
    print(began, reports)
    theirs.close()

threading.Thread(target=read).start()
starts = [start(1, "blocks", in_time + 60), start(2, "late", in_time), start(3, "late", in_time + 60)]
serve(ours, Inbox(), Tokens(rings), cell, BegunMarks(None), DatabaseAccess(), [StartRuns.of(None, starts), Cancel(3)])
"""


def test_async_run_that_waited_behind_a_blocked_loop_begins_neither_too_late_nor_when_cancelled() -> None:
    """All were received in time. Until the first one blocks the loop no more, another host may have the second."""
    done = subprocess.run([sys.executable, "-c", BLOCKED_LOOP], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("['blocks'] {1: 'succeeded', 2: 'not_begun', 3: 'not_begun'}\n", "")


def test_launcher_that_stalled_starts_no_command(tmp_path: Path) -> None:
    """Its parent has let it go, and both stood still before it became the command."""
    made = tmp_path / "made"
    for begin_before, refusal in ((clock.elapsed() - 1, LATE), (clock.elapsed() + 60, None)):
        touch = [sys.executable.encode(), b"-S", b"-c", f"open({str(made)!r}, 'w')".encode()]
        process = CommandProcess(CommandLine(touch, tmp_path, {}, b"", 0.0, begin_before), "mark")
        process.go()
        wait_for(process.poll)
        assert (process.refusal(), made.exists()) == (refusal, refusal is None)
        process.close()
