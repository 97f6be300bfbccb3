"""What cron would mail in a month of healthy ticks: nothing."""

import signal
import subprocess
from collections.abc import Callable
from datetime import timedelta

import pytest

from harness import App, Commands, Database, wait_for
from harness.cancels import OBEDIENT

HANDLERS = """
import ctypes
import signal
import sys

from jobrunner import Discard, Retry, Snooze, fixed

print("printed while imported")
print("complained while imported", file=sys.stderr)


@job("loud")
def loud(ctx: Context):
    print("on standard output")
    print("on standard error", file=sys.stderr)
    os.write(1, b"past Python" * 10_000)
    os.write(2, b"\\xff without a newline")
    ctx.log.warning("by its logger")


@job("second_try")
def second_try(ctx: Context):
    if ctx.attempt == 1:
        raise Retry("not yet", after="1h")


@job("hopeless")
def hopeless(ctx: Context):
    raise Discard("for good")


@job("snoozing")
def snoozing(ctx: Context):
    raise Snooze("100h")


@job("crash", max_attempts=2)
def crash(ctx: Context):
    os.abort()


@job("leave", max_attempts=1)
def leave(ctx: Context):
    os._exit(0)


@job("slow", timeout="0.3s", max_attempts=1)
def slow(ctx: Context):
    leave_trace(ctx)
    time.sleep(60)
"""


class Month:
    """Thirty days of ticks, and what happens in between."""

    def __init__(self, jobrunner: Commands, app: App, database: Database) -> None:
        self.jobrunner = jobrunner
        self.app = app
        self.database = database
        self.quiet_ticks = 0

    def tick(self, **env: str) -> None:
        self.check(self.jobrunner.start("tick", env=env))

    def check(self, tick: "subprocess.Popen[str]") -> None:
        stdout, stderr = tick.communicate(timeout=60)
        assert (tick.returncode, stdout, stderr) == (0, "", "")
        self.quiet_ticks += 1

    def start_at_work(self, job_type: str, **payload: str) -> tuple[int, "subprocess.Popen[str]"]:
        """A tick of which a handler is at work."""
        run_id = self.jobrunner.enqueue(job_type, payload, max_attempts=1)
        tick = self.jobrunner.start("tick", env={"JOBRUNNER_HEARTBEAT": "500ms", "JOBRUNNER_GRACE": "1s"})
        wait_for(
            lambda: run_id in [line.run_id for line in self.app.trace()],
            30,
            lambda: f"{job_type} at work; the tick: {tick.communicate() if tick.poll() is not None else 'not ended'}",
        )
        return run_id, tick

    def schedules(self) -> None:
        for name, cron in (("nightly", "0 3 * * *"), ("weekly", "0 3 * * sun"), ("broken", "@daily")):
            self.jobrunner("schedule", "add", name, "--type", "echo", "--schedule", cron)
        # As a person might do by hand.
        self.database.execute("UPDATE job_definitions SET timezone = 'Europe/Atlantis' WHERE name = 'broken'")

    def jobs_of_all_kinds(self) -> None:
        for job_type in ("loud", "second_try", "hopeless", "snoozing", "crash", "leave", "slow", "fail"):
            self.jobrunner.enqueue(job_type)
        self.jobrunner.enqueue("echo", run_at="+49h")
        self.jobrunner.enqueue("fail", {"unexpected": 1}, allow_unknown=True)
        self.jobrunner("enqueue", "elsewhere", "--allow-unknown")

    def killed_tick(self) -> None:
        _, tick = self.start_at_work("wait_for", path=str(self.app.path("never")))
        tick.kill()
        tick.communicate(timeout=30)

    def overlapping_ticks(self) -> None:
        _, tick = self.start_at_work("wait_for", path=str(self.app.path("go")))
        self.jobrunner.enqueue("loud")
        self.tick()
        # This one finds no free place.
        self.tick(JOBRUNNER_CONCURRENCY="1")
        self.app.release("go")
        self.check(tick)

    def shutdown(self) -> None:
        run_id, tick = self.start_at_work("obedient")
        tick.send_signal(signal.SIGTERM)
        self.check(tick)
        self.jobrunner("cancel", run_id)

    def cancelled_at_work(self) -> None:
        run_id, tick = self.start_at_work("obedient")
        self.jobrunner("cancel", run_id)
        self.check(tick)

    def host_down_for_three_days(self) -> None:
        self.database.move_clock(timedelta(days=3))

    def clock_steps_back(self) -> None:
        self.database.move_clock(-timedelta(minutes=5))

    def no_handlers(self) -> None:
        self.jobrunner.enqueue("loud")
        self.tick(JOBRUNNER_IMPORT="")


EVENTS: dict[int, Callable[[Month], None]] = {
    1: Month.schedules,
    2: Month.jobs_of_all_kinds,
    4: Month.killed_tick,
    7: Month.overlapping_ticks,
    9: Month.shutdown,
    11: Month.cancelled_at_work,
    13: Month.host_down_for_three_days,
    17: Month.clock_steps_back,
    19: Month.no_handlers,
}


@pytest.mark.timeout(900)
@pytest.mark.long
def test_a_healthy_month_of_ticks_prints_nothing(jobrunner: Commands, app: App, database: Database) -> None:
    assert spend_a_month(jobrunner, app, database, timedelta(hours=18)) >= 35


@pytest.mark.long(sample=1)
def test_a_healthy_month_of_fewer_ticks_prints_nothing(jobrunner: Commands, app: App, database: Database) -> None:
    assert spend_a_month(jobrunner, app, database, timedelta(hours=54)) >= 15


def spend_a_month(jobrunner: Commands, app: App, database: Database, step: timedelta) -> int:
    """How many ticks have printed nothing."""
    app.add(HANDLERS + OBEDIENT)
    month = Month(jobrunner, app, database)
    begun_at = database.now()
    day = 0
    done: set[int] = set()
    while day < 30:
        day = (database.now() - begun_at) // timedelta(days=1)
        for due in sorted(EVENTS.keys() - done):
            if due <= day:
                EVENTS[due](month)
                done.add(due)
        month.tick()
        database.move_clock(step)
    check_that_it_was_a_full_month(database)
    return month.quiet_ticks


def check_that_it_was_a_full_month(database: Database) -> None:
    """A month in which little happened would prove little."""

    def found(statement: str) -> set[str]:
        return {row["found"] for row in database.query(statement)}

    assert found("SELECT status AS found FROM job_runs") >= {"succeeded", "dead", "queued"}
    assert found("SELECT outcome AS found FROM job_attempts") >= {"succeeded", "failed", "snoozed"}
    assert found("SELECT error_type AS found FROM job_attempts WHERE error_type IS NOT NULL") >= {
        "RuntimeError",
        "timeout",
        "lease_expired",
        "bad_payload",
    }
    assert found("SELECT action AS found FROM job_events") >= {"skip slots", "cancel"}
    assert database.value("SELECT count(*) AS n FROM job_ticks WHERE finished_at IS NULL") <= 1
    assert database.value("SELECT min(id) AS first FROM job_runs WHERE status = 'succeeded'") > 10, "nothing was pruned"
