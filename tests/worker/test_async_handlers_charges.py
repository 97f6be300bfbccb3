"""When the child of many async runs is killed or dies, the run that caused it is charged, and the others are not."""

import os
import signal
from datetime import timedelta

import pytest

from harness import App, Commands, Database, wait_for
from harness.handlers_rows import attempt_of, attempts_of, queue, run_of, status_of, wait_for_attempts
from harness.processes import is_working
from harness.standstill import stop_between_transactions
from harness.waiting import stretched, whole

HANDLERS = """
import asyncio, ctypes, threading


async def until(path):
    while not os.path.exists(path):
        await asyncio.sleep(0.01)


@job("hold", concurrency=40, timeout="5m", max_attempts=1)
async def hold(ctx: Context, path: str):
    leave_trace(ctx)
    await until(path)


@job("brief", timeout=LIMIT, kill_after=KILL_AFTER, max_attempts=1)
async def brief(ctx: Context):
    leave_trace(ctx)
    await asyncio.sleep(600)


@job("block", timeout="5m", max_attempts=1)
async def block(ctx: Context):
    leave_trace(ctx)
    print("about to block")
    time.sleep(600)


@job("block_below", timeout=LIMIT, kill_after=KILL_AFTER, max_attempts=1)
async def block_below(ctx: Context):
    async def below():
        while True:
            pass
    await asyncio.gather(below())


@job("stubborn", timeout=LIMIT, kill_after=KILL_AFTER, max_attempts=1)
async def stubborn(ctx: Context):
    while True:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            print("I stay")


@job("busy", timeout="5m", max_attempts=1)
async def busy(ctx: Context, path: str):
    leave_trace(ctx)
    while not os.path.exists(path):
        step_ends_at = time.monotonic() + 0.02
        while time.monotonic() < step_ends_at:
            pass
        await asyncio.sleep(0)


@job("compute", timeout="5m", max_attempts=1)
async def compute(ctx: Context, begun: str, path: str):
    leave_trace(ctx)
    await asyncio.sleep(0.05)
    if not os.path.exists(begun):
        open(begun, "x").close()
        time.sleep(600)
    await until(path)


@job("crash", max_attempts=2)
async def crash(ctx: Context, how: str):
    leave_trace(ctx)
    await asyncio.sleep(0.2)
    if how == "segfault":
        ctypes.string_at(0)
    if how == "exit":
        os._exit(7)
    if how == "abort":
        os.abort()
    if how == "thread":
        # In another thread, so that the event loop is running no run at that moment.
        threading.Timer(0.1, lambda: os.kill(os.getpid(), 9)).start()
        await asyncio.sleep(600)


@job("kill_during", max_attempts=1)
async def kill_during(ctx: Context, begun: str):
    leave_trace(ctx)
    def kill():
        while not os.path.exists(begun):
            time.sleep(0.01)
        os.kill(os.getpid(), 9)
    await asyncio.to_thread(kill)
"""


@pytest.fixture
def limit() -> int:
    """The time limit of the brief handlers, in seconds."""
    return whole(0.7)


@pytest.fixture
def app(app: App, limit: int) -> App:
    app.add(HANDLERS.replace("LIMIT", str(limit)).replace("KILL_AFTER", str(stretched(0.6))))
    return app


def assert_uncharged_and_succeeded(database: Database, run_id: int) -> None:
    run = run_of(database, run_id)
    assert (run["status"], run["attempts"]) == ("succeeded", 1)
    outcomes = [attempt["outcome"] for attempt in attempts_of(database, run_id)]
    assert outcomes[-1] == "succeeded"
    assert set(outcomes[:-1]) == {"released"}


@pytest.mark.promise("P6", "P7", "P8")
def test_an_async_run_that_ignores_its_cancellation_is_killed_and_the_others_start_again_uncharged(
    jobrunner: Commands, app: App, database: Database, limit: int
) -> None:
    held = [queue(database, "hold", {"path": str(app.path("go"))}) for _ in range(3)]
    stubborn = queue(database, "stubborn")
    tick = jobrunner.start("tick")
    wait_for_attempts(app, 6)
    app.end(tick, "go")
    attempt = attempt_of(database, stubborn)
    assert (attempt["outcome"], attempt["error"]) == ("timed_out", f"timed out after {limit}s; it had to be killed")
    assert attempt["output"] == "I stay\nI stay\n"
    for run_id in held:
        assert_uncharged_and_succeeded(database, run_id)
        assert f"because of run {stubborn} (stubborn)" in attempts_of(database, run_id)[0]["error"]


@pytest.mark.promise("P7", "P8")
def test_a_busy_run_that_shares_the_event_loop_is_not_charged_for_blocking_it(
    jobrunner: Commands, app: App, database: Database
) -> None:
    busy, stubborn = queue(database, "busy", {"path": str(app.path("go"))}), queue(database, "stubborn")
    tick = jobrunner.start("tick")
    database.wait_until("SELECT finished_at FROM job_runs WHERE id = ?", [stubborn])
    assert attempt_of(database, stubborn)["outcome"] == "timed_out"
    app.end(tick, "go")
    assert_uncharged_and_succeeded(database, busy)


