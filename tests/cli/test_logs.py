"""The log: one JSON line for each event of a run, and no other output by default."""

import os
import pty
import signal
import subprocess
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from harness import App, Commands, Database, sqlite_only, wait_for
from harness.at_work import BEATS
from harness.cancels import OBEDIENT
from harness.commands import COMMAND
from harness.log_file import LogFile
from harness.processes import Patient
from harness.slots import go_to
from harness.terminal import read_terminal


def about(line: dict[str, Any]) -> tuple[Any, ...]:
    return line["run_id"], line["job_type"], line["attempt"], line["result"]


def test_log_lines_of_a_run_that_succeeds(jobrunner: Commands, log: LogFile) -> None:
    run_id = jobrunner.enqueue("echo")
    done = jobrunner.tick("--log", log.path)
    assert (done.stdout, done.stderr) == ("", "")
    assert [line["event"] for line in log.lines()] == ["claimed", "succeeded", "tick"]
    claimed, succeeded, tick = log.lines()
    assert about(claimed) == (run_id, "echo", 1, "running")
    assert about(succeeded) == (run_id, "echo", 1, "succeeded")
    assert (tick["result"], tick["claimed"], tick["succeeded"]) == ("done", 1, 1)
    for line in log.lines():
        assert abs(datetime.fromisoformat(line["at"]) - datetime.now(UTC)) < timedelta(minutes=5)
        assert line["level"] == "info"


def test_log_line_of_an_idle_tick(jobrunner: Commands, log: LogFile) -> None:
    for _ in range(3):
        jobrunner.tick(env={"JOBRUNNER_LOG": str(log.path)})
    assert [(line["event"], line["result"]) for line in log.lines()] == [("tick", "done")] * 3


def test_log_lines_of_a_run_that_fails_and_then_is_dead(jobrunner: Commands, database: Database, log: LogFile) -> None:
    run_id = jobrunner.enqueue("fail", {"message": "as\nasked"}, max_attempts=2)
    jobrunner.tick("--log", log.path)
    (failed,) = log.lines("failed")
    assert about(failed) == (run_id, "fail", 1, "failed")
    assert (failed["error_type"], failed["error"], failed["level"]) == ("RuntimeError", "as asked", "warning")
    run_at = database.value("SELECT run_at FROM job_runs")
    assert abs(datetime.fromisoformat(failed["next_try"]) - run_at) <= timedelta(seconds=1)
    database.move_clock(timedelta(hours=1))
    jobrunner.tick("--log", log.path)
    (dead,) = log.lines("dead")
    assert about(dead) == (run_id, "fail", 2, "dead")
    assert (dead["error_type"], dead["error"], dead["level"]) == ("RuntimeError", "as asked", "warning")
    assert len(log.lines("claimed")) == len(log.lines("tick")) == 2


def test_log_lines_of_a_run_that_is_recovered(jobrunner: Commands, app: App, database: Database, log: LogFile) -> None:
    run_id = jobrunner.enqueue("wait_for", {"path": str(app.path("never"))})
    tick = jobrunner.start("tick", "--log", log.path, env={"JOBRUNNER_LEASE": "20s"})
    wait_for(app.trace, 30, "the handler is at work")
    # A child may begin before its tick has told that it claimed the run.
    wait_for(lambda: log.lines("claimed"), 30, "the line of the claim")
    tick.kill()
    tick.wait(10)
    assert [line["event"] for line in log.lines()] == ["claimed"]
    database.move_clock(timedelta(seconds=30))
    jobrunner.tick("--log", log.path)
    (recovered,) = log.lines("recovered")
    assert about(recovered) == (run_id, "wait_for", 1, "failed")
    assert recovered["error_type"] == "lease_expired"
    assert recovered["level"] == "warning"
    assert "next_try" in recovered
    assert log.lines("tick")[-1]["recovered"] == 1


@pytest.mark.parametrize("end", ["released", "cancelled"])
def test_log_lines_of_a_running_run_that_is_stopped(jobrunner: Commands, app: App, log: LogFile, end: str) -> None:
    app.add(OBEDIENT)
    run_id = jobrunner.enqueue("obedient")
    tick = jobrunner.start("tick", "--log", log.path, "--grace", "0", env=BEATS)
    wait_for(app.trace, 30, "the handler is at work")
    if end == "released":
        tick.send_signal(signal.SIGTERM)
    else:
        jobrunner("cancel", run_id)
    assert tick.wait(30) == 0
    (line,) = log.lines(end)
    assert about(line) == (run_id, "obedient", 1, end)
    warnings = [line for line in log.lines() if line["level"] == "warning" and line.get("run_id") == run_id]
    assert end == "cancelled" or len(warnings) == 1, "a clean stop logs one warning per handler that it had to end"


