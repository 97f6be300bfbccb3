"""What an attempt has cost: the peak memory and the processor time of its processes, or nothing where it is unknown."""

import signal
from datetime import timedelta

import pytest

from harness import App, Commands, Database
from harness.command_jobs import array, python, write_jobs
from harness.database import Row
from harness.handlers_rows import attempt_of, attempts_of, queue, wait_for_attempts
from harness.prefetch_jobs import ONE

MEBIBYTE = 1 << 20
HANDLERS = """
import signal
import subprocess
import sys

# Written, because memory that was only asked for costs nothing.
HOLD = "import sys, time; held = b'x' * (int(sys.argv[1]) << 20); time.sleep(0.05)"


def hold(mebibytes):
    held = b"x" * (mebibytes << 20)
    time.sleep(0.02)
    return held


def burn(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


@job("use", max_attempts=1, timeout="1m", kill_after="0.1s")
def use(ctx: Context, mebibytes: int = 0, burns: float = 0.0, ends: str = "returns"):
    leave_trace(ctx)
    held = hold(mebibytes)
    burn(burns)
    if ends == "raises":
        raise RuntimeError("as asked")
    if ends == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if ends == "kills_its_tick":
        os.kill(os.getppid(), signal.SIGKILL)
    if ends == "hangs":
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        time.sleep(600)
    time.sleep(0.02)


@job("start", max_attempts=1)
def start(ctx: Context, mebibytes: int):
    subprocess.run([sys.executable, "-I", "-S", "-c", HOLD, str(mebibytes)], check=True)


@job("write")
def write(ctx: Context):
    with ctx.transaction() as connection:
        held = hold(300)
        burn(0.2)

"""
# Not among the others: where there are such types a tick has one more child.
ASYNC = """
@job("asynchronous", timeout="1m", max_attempts=1)
async def asynchronous(ctx: Context, ends: str):
    held = hold(300)
    if ends == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
"""
COMMAND = "import os, signal, sys, time; held = b'x' * (int(sys.argv[1]) << 20); x = sum(range(3_000_000)); "
BIG, SMALL = 400, 200


@pytest.fixture(autouse=True)
def _handlers(app: App) -> None:
    app.add(HANDLERS)


def test_a_run_in_a_child_has_its_own_peak_and_not_that_of_a_larger_run_before_it(
    jobrunner: Commands, app: App, database: Database
) -> None:
    given = [{"mebibytes": BIG}, {"mebibytes": SMALL}, {"burns": 0.4}, {"mebibytes": SMALL, "ends": "raises"}]
    runs = [queue(database, "use", each, priority=9 - number) for number, each in enumerate(given)]
    jobrunner.tick(env=ONE)
    assert len({each.pid for each in app.trace()}) == 1
    big, small, busy, failed = (attempt_of(database, run_id) for run_id in runs)
    assert_peak(big, BIG)
    for each in (small, failed):
        assert_peak(each, SMALL)
    assert busy["peak_memory_bytes"] < SMALL * MEBIBYTE
    assert 0.4 <= busy["processor_seconds"] < 0.4 + small["processor_seconds"] + 1
    assert failed["outcome"] == "failed"


def test_a_short_run_has_its_processor_time_and_no_peak(jobrunner: Commands, database: Database) -> None:
    # On a busy machine one of them may take longer.
    runs = [queue(database, "echo") for _ in range(20)]
    jobrunner.tick()
    attempts = [attempt_of(database, run_id) for run_id in runs]
    assert all(attempt["processor_seconds"] > 0 for attempt in attempts)
    assert None in [attempt["peak_memory_bytes"] for attempt in attempts]


def test_programs_that_a_handler_waits_for_count_in_the_run_that_has_started_them(
    jobrunner: Commands, database: Database
) -> None:
    sizes = (SMALL, BIG, SMALL)
    runs = [queue(database, "start", {"mebibytes": each}, priority=9 - number) for number, each in enumerate(sizes)]
    runs.append(queue(database, "use", {"mebibytes": 1}, priority=0))
    jobrunner.tick(env=ONE)
    first, larger, smaller, without = (attempt_of(database, run_id) for run_id in runs)
    assert_peak(first, SMALL)
    assert_peak(larger, BIG)
    # The kernel has told the larger one only.
    assert smaller["peak_memory_bytes"] is None
    assert without["peak_memory_bytes"] < SMALL * MEBIBYTE
    assert all(each["processor_seconds"] > 0.01 for each in (first, larger, smaller))


