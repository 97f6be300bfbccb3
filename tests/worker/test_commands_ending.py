"""How a command is stopped, with every process that it started."""

import signal

import pytest

from harness import App, Commands, Database, wait_for
from harness.at_work import BEATS
from harness.command_jobs import shell, write_jobs
from harness.families import FAMILY, WAITS, check_ended, family, wait_until_dead
from harness.handlers_rows import attempt_of, attempts_of, queue, run_of, status_of
from harness.processes import is_working
from harness.waiting import span, stretched, whole


@pytest.mark.promise("P6", "P8")
def test_processes_that_a_command_started_end_with_it(jobrunner: Commands, app: App, database: Database) -> None:
    limit = whole(4)
    write_jobs(
        app,
        f"""
        [jobs.waits]
        command = {shell(WAITS)}
        timeout = {limit}
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
        f"timed out after {limit}s",
    )


def test_daemon_that_outlives_its_command_blocks_no_run(jobrunner: Commands, app: App, database: Database) -> None:
    write_jobs(app, f"[jobs.starts_one]\ncommand = {shell('setsid sleep 600 & echo started')}\n")
    run_id = queue(database, "starts_one")
    # It has left the group, and still holds the output.
    jobrunner.tick(timeout=30)
    assert (status_of(database, run_id), attempt_of(database, run_id)["output"]) == ("succeeded", "started\n")


LADDER = {
    "polite": ("trap 'echo cleaned up; exit 0' TERM; echo at work; sleep 600", 20),
    "stubborn": ("trap '' TERM; echo at work; sleep 600", 1),
    "counting": ("trap 'echo asked' TERM; while :; do sleep 0.1; done", 2),
    "slow_to_clean": ("trap 'echo cleaning; sleep 600; echo cleaned up' TERM; sleep 600", 1),
}


@pytest.mark.promise("P6", "P8", "P12")
def test_command_is_asked_to_stop_once_and_then_killed(jobrunner: Commands, app: App, database: Database) -> None:
    limit = whole(1)
    jobs = [
        f"[jobs.{name}]\ncommand = {shell(script)}\ntimeout = {limit}\nkill_after = {stretched(kill_after)}\n"
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
    assert (polite["error"], status_of(database, runs["polite"])) == (f"timed out after {limit}s", "failed")
    for attempt in attempts.values():
        assert attempt["exit_signal"] == signal.SIGKILL
        assert attempt["error"] == f"timed out after {limit}s; it had to be killed"
    assert attempts["counting"]["output"].count("asked") == 1
    assert attempts["slow_to_clean"]["output"].endswith("cleaning\n")
    assert jobrunner.leftover_processes() == []


@pytest.mark.promise("P6")
def test_a_running_command_is_cancelled(jobrunner: Commands, app: App, database: Database) -> None:
    write_jobs(app, f'[jobs.waits]\ncommand = {shell(WAITS)}\nkill_after = "500ms"\n')
    run_id = queue(database, "waits")
    tick = jobrunner.start("tick", env=BEATS)
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
    tick = jobrunner.start("tick", "--grace", span(2))
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
