"""Commands whose tick is killed, stalls or loses a lease: they end before their runs start again."""

import contextlib
import math
import os
import signal
import subprocess
from collections.abc import Iterator
from datetime import timedelta

import pytest

from harness import App, Commands, Database, wait_for
from harness.at_work import BEATS
from harness.command_jobs import python, shell, write_jobs
from harness.families import WAITS, check_ended, family, wait_until_dead
from harness.handlers_rows import attempt_of, attempts_of, queue, run_of, status_of, wait_until_running
from harness.processes import is_working
from harness.standstill import stop_between_transactions
from harness.waiting import span, stretched

LOOPS = """
import os
open("at-work", "w").write(str(os.getpid()))
while True:
    pass
"""


@pytest.mark.promise("P1", "P6", "P7", "P12")
def test_commands_of_a_killed_tick_are_gone_before_their_runs_start_again(
    jobrunner: Commands, app: App, database: Database
) -> None:
    # The second attempt looks whether anybody of the first is left.
    script = f"""
    if [ "$JOBRUNNER_ATTEMPT" != 1 ]; then
        for pid in $(cat family-$JOBRUNNER_RUN_ID); do
            case $(cut -d " " -f 3 /proc/$pid/stat 2>/dev/null) in "" | Z | X) ;; *) exit 9 ;; esac
        done
        exit 0
    fi
    {WAITS}
    """
    write_jobs(app, f'[jobs.waits]\ncommand = {shell(script)}\nbackoff = {{ fixed = "0s" }}\n')
    run_id = queue(database, "waits")
    tick = jobrunner.start("tick")
    pids = family(app, run_id)
    os.kill(tick.pid, signal.SIGKILL)
    tick.wait(10)
    # The kernel ends the command itself; what it started is left.
    wait_until_dead(pids[0])
    assert any(map(is_working, pids[1:]))
    assert status_of(database, run_id) == "running"
    # Its backoff is none, so the same tick starts it again.
    jobrunner.tick()
    assert not any(map(is_working, pids))
    assert [each["outcome"] for each in attempts_of(database, run_id)] == ["lease_expired", "succeeded"]
    assert (status_of(database, run_id), run_of(database, run_id)["attempts"]) == ("succeeded", 2)


@contextlib.contextmanager
def standing_still(tick: "subprocess.Popen[str]", database: Database) -> Iterator[None]:
    stop_between_transactions(tick, database)
    try:
        yield
    finally:
        tick.send_signal(signal.SIGCONT)


@pytest.mark.promise("P6", "P8")
def test_command_ends_itself_if_its_tick_stalls(jobrunner: Commands, app: App, database: Database) -> None:
    seconds = math.ceil(stretched(1))
    write_jobs(
        app,
        f"""
        [jobs.alone]
        command = {python(LOOPS)}
        timeout = {seconds}
        kill_after = "500ms"
        """,
    )
    run_id = queue(database, "alone")
    tick = jobrunner.start("tick", "--grace", "500ms")
    pid = int(wait_for(lambda: app.path("at-work").exists() and app.path("at-work").read_text(), 20))
    with standing_still(tick, database):
        wait_until_dead(pid)
    check_ended(tick)
    attempt = attempt_of(database, run_id)
    assert (attempt["outcome"], attempt["error"]) == ("timed_out", f"timed out after {seconds}s")
    assert attempt["exit_signal"] == signal.SIGALRM


def test_sigalrm_of_a_command_is_not_taken_for_a_timeout(jobrunner: Commands, app: App, database: Database) -> None:
    write_jobs(app, f"[jobs.alarmed]\ncommand = {python('import signal, time; signal.alarm(1); time.sleep(60)')}\n")
    run_id = queue(database, "alarmed")
    jobrunner.tick()
    attempt = attempt_of(database, run_id)
    assert (attempt["outcome"], attempt["exit_signal"]) == ("crashed", signal.SIGALRM)
    assert attempt["error"] == "the command was killed by SIGALRM"


@pytest.mark.promise("P2", "P6")
def test_a_stalled_ticks_command_is_gone_before_another_tick_starts_it_again(
    jobrunner: Commands, app: App, database: Database
) -> None:
    write_jobs(app, f'[jobs.waits]\ncommand = {shell(WAITS)}\nbackoff = {{ fixed = "1h" }}\n')
    run_id = queue(database, "waits")
    tick = jobrunner.start("tick", env={"JOBRUNNER_LEASE": span(2)})
    pids = family(app, run_id)
    with standing_still(tick, database):
        database.wait_until("SELECT count(*) FROM job_recoverable", describe="the end of the lease")
        jobrunner.tick()
        wait_until_dead(*pids)
        row = run_of(database, run_id)
        assert (row["status"], row["error_type"]) == ("failed", "lease_expired")
    check_ended(tick)
    # What it makes of its command's death changes nothing any more.
    assert run_of(database, run_id) == row
    assert [each["outcome"] for each in attempts_of(database, run_id)] == ["lease_expired"]


@pytest.mark.promise("P2")
def test_a_command_stops_when_its_lease_is_lost(jobrunner: Commands, app: App, database: Database) -> None:
    write_jobs(app, f"[jobs.waits]\ncommand = {shell(WAITS)}\n")
    run_id = queue(database, "waits")
    tick = jobrunner.start("tick", env=BEATS)
    pids = family(app, run_id)
    wait_until_running(database, run_id)
    database.execute(
        "UPDATE job_runs SET lease_token = 'another', locked_until = ? WHERE id = ?",
        [database.now() + timedelta(hours=1), run_id],
    )
    check_ended(tick)
    wait_until_dead(*pids)
    assert (status_of(database, run_id), attempts_of(database, run_id)) == ("running", [])