def test_a_child_that_is_killed_leaves_what_its_last_run_has_cost_and_not_the_runs_before(
    jobrunner: Commands, database: Database
) -> None:
    before = queue(database, "use", {"mebibytes": BIG, "burns": 2.0}, priority=9)
    killed = queue(database, "use", {"mebibytes": SMALL, "burns": 0.3, "ends": "killed"}, priority=8)
    idle = queue(database, "use", {"ends": "killed"}, priority=7)
    jobrunner.tick(env=ONE)
    assert_peak(attempt_of(database, before), BIG)
    attempt = attempt_of(database, killed)
    assert attempt["exit_signal"] == signal.SIGKILL
    assert_peak(attempt, SMALL)
    assert 0.3 <= attempt["processor_seconds"] < 2.0
    # Its new child inherits the peak of the tick, so a small one is not known.
    assert attempt_of(database, idle)["processor_seconds"] < 0.3


def test_a_handler_that_is_killed_at_its_timeout_leaves_its_cost(jobrunner: Commands, database: Database) -> None:
    run_id = queue(database, "use", {"mebibytes": SMALL, "ends": "hangs"}, timeout=1.0)
    jobrunner.tick()
    attempt = attempt_of(database, run_id)
    assert (attempt["outcome"], attempt["exit_signal"]) == ("timed_out", signal.SIGKILL)
    assert_peak(attempt, SMALL)


@pytest.mark.parametrize("ends", ["sys.exit(0)", "sys.exit(1)", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_a_command_leaves_its_cost_however_it_ends(
    jobrunner: Commands, app: App, database: Database, ends: str
) -> None:
    write_jobs(app, f"[jobs.dump]\ncommand = {python(COMMAND + ends, str(SMALL))}\nmax_attempts = 1\n")
    run_id = queue(database, "dump")
    jobrunner.tick()
    attempt = attempt_of(database, run_id)
    assert_peak(attempt, SMALL)
    assert attempt["processor_seconds"] > 0


def test_a_command_smaller_than_its_tick_has_no_peak_and_one_that_was_never_started_has_no_cost(
    jobrunner: Commands, app: App, database: Database
) -> None:
    write_jobs(app, f"[jobs.small]\ncommand = {array('true')}\n[jobs.missing]\ncommand = {array('/no/such/program')}\n")
    small, missing = queue(database, "small"), queue(database, "missing")
    jobrunner.tick()
    assert attempt_of(database, small)["outcome"] == "succeeded"
    # The kernel gives a new process the peak of the one that has started it.
    assert attempt_of(database, small)["peak_memory_bytes"] is None
    assert attempt_of(database, small)["processor_seconds"] > 0
    assert_unknown(attempt_of(database, missing))


def test_async_runs_share_a_process_so_none_has_a_cost(jobrunner: Commands, app: App, database: Database) -> None:
    app.add(ASYNC)
    for ends in ("returns", "killed"):
        run_id = queue(database, "asynchronous", {"ends": ends})
        jobrunner.tick()
        assert_unknown(attempt_of(database, run_id))


@pytest.mark.promise("P7")
def test_an_attempt_whose_tick_was_killed_has_no_cost(jobrunner: Commands, app: App, database: Database) -> None:
    run_id = queue(database, "use", {"mebibytes": SMALL, "ends": "kills_its_tick"})
    tick = jobrunner.start("tick", env=ONE)
    wait_for_attempts(app, 1)
    assert tick.wait(60) == -signal.SIGKILL
    database.execute("UPDATE job_runs SET locked_until = ?", [database.now() - timedelta(seconds=1)])
    jobrunner.tick()
    assert_unknown(attempts_of(database, run_id)[0])
    assert attempts_of(database, run_id)[0]["outcome"] == "lease_expired"


def test_a_run_that_ends_in_its_handlers_own_transaction_has_its_cost(jobrunner: Commands, database: Database) -> None:
    run_id = queue(database, "write")
    jobrunner.tick()
    attempt = attempt_of(database, run_id)
    assert_peak(attempt, 300)
    assert attempt["processor_seconds"] >= 0.2


def test_show_tells_what_each_attempt_has_cost(jobrunner: Commands, database: Database) -> None:
    run_id = queue(database, "use", {"mebibytes": SMALL})
    jobrunner.tick()
    attempt = attempt_of(database, run_id)
    shown = jobrunner("show", str(run_id)).stdout
    assert f"peak_memory_bytes  {attempt['peak_memory_bytes']}\n" in shown
    assert f"processor_seconds  {attempt['processor_seconds']}\n" in shown
    (logged,) = jobrunner("show", str(run_id), "--json").json()["attempt_log"]
    assert [logged[name] for name in COST] == [attempt[name] for name in COST]


COST = ("peak_memory_bytes", "processor_seconds")


def assert_peak(attempt: Row, mebibytes: int) -> None:
    """The memory that it has held, and what an interpreter needs besides."""
    assert mebibytes * MEBIBYTE <= attempt["peak_memory_bytes"] < (mebibytes + 150) * MEBIBYTE


def assert_unknown(attempt: Row) -> None:
    assert [attempt[name] for name in COST] == [None, None]