def test_log_lines_of_expanded_slots(jobrunner: Commands, database: Database, log: LogFile) -> None:
    # Not over the full hour between the two.
    go_to(database, datetime(2026, 5, 1, 12, 30, tzinfo=UTC))
    jobrunner("schedule", "add", "hourly", "--type", "echo", "--cron", "@hourly")
    database.move_clock(timedelta(hours=3))
    jobrunner.tick("--log", log.path)
    (expanded,) = log.lines("expanded")
    assert (expanded["schedule"], expanded["run_id"], expanded["job_type"]) == ("hourly", 1, "echo")
    (skipped,) = log.lines("skipped")
    assert (skipped["schedule"], skipped["slots"]) == ("hourly", 2)


@sqlite_only
def test_the_log_file_is_private_and_appended_to(jobrunner: Commands, log: LogFile) -> None:
    log.path.write_text('{"event": "earlier"}\n')
    jobrunner.tick("--log", log.path)
    assert [line["event"] for line in log.lines()] == ["earlier", "tick"]
    fresh = log.path.with_name("fresh")
    done = subprocess.run([COMMAND, "tick", "--log", fresh], env=jobrunner.environment(), umask=0)
    assert done.returncode == 0
    assert fresh.stat().st_mode & 0o777 == 0o600


@sqlite_only
def test_a_full_disk_under_the_log_does_not_end_the_tick(jobrunner: Commands, database: Database) -> None:
    jobrunner.enqueue("echo")
    done = jobrunner.tick("--log", "/dev/full")
    assert (done.stdout, done.stderr) == ("", "")
    assert database.value("SELECT status FROM job_runs") == "succeeded"


def test_a_healthy_tick_is_quiet_under_cron(jobrunner: Commands, app: App, database: Database) -> None:
    app.add("""
        import sys

        @job("loud")
        def loud(ctx: Context):
            print("on standard output")
            print("on standard error", file=sys.stderr)
            os.write(1, b"past Python\\n")
    """)

    def quiet() -> None:
        done = jobrunner.tick()
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

    quiet()  # idle
    jobrunner.enqueue("loud")
    jobrunner.enqueue("fail", max_attempts=1)
    jobrunner.enqueue("fail")
    jobrunner("enqueue", "elsewhere", "--allow-unknown")
    jobrunner("schedule", "add", "hourly", "--type", "echo", "--cron", "@hourly")
    quiet()  # busy, with jobs that fail
    database.move_clock(timedelta(hours=5))
    quiet()  # slots were missed
    statuses = {row["status"] for row in database.query("SELECT status FROM job_runs")}
    assert statuses == {"succeeded", "dead", "failed", "queued"}


def test_error_of_a_tick_is_one_line_under_cron(jobrunner: Commands, app: App) -> None:
    jobrunner.refused(69, "tick", env={"JOBRUNNER_DATABASE_URL": "postgresql://127.0.0.1:1/none"})
    jobrunner.enqueue("echo")
    app.write("handlers", "print('noise')\nraise RuntimeError('broken\\nin two lines')")
    assert "handlers" in jobrunner.refused(78, "tick")


def test_verbose_logs_to_standard_error(jobrunner: Commands) -> None:
    run_id = jobrunner.enqueue("echo")
    done = jobrunner.tick("-v")
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert [line.split()[2] for line in lines] == ["claimed", "succeeded", "tick"]
    for word in (f"run_id={run_id}", "job_type=echo", "attempt=1", "result=succeeded"):
        assert word in lines[1]


def test_a_person_at_a_terminal_sees_the_log(jobrunner: Commands) -> None:
    jobrunner.enqueue("echo")
    ours, terminal = pty.openpty()
    tick = Patient(
        [COMMAND, "tick"],
        env=jobrunner.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=terminal,
        text=True,
    )
    os.close(terminal)
    seen = read_terminal(ours)
    assert tick.communicate(timeout=30)[0] == ""
    assert tick.returncode == 0
    assert [line.split()[2] for line in seen.splitlines()] == ["claimed", "succeeded", "tick"]