@pytest.mark.promise("P7", "P8")
def test_a_run_that_blocks_the_event_loop_is_charged_and_not_the_run_that_times_out_for_it(
    jobrunner: Commands, app: App, database: Database
) -> None:
    held = queue(database, "hold", {"path": str(app.path("go"))})
    # One claim takes them by age: this one waits in the event loop before the other blocks it.
    brief = queue(database, "brief")
    block = queue(database, "block")
    tick = jobrunner.start("tick")
    database.wait_until("SELECT finished_at FROM job_runs WHERE id = ?", [block])
    attempt = attempt_of(database, block)
    assert attempt["error_type"] == "blocked_loop"
    assert "2 other run(s)" in attempt["error"]
    assert "in block" in attempt["traceback"]
    assert attempt["output"] == "about to block\n"
    # The brief run gets a new attempt with its whole time, and then it times out itself.
    database.wait_until("SELECT finished_at FROM job_runs WHERE id = ?", [brief])
    assert [each["outcome"] for each in attempts_of(database, brief)] == ["released", "timed_out"]
    app.end(tick, "go")
    assert_uncharged_and_succeeded(database, held)


@pytest.mark.promise("P6", "P8")
def test_endless_loop_in_a_coroutine_of_a_handler_is_charged_to_that_handler(
    jobrunner: Commands, app: App, database: Database, limit: int
) -> None:
    held = queue(database, "hold", {"path": str(app.path("go"))})
    endless = queue(database, "block_below")
    tick = jobrunner.start("tick")
    database.wait_until("SELECT finished_at FROM job_runs WHERE id = ?", [endless])
    attempt = attempt_of(database, endless)
    assert (attempt["outcome"], attempt["error"]) == ("timed_out", f"timed out after {limit}s; it had to be killed")
    assert "in below" in attempt["traceback"]
    app.end(tick, "go")
    assert_uncharged_and_succeeded(database, held)


@pytest.mark.promise("P7", "P8")
@pytest.mark.parametrize("how", ["segfault", "exit", "abort"])
def test_async_run_that_crashes_the_child_is_charged_and_its_neighbours_are_not(
    jobrunner: Commands, app: App, database: Database, how: str
) -> None:
    held = [queue(database, "hold", {"path": str(app.path("go"))}) for _ in range(3)]
    crash = queue(database, "crash", {"how": how})
    tick = jobrunner.start("tick")
    # A second attempt of the others: the first child is gone.
    wait_for_attempts(app, 7)
    app.end(tick, "go")
    assert (status_of(database, crash), run_of(database, crash)["attempts"]) == ("failed", 1)
    assert attempt_of(database, crash)["outcome"] == "crashed"
    for run_id in held:
        assert_uncharged_and_succeeded(database, run_id)


@pytest.mark.promise("P7", "P8")
def test_async_runs_work_one_at_a_time_when_it_is_unknown_which_one_has_ended_the_child(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.release("go")
    crash = queue(database, "crash", {"how": "thread"}, max_attempts=1)
    # They are at work together with it at first, because they only end when the file is there.
    held = [queue(database, "hold", {"path": str(app.path("later"))}) for _ in range(3)]
    tick = jobrunner.start("tick")
    database.wait_until("SELECT finished_at FROM job_runs WHERE id = ?", [crash])
    outcomes = [attempt["outcome"] for attempt in attempts_of(database, crash)]
    assert (status_of(database, crash), outcomes) == ("dead", ["released", "crashed"])
    app.end(tick, "later")
    for run_id in held:
        assert_uncharged_and_succeeded(database, run_id)


@pytest.mark.promise("P7", "P8")
def test_async_run_in_whose_step_another_one_gets_the_child_killed_is_not_charged(
    jobrunner: Commands, app: App, database: Database
) -> None:
    begun, go = str(app.path("begun")), str(app.path("go"))
    killer = queue(database, "kill_during", {"begun": begun}, max_attempts=1)
    computing = queue(database, "compute", {"begun": begun, "path": go})
    tick = jobrunner.start("tick")
    database.wait_until("SELECT finished_at FROM job_runs WHERE id = ?", [killer])
    assert [attempt["outcome"] for attempt in attempts_of(database, killer)] == ["released", "crashed"]
    app.end(tick, "go")
    assert_uncharged_and_succeeded(database, computing)


@pytest.mark.promise("P1", "P7", "P8")
def test_async_runs_of_a_killed_tick_are_recovered_and_their_processes_end(
    jobrunner: Commands, app: App, database: Database
) -> None:
    runs = [queue(database, "hold", {"path": str(app.path("go"))}, max_attempts=3) for _ in range(4)]
    tick = jobrunner.start("tick", env={"JOBRUNNER_LEASE": "30s"})
    wait_for_attempts(app, 4)
    os.kill(tick.pid, signal.SIGKILL)
    wait_for(lambda: jobrunner.leftover_processes() == [], 10, jobrunner.describe_leftovers)
    app.release("go")
    database.move_clock(timedelta(seconds=30))
    assert database.value("SELECT count(*) FROM job_recoverable") == 4
    jobrunner.tick()
    for run_id in runs:
        assert [attempt["outcome"] for attempt in attempts_of(database, run_id)] == ["lease_expired"]
        database.execute("UPDATE job_runs SET run_at = ? WHERE id = ?", [database.now(), run_id])
    jobrunner.tick()
    assert {status_of(database, run_id) for run_id in runs} == {"succeeded"}


@pytest.mark.promise("P6", "P8")
def test_async_handlers_end_when_their_tick_stalls(jobrunner: Commands, app: App, database: Database) -> None:
    run_id = queue(database, "brief")
    tick = jobrunner.start("tick", "--grace", "500ms")
    (line,) = wait_for(app.trace, 30, "the handler is at work")
    stop_between_transactions(tick, database)
    wait_for(lambda: not is_working(line.pid), 30, "the child is dead")
    tick.send_signal(signal.SIGCONT)
    assert tick.communicate(timeout=30) == ("", "")
    assert attempt_of(database, run_id)["outcome"] == "timed_out"
