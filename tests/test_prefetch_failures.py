"""Queued runs behind a run that goes wrong: they are neither charged nor lost."""

import os
import signal

import pytest

from harness import App, Commands, Database, PostgresDatabase, SQLiteDatabase, wait_for
from harness.handlers_rows import attempt_of, queue, status_of
from harness.invariants import assert_consistent, insert_runs, wait_for_exit
from harness.prefetch_jobs import ONE, QUICK, begun, ends, queue_head, wait_for_queue, warm_up
from harness.stops import wait_until_gone


@pytest.fixture(autouse=True)
def quick_handlers(app: App) -> None:
    app.add(QUICK)


def sqlite_file(database: Database) -> dict[str, str]:
    return {"SQLITE_FILE": str(database.path)} if isinstance(database, SQLiteDatabase) else {}


def begun_of(app: App, run_ids: list[int]) -> dict[int, int]:
    return {run_id: times for run_id, times in begun(app).items() if run_id in run_ids}


def make_all_due(database: Database) -> int:
    """Make all failed runs due now; returns how many there are."""
    return database.execute("UPDATE job_runs SET run_at = ? WHERE status = 'failed'", [database.now()])


@pytest.mark.promise("P1", "P7", "P8")
@pytest.mark.parametrize("act", ["exit", "segfault"])
def test_a_crash_amid_short_runs_is_charged_to_that_run_alone(
    jobrunner: Commands, app: App, database: Database, act: str
) -> None:
    others = warm_up(database)
    crashing = []
    for _ in range(3):
        crashing.append(queue(database, "quick", {"act": act}, run_at=database.now()))
        others += insert_runs(database, 20, "quick")
    jobrunner.tick(env=ONE)
    assert ends(database, crashing) == {("failed", 1, 1): 3}
    assert {attempt_of(database, run_id)["error_type"] for run_id in crashing} == {"crashed"}
    assert ends(database, others) == {("succeeded", 1, 1): 100}
    assert begun(app) == dict.fromkeys([*crashing, *others], 1)
    assert any(app.path(f"trace-queue-{run_id}").exists() for run_id in crashing)
    assert_consistent(database)


@pytest.mark.promise("P1", "P8")
def test_tick_goes_on_after_a_crash_when_all_due_runs_were_queued_behind_it(
    jobrunner: Commands, app: App, database: Database
) -> None:
    warm_up(database)
    crashing = [queue_head(database, act="exit") for _ in range(3)]
    others = insert_runs(database, 20, "quick")
    jobrunner.tick(env=ONE)
    assert ends(database, crashing) == {("failed", 1, 1): 3}
    assert ends(database, others) == {("succeeded", 1, 1): 20}


@pytest.mark.promise("P1", "P8")
def test_a_timeout_amid_short_runs_ends_that_run_alone(jobrunner: Commands, app: App, database: Database) -> None:
    others = warm_up(database, "brief")
    hanging = queue_head(database, "brief", hang=True)
    others += insert_runs(database, 40, "brief")
    jobrunner.tick(env=ONE)
    assert ends(database, [hanging]) == {("failed", 1, 1): 1}
    assert attempt_of(database, hanging)["outcome"] == "timed_out"
    assert ends(database, others) == {("succeeded", 1, 1): 80}
    assert begun(app) == dict.fromkeys([hanging, *others], 1)
    assert app.path(f"trace-queue-{hanging}").exists()
    assert_consistent(database)


@pytest.mark.promise("P2", "P6")
def test_a_child_whose_parent_has_stalled_begins_no_run_of_another_owner(
    jobrunner: Commands, app: App, database: Database
) -> None:
    settings = {**ONE, **sqlite_file(database), "JOBRUNNER_LEASE": "3s", "JOBRUNNER_HOST": "stopped"}
    warm_up(database)
    go = str(app.path("go"))
    head = queue_head(database, act="signal", number=signal.SIGSTOP, path=go)
    followers = insert_runs(database, 20, "quick")
    tick = jobrunner.start("tick", env=settings)
    waiting = wait_for_queue(app, database, head, followers)
    assert waiting
    count = f"SELECT count(*) FROM job_recoverable WHERE id IN ({', '.join('?' * len(waiting))})"
    wait_for(lambda: database.value(count, waiting) == len(waiting), 30, "the end of all leases")
    other = {**settings, "JOBRUNNER_HOST": "other"}
    jobrunner.tick(env=other)
    make_all_due(database)
    jobrunner.tick(env=other)
    assert ends(database, waiting) == {("succeeded", 2, 2): len(waiting)}
    assert begun_of(app, followers) == dict.fromkeys(followers, 1)
    app.release("go")
    # The child goes on at once, while its parent is still stopped.
    wait_for(app.path("trace-queue-end").exists, 20, "the child to take what is in its queue")
    os.kill(tick.pid, signal.SIGCONT)
    stdout, stderr = tick.communicate(timeout=30)
    # If it was stopped within a transaction, the server has ended its session meanwhile, and the tick says so.
    was_cut = "lost the connection" in stderr and isinstance(database, PostgresDatabase)
    assert (tick.returncode, stdout, stderr.count("\n")) == ((69, "", 1) if was_cut else (0, "", 0))
    assert begun_of(app, followers) == dict.fromkeys(followers, 1)
    assert_consistent(database)


