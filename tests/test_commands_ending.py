"""How a command is stopped, with every process that it started."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from datetime import timedelta

import pytest

from harness import App, Commands, Database, wait_for
from harness.command_jobs import python, shell, write_jobs
from harness.handlers_rows import attempt_of, attempts_of, queue, run_of, status_of, wait_until_running
from harness.processes import is_working

# A child that obeys, and one that ignores SIGTERM and has a child of its own that ignores it, too.
FAMILY = """
sleep 600 & obeys=$!
sh -c 'trap "" TERM; sleep 600 & echo $! > born-$JOBRUNNER_RUN_ID; wait' & stubborn=$!
until [ -s born-$JOBRUNNER_RUN_ID ]; do sleep 0.05; done
echo $$ $obeys $stubborn $(cat born-$JOBRUNNER_RUN_ID) > family-$JOBRUNNER_RUN_ID.new
mv family-$JOBRUNNER_RUN_ID.new family-$JOBRUNNER_RUN_ID
"""
WAITS = FAMILY + "sleep 600"
LOOPS = """
import os
open("at-work", "w").write(str(os.getpid()))
while True:
    pass
"""
LEASE = {"JOBRUNNER_LEASE": "2s"}


def family(app: App, run_id: int) -> list[int]:
    """The process ids of a command, first its own, and of all that it has started."""
    path = app.path(f"family-{run_id}")
    wait_for(path.exists, 20, "the command is at work")
    pids = [int(word) for word in path.read_text().split()]
    assert len(pids) == 4
    return pids


def wait_until_dead(*pids: int) -> None:
    wait_for(lambda: not any(map(is_working, pids)), 20, f"the end of {pids}")


def check_ended(tick: "subprocess.Popen[str]") -> None:
    out, err = tick.communicate(timeout=30)
    assert (tick.returncode, out, err) == (0, "", "")


@pytest.mark.promise("P6", "P8")
def test_processes_that_a_command_started_end_with_it(jobrunner: Commands, app: App, database: Database) -> None:
    write_jobs(
        app,
        f"""
        [jobs.waits]
        command = {shell(WAITS)}
        timeout = "4s"
        kill_after = "500ms"
        [jobs.leaves]
        command = {shell(FAMILY)}
        """,
    )
    waits, leaves = queue(database, "waits"), queue(database, "leaves")
    tick = jobrunner.start("tick")
    pids = family(app, waits) + family(app, leaves)
    check_ended(tick)
    wait_until_dead(*pids)
    assert jobrunner.leftover_processes() == []
    assert (status_of(database, leaves), status_of(database, waits)) == ("succeeded", "failed")
    attempt = attempt_of(database, waits)
    assert (attempt["outcome"], attempt["error_type"], attempt["error"]) == (
        "timed_out",
        "timeout",
        "timed out after 4s",
    )


def test_daemon_that_outlives_its_command_blocks_no_run(jobrunner: Commands, app: App, database: Database) -> None:
    write_jobs(app, f"[jobs.starts_one]\ncommand = {shell('setsid sleep 600 & echo started')}\n")
    run_id = queue(database, "starts_one")
    # It has left the group, and still holds the output.
    jobrunner.tick(timeout=30)
    assert (status_of(database, run_id), attempt_of(database, run_id)["output"]) == ("succeeded", "started\n")


LADDER = {
    "polite": ("trap 'echo cleaned up; exit 0' TERM; echo at work; sleep 600", "20s"),
    "stubborn": ("trap '' TERM; echo at work; sleep 600", "1s"),
    "counting": ("trap 'echo asked' TERM; while :; do sleep 0.1; done", "2s"),
    "slow_to_clean": ("trap 'echo cleaning; sleep 600; echo cleaned up' TERM; sleep 600", "1s"),
}


@pytest.mark.promise("P6", "P8", "P12")
def test_command_is_asked_to_stop_once_and_then_killed(jobrunner: Commands, app: App, database: Database) -> None:
    jobs = [
        f'[jobs.{name}]\ncommand = {shell(script)}\ntimeout = "1s"\nkill_after = "{kill_after}"\n'
        for name, (script, kill_after) in LADDER.items()
    ]
    write_jobs(app, "".join(jobs))
    runs = {name: queue(database, name) for name in LADDER}
    jobrunner.tick(timeout=18)  # not the 20 s of the polite one's kill_after
    attempts = {name: attempt_of(database, run_id) for name, run_id in runs.items()}
    assert {(each["outcome"], each["error_type"]) for each in attempts.values()} == {("timed_out", "timeout")}
    # Its exit status says that all is well. It is not believed: nobody knows how far it came.
    polite = attempts.pop("polite")
    assert polite["exit_signal"] is None
    assert polite["output"].endswith("cleaned up\n")
    assert (polite["error"], status_of(database, runs["polite"])) == ("timed out after 1s", "failed")
    for attempt in attempts.values():
        assert attempt["exit_signal"] == signal.SIGKILL
        assert attempt["error"] == "timed out after 1s; it had to be killed"
    assert attempts["counting"]["output"].count("asked") == 1
    assert attempts["slow_to_clean"]["output"].endswith("cleaning\n")
    assert jobrunner.leftover_processes() == []


@pytest.mark.promise("P6")
def test_a_running_command_is_cancelled(jobrunner: Commands, app: App, database: Database) -> None:
    write_jobs(app, f'[jobs.waits]\ncommand = {shell(WAITS)}\nkill_after = "500ms"\n')
    run_id = queue(database, "waits")
    tick = jobrunner.start("tick", env={"JOBRUNNER_HEARTBEAT": "0.2"})
    pids = family(app, run_id)
    assert "being stopped" in jobrunner("cancel", run_id).stdout
    check_ended(tick)
    assert (status_of(database, run_id), attempt_of(database, run_id)["outcome"]) == ("cancelled", "cancelled")
    wait_until_dead(*pids)


@pytest.mark.promise("P9")
def test_stopped_tick_returns_its_commands_uncharged(jobrunner: Commands, app: App, database: Database) -> None:
    finishes = "touch began; until [ -e go ]; do sleep 0.05; done"
    write_jobs(
        app,
        f"""
        [jobs.waits]
        command = {shell(WAITS)}
        kill_after = "1s"
        [jobs.dropped]
        command = {shell(WAITS)}
        kill_after = "1s"
        on_stop = "drop"
        [jobs.finishes]
        command = {shell(finishes)}
        """,
    )
    waits, dropped, finishes_in_time = (queue(database, name) for name in ("waits", "dropped", "finishes"))
    tick = jobrunner.start("tick", "--grace", "2s")
    pids = family(app, waits) + family(app, dropped)
    wait_for(app.path("began").exists)
    later = queue(database, "finishes")
    tick.send_signal(signal.SIGTERM)
    app.release("go")
    check_ended(tick)
    assert status_of(database, finishes_in_time) == "succeeded"
    assert (status_of(database, later), attempts_of(database, later)) == ("queued", [])
    row, attempt = run_of(database, waits), attempt_of(database, waits)
    assert (row["status"], row["attempts"], row["releases"]) == ("queued", 0, 1)
    assert attempt["outcome"] == "released"
    assert (status_of(database, dropped), attempt_of(database, dropped)["outcome"]) == ("cancelled", "dropped")
    assert jobrunner.leftover_processes() == []
    assert not any(map(is_working, pids))


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
    tick = jobrunner.start("tick", env=LEASE)
    pids = family(app, run_id)
    os.kill(tick.pid, signal.SIGKILL)
    tick.wait(10)
    # The kernel ends the command itself; what it started is left.
    wait_until_dead(pids[0])
    assert any(map(is_working, pids[1:]))
    database.wait_until("SELECT count(*) FROM job_recoverable", describe="the end of the lease")
    assert status_of(database, run_id) == "running"
    jobrunner.tick(env=LEASE)
    assert not any(map(is_working, pids))
    assert attempt_of(database, run_id)["outcome"] == "lease_expired"
    database.execute("UPDATE job_runs SET run_at = ? WHERE id = ? AND status = 'failed'", [database.now(), run_id])
    jobrunner.tick(env=LEASE)
    assert (status_of(database, run_id), run_of(database, run_id)["attempts"]) == ("succeeded", 2)


@contextlib.contextmanager
def standing_still(tick: "subprocess.Popen[str]") -> Iterator[None]:
    tick.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        tick.send_signal(signal.SIGCONT)


@pytest.mark.promise("P6", "P8")
def test_command_ends_itself_if_its_tick_stalls(jobrunner: Commands, app: App, database: Database) -> None:
    write_jobs(
        app,
        f"""
        [jobs.alone]
        command = {python(LOOPS)}
        timeout = "1s"
        kill_after = "500ms"
        """,
    )
    run_id = queue(database, "alone")
    tick = jobrunner.start("tick", "--grace", "500ms")
    pid = int(wait_for(lambda: app.path("at-work").exists() and app.path("at-work").read_text(), 20))
    with standing_still(tick):
        wait_until_dead(pid)
    check_ended(tick)
    attempt = attempt_of(database, run_id)
    assert (attempt["outcome"], attempt["error"]) == ("timed_out", "timed out after 1s")
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
    tick = jobrunner.start("tick", env=LEASE)
    pids = family(app, run_id)
    with standing_still(tick):
        database.wait_until("SELECT count(*) FROM job_recoverable", describe="the end of the lease")
        jobrunner.tick(env=LEASE)
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
    tick = jobrunner.start("tick", env=LEASE)
    pids = family(app, run_id)
    wait_until_running(database, run_id)
    database.execute(
        "UPDATE job_runs SET lease_token = 'another', locked_until = ? WHERE id = ?",
        [database.now() + timedelta(hours=1), run_id],
    )
    check_ended(tick)
    wait_until_dead(*pids)
    assert (status_of(database, run_id), attempts_of(database, run_id)) == ("running", [])
