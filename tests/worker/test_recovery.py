"""The runs of a killed tick are ended, charged and claimable again, and its processes are killed."""

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from harness import App, Commands, Database, wait_for
from harness.at_work import tick_at_work
from harness.invariants import assert_consistent, insert_runs, outcomes, read_log, statuses
from harness.processes import Patient, is_working
from harness.waiting import stretched

HOUR = timedelta(hours=1)

WAITING = """
[jobs.go_too]
command = ["/bin/sh", "-c", 'echo "$JOBRUNNER_RUN_ID 1 $$" >> "$TRACE_FILE"; while [ ! -e {go} ]; do sleep 0.05; done']

[jobs.never_too]
command = ["/bin/sh", "-c", 'echo "$JOBRUNNER_RUN_ID 1 $$" >> "$TRACE_FILE"; while [ ! -e {never} ]; do sleep 1; done']
"""

PARENTAL = """
import subprocess, sys

@job("parental")
def parental(ctx: Context, path: str):
    '''Its own children are in its session; nothing kills them when the handler dies.'''
    sleep = [sys.executable, "-c", "import time; time.sleep(300)"]
    ways = [{}, {"env": {}}, {"process_group": 0}, {"env": {}, "process_group": 0}]
    born = [subprocess.Popen(sleep, **way) for way in ways]
    with open(path + ".new", "w") as file:
        file.write(" ".join(str(each.pid) for each in born))
    os.rename(path + ".new", path)
    leave_trace(ctx)
    time.sleep(300)


@job("look")
def look(ctx: Context, pid: int):
    '''Whether the leftover is alive while this handler works.'''
    return os.path.exists(f"/proc/{pid}/cwd")
"""


@pytest.mark.promise("P1", "P6", "P12")
@pytest.mark.parametrize("host", [None, "another"])
def test_a_killed_ticks_run_is_recovered_after_its_lease(
    jobrunner: Commands, app: App, database: Database, host: str | None
) -> None:
    """Without moving the clock: the lease ends by itself, one tick later the run is failed and charged."""
    (run_id,) = insert_runs(database, 1, "wait_for", {"path": str(app.path("never"))})
    lease = timedelta(seconds=stretched(2))
    process = tick_at_work(jobrunner, app, JOBRUNNER_LEASE=f"{lease.total_seconds()}s")
    (handler,) = [line.pid for line in app.trace()]
    process.kill()
    wait_for(lambda: not is_working(handler), 5, "the handler dies with its tick")
    locked_until = database.value("SELECT locked_until FROM job_runs")
    assert locked_until <= database.now() + lease
    database.wait_until("SELECT count(*) FROM job_recoverable", describe="the end of the lease")
    log = {"JOBRUNNER_LOG": str(app.path("log"))}
    jobrunner.tick(env=log | ({"JOBRUNNER_HOST": host} if host else {}))
    (run,) = database.query("SELECT * FROM job_runs")
    assert (run["status"], run["attempts"], run["error_type"]) == ("failed", 1, "lease_expired")
    assert outcomes(database, run_id) == ["lease_expired"]
    waits = (run["run_at"] - run["failed_at"]).total_seconds()
    assert 48 <= waits <= 72  # the default backoff, which its type has
    (line,) = [line for line in read_log(app.path("log")) if line["event"] == "recovered"]
    assert (line["run_id"], line["attempt"], line["result"]) == (run_id, 1, "failed")
    assert_consistent(database)