@pytest.mark.promise("P2")
def test_a_queued_run_that_is_cancelled_while_the_parent_stalls_is_never_begun(
    jobrunner: Commands, app: App, database: Database
) -> None:
    warm_up(database)
    head = queue_head(database, act="signal", number=signal.SIGSTOP, path=str(app.path("go")))
    followers = insert_runs(database, 20, "quick")
    tick = jobrunner.start("tick", env=ONE | sqlite_file(database))
    cancelled = wait_for_queue(app, database, head, followers)[-1]
    jobrunner("cancel", cancelled)
    assert status_of(database, cancelled) == "running"
    os.kill(tick.pid, signal.SIGCONT)
    database.wait_until("SELECT status = 'cancelled' AS is_so FROM job_runs WHERE id = ?", [cancelled])
    assert status_of(database, head) == "running"
    app.release("go")
    wait_for_exit(tick, 0)
    others = [run_id for run_id in (head, *followers) if run_id != cancelled]
    assert ends(database, others) == {("succeeded", 1, 1): 20}
    assert begun(app)[cancelled] == 0
    assert ends(database, [cancelled]) == {("cancelled", 0, 0): 1}
    assert_consistent(database)


@pytest.mark.promise("P9")
def test_a_stop_signal_returns_the_queued_runs_at_once(jobrunner: Commands, app: App, database: Database) -> None:
    warm_up(database)
    head = queue_head(database, act="signal", number=signal.SIGTERM, path=str(app.path("go")))
    followers = insert_runs(database, 20, "quick")
    tick = jobrunner.start("tick", "--grace", "60s", env=ONE)
    wait_for(app.path(f"trace-queue-{head}").exists, 30, "a queue behind the head")
    wait_for(lambda: ends(database, followers) == {("queued", 0, 0): 20}, 20, database.describe)
    assert (tick.poll(), status_of(database, head)) == (None, "running")
    app.release("go")
    wait_for_exit(tick, 0)
    assert ends(database, [head]) == {("succeeded", 1, 1): 1}
    assert ends(database, followers) == {("queued", 0, 0): 20}
    assert not set(followers) & set(begun(app))
    jobrunner.tick(env=ONE)
    assert ends(database, followers) == {("succeeded", 1, 1): 20}
    assert_consistent(database)


@pytest.mark.promise("P1", "P7")
def test_queued_runs_behind_a_run_that_kills_its_tick_twice_are_neither_lost_nor_dead(
    jobrunner: Commands, app: App, database: Database
) -> None:
    settings = {**ONE, "JOBRUNNER_LEASE": "2s"}
    head = queue_head(database, act="signal", number=signal.SIGKILL, path="/nowhere", attempts=2)
    followers = insert_runs(database, 20, "quick")
    for number in (1, 2):
        warm_up(database)
        assert jobrunner.tick(env=settings, check=False).returncode == -signal.SIGKILL
        wait_until_gone(jobrunner)
        database.wait_until(
            "SELECT count(*) = 0 AS over FROM job_runs WHERE status = 'running'"
            " AND id NOT IN (SELECT id FROM job_recoverable)",
            describe="the end of the leases",
        )
        assert not set(followers) & set(begun(app))
        assert len(database.query("SELECT id FROM job_recoverable")) > 1
        jobrunner.tick("--types", "echo", env=settings)
        assert ends(database, [head]).keys() == {("failed", number, number)}
        make_all_due(database)
    jobrunner.tick(env=settings)
    assert ends(database, [head]) == {("succeeded", 3, 3): 1}
    assert all(status == "succeeded" and attempts <= 3 for status, attempts, _ in ends(database, followers))
    assert begun_of(app, followers) == dict.fromkeys(followers, 1)
    assert_consistent(database)


THREADS = """
@job("leave")
def leave(ctx: Context):
    import threading
    leave_trace(ctx)
    threading.Timer(0.05, os._exit, [7]).start()
"""


@pytest.mark.promise("P1", "P7", "P8")
def test_a_child_that_dies_of_an_earlier_run_costs_at_most_the_one_at_work(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.add(QUICK + THREADS)
    others = warm_up(database)
    bad = [queue(database, "leave", priority=5) for _ in range(3)]
    others += insert_runs(database, 100, "quick", {"seconds": 0.005})
    jobrunner.tick(env=ONE)
    # One of the bad ones, too, may be the one at work when the thread of another ends their child.
    failed = ends(database, [*bad, *others])[("failed", 1, 1)]
    assert failed <= len(bad)
    assert ends(database, [*bad, *others]) == {("succeeded", 1, 1): len(bad) + len(others) - failed} | (
        {("failed", 1, 1): failed} if failed else {}
    )
    assert set(begun(app).values()) == {1}
    assert_consistent(database)


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


@pytest.mark.either_database
@pytest.mark.promise("P1", "P8")
@pytest.mark.parametrize("act", ["read", "close", "shut down", "write", "forge", "forge both"])
def test_a_handler_that_uses_the_prefetch_queue_loses_no_run(
    jobrunner: Commands, app: App, database: Database, act: str
) -> None:
    app.add(QUICK + HOSTILE)
    others = warm_up(database, "hostile")
    bad = queue_head(database, "hostile", act=act)
    others += insert_runs(database, 30, "hostile")
    check_no_run_is_lost(jobrunner, app, database, bad, others)


@pytest.mark.promise("P1", "P8")
def test_runs_that_a_handler_has_read_from_the_queue_do_not_wait_for_its_timeout(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.add(QUICK)
    others = warm_up(database)
    bad = queue_head(database, act="steal", path="/nowhere")
    others += insert_runs(database, 30, "quick")
    # Its timeout is five minutes, and no tick of these may take one.
    check_no_run_is_lost(jobrunner, app, database, bad, others)