@pytest.mark.promise("P6")
def test_run_with_a_valid_lease_is_not_recovered_by_another_host(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """Which cannot know that the tick is dead."""
    another = {"JOBRUNNER_HOST": "another", "JOBRUNNER_STATE_DIR": str(app.path("state"))}
    (run_id,) = insert_runs(database, 1, "wait_for", {"path": str(app.path("go"))})
    process = tick_at_work(jobrunner, app, JOBRUNNER_LEASE="60s")
    process.kill()
    jobrunner.tick(env=another)
    assert outcomes(database, run_id) == []
    database.move_clock(timedelta(seconds=61))
    jobrunner.tick(env=another)
    assert outcomes(database, run_id) == ["lease_expired"]


@pytest.mark.promise("P1", "P7")
def test_crash_with_no_attempt_left_ends_the_run_dead(jobrunner: Commands, app: App, database: Database) -> None:
    (run_id,) = insert_runs(database, 1, "wait_for", {"path": str(app.path("never"))}, max_attempts=1)
    tick_at_work(jobrunner, app).kill()
    database.move_clock(HOUR)
    jobrunner.tick()
    assert statuses(database) == {"dead": 1}
    assert outcomes(database, run_id) == ["lease_expired"]
    assert_consistent(database)


@pytest.mark.promise("P1", "P6")
def test_runs_of_types_that_this_host_does_not_know_are_recovered(
    jobrunner: Commands, app: App, database: Database
) -> None:
    insert_runs(database, 1, "wait_for", {"path": str(app.path("never"))})
    tick_at_work(jobrunner, app).kill()
    database.move_clock(HOUR)
    jobrunner.tick(env={"JOBRUNNER_IMPORT": None, "JOBRUNNER_APP_DIR": None})
    assert statuses(database) == {"failed": 1}


@pytest.mark.promise("P2", "P6")
def test_grandchildren_of_a_killed_tick_have_ended_before_the_run_starts_again(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.add(PARENTAL)
    path = app.path("grandchild")
    (run_id,) = insert_runs(database, 1, "parental", {"path": str(path)})
    tick_at_work(jobrunner, app).kill()
    grandchildren = [int(pid) for pid in path.read_text().split()]
    wait_for(lambda: not is_working(app.trace()[0].pid), 5, "the handler dies with its tick")
    assert [is_working(pid) for pid in grandchildren] == [True] * 4
    database.move_clock(HOUR)
    jobrunner.killed_at("recover.before_commit")
    # Also those in a group of their own, and those without the mark: what `env -i` starts.
    assert [is_working(pid) for pid in grandchildren] == [False] * 4
    assert database.value("SELECT status FROM job_runs WHERE id = ?", [run_id]) == "running"
    assert jobrunner.leftover_processes() == []


@contextlib.contextmanager
def leftover(state_dir: Path, mark: str | None, tick_is_dead: bool = True) -> Iterator[int]:
    """A process of another leader in a group whose number a tick has noted; without the mark it is not killed."""
    started = "1"
    environment = {} if mark is None else {"JOBRUNNER_TICK": mark}
    sleeper = Patient([sys.executable, "-c", "import time; time.sleep(300)"], env=environment, start_new_session=True)
    tick = 2**22 + 1 if tick_is_dead else 1
    note = {
        "owner": "gone:1:aa",
        "boot": Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
        "pid": tick,
        "started": Path("/proc/1/stat").read_text().rpartition(")")[2].split()[19],
        "mark": "aa",
        "node": os.uname().nodename,
        "groups": [[sleeper.pid, started]],
    }
    (state_dir / f"tick-{tick}-aa.json").write_text(json.dumps(note))
    try:
        yield sleeper.pid
    finally:
        sleeper.kill()
        sleeper.wait()


@pytest.mark.promise("P2")
@pytest.mark.parametrize(
    ("mark", "dead", "survives"),
    [("aa", True, False), ("ab", True, True), (None, True, True), ("aa", False, True)],
    ids=["ours", "of another tick", "unmarked", "of a living tick"],
)
def test_only_marked_processes_of_noted_groups_are_killed(
    jobrunner: Commands, database: Database, mark: str | None, dead: bool, survives: bool
) -> None:
    """The number of a process, and so of a group, may be used again by an unrelated process."""
    jobrunner.state_dir.chmod(0o700)
    with leftover(jobrunner.state_dir, mark, dead) as pid:
        jobrunner.tick()
        assert is_working(pid) == survives


@pytest.mark.promise("P2")
def test_note_from_before_a_reboot_kills_no_process(jobrunner: Commands, database: Database) -> None:
    jobrunner.state_dir.chmod(0o700)
    with leftover(jobrunner.state_dir, "aa") as pid:
        (note,) = jobrunner.state_dir.glob("tick-*.json")
        note.write_text(json.dumps(json.loads(note.read_text()) | {"boot": "another"}))
        jobrunner.tick()
        assert is_working(pid)
        assert not note.exists()


@pytest.mark.promise("P2", "P7")
def test_neighbours_of_a_run_with_an_expired_lease_are_neither_killed_nor_charged(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """Their tick lives, on the same host, and their leases are not over: it is one handler that must be gone."""
    app.path("jobrunner.toml").write_text(WAITING.format(go=app.path("go"), never=app.path("never")))
    go = {"path": str(app.path("go"))}
    (lost,) = insert_runs(database, 1, "wait_for", {"path": str(app.path("never"))})
    (neighbour,) = insert_runs(database, 1, "wait_for", go)
    (command,) = insert_runs(database, 1, "go_too")
    (over,) = insert_runs(database, 1, "never_too")
    tick = jobrunner.start("tick", env={"JOBRUNNER_LEASE": "60s"})
    wait_for(lambda: len(app.trace()) == 4, 20, "the handlers and the commands")
    pids = {line.run_id: line.pid for line in app.trace()}
    # As `ps` and `top` show it.
    assert Path(f"/proc/{pids[neighbour]}/comm").read_text() == f"jr {neighbour}\n"
    at = database.now() - timedelta(seconds=1)
    database.execute("UPDATE job_runs SET locked_until = ? WHERE id IN (?, ?)", [at, lost, over])
    assert jobrunner.tick(env={"JOBRUNNER_IMPORT": None}).stderr == ""
    assert [is_working(pids[run_id]) for run_id in (lost, over, neighbour, command)] == [False, False, True, True]
    # Their own tick may be the first to write that they have died.
    assert {*outcomes(database, lost), *outcomes(database, over)} <= {"lease_expired", "crashed"}
    app.end(tick, "go")
    assert [outcomes(database, run_id) for run_id in (neighbour, command)] == [["succeeded"], ["succeeded"]]
    assert len(app.trace()) == 4
    assert_consistent(database)
