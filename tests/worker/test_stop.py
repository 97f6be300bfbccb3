"""A clean stop: the tick claims no more, gives its handlers a grace period, returns the rest, and exits."""

import contextlib
import json
import os
import signal
import subprocess

import pytest

from harness import App, Commands, Database, wait_for
from harness.cancels import OBEDIENT
from harness.handlers_rows import attempt_of, attempts_of, queue, run_of, status_of, wait_until_running
from harness.processes import command_line
from harness.stops import check_clean_exit, log_lines, start_tick, wait_until_at_work
from harness.waiting import span, stretched

HANDLERS = f"""{OBEDIENT}

@job("deaf", timeout="5m", kill_after="4s")
def deaf(ctx: Context):
    leave_trace(ctx)
    try:
        time.sleep(600)
    finally:
        open(os.environ["TRACE_FILE"] + "-cleaned", "w").close()


@job("stubborn", timeout="5m", kill_after="600ms")
def stubborn(ctx: Context):
    import signal
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    leave_trace(ctx)
    time.sleep(600)
"""

STOPS = [signal.SIGTERM, signal.SIGINT]


@pytest.mark.promise("P9")
@pytest.mark.parametrize("stop", STOPS)
def test_handlers_may_finish_within_the_grace_period_but_nothing_is_claimed(
    stop: signal.Signals, jobrunner: Commands, app: App, database: Database
) -> None:
    at_work = queue(database, "wait_for", {"path": str(app.path("go"))}, priority=1)
    waiting = [queue(database, "append") for _ in range(3)]
    tick = start_tick(jobrunner, "--grace", "60s", "--concurrency", "1")
    wait_until_at_work(app, at_work)
    tick.send_signal(stop)
    app.release("go")
    check_clean_exit(jobrunner, tick)
    assert (status_of(database, at_work), attempt_of(database, at_work)["outcome"]) == ("succeeded", "succeeded")
    for run_id in waiting:
        assert (status_of(database, run_id), attempts_of(database, run_id)) == ("queued", [])
    assert log_lines(app, "stopped") == []


@pytest.mark.promise("P9")
@pytest.mark.parametrize("stop", STOPS)
def test_run_not_done_within_the_grace_is_returned_uncharged(
    stop: signal.Signals, jobrunner: Commands, app: App, database: Database
) -> None:
    app.add(HANDLERS)
    runs = {name: queue(database, name) for name in ("obedient", "deaf", "stubborn")}
    short = queue(database, "wait_for", {"path": str(app.path("go"))})
    tick = start_tick(jobrunner, "--grace", span(1))
    wait_until_at_work(app, *runs.values(), short)
    tick.send_signal(stop)
    app.release("go")
    check_clean_exit(jobrunner, tick)
    assert status_of(database, short) == "succeeded"
    for run_id in runs.values():
        row, attempt = run_of(database, run_id), attempt_of(database, run_id)
        assert (row["status"], row["attempts"], row["releases"]) == ("queued", 0, 1)
        assert (attempt["outcome"], attempt["error_type"], attempt["attempt"]) == ("released", "released", 1)
        assert "the tick received a stop signal" in attempt["error"]
        assert row["run_at"] <= database.now()
    assert app.path("trace-cleaned").exists()
    signals = {name: attempt_of(database, run_id)["exit_signal"] for name, run_id in runs.items()}
    assert signals == {"obedient": None, "deaf": None, "stubborn": signal.SIGKILL}
    warnings = log_lines(app, "stopped")
    assert sorted(line["run_id"] for line in warnings) == sorted(runs.values())
    assert {(line["level"], line["attempt"], line["result"]) for line in warnings} == {("warning", 1, "released")}
    assert {line["job_type"] for line in warnings} == set(runs)


@pytest.mark.promise("P9")
@pytest.mark.parametrize("stop", STOPS)
def test_second_stop_signal_ends_the_grace_at_once(
    stop: signal.Signals, jobrunner: Commands, app: App, database: Database
) -> None:
    app.add(HANDLERS)
    run_id = queue(database, "obedient")
    # Were the grace period waited for, the test would give up before.
    tick = start_tick(jobrunner, "--grace", "10m")
    wait_until_at_work(app, run_id)
    tick.send_signal(stop)
    with pytest.raises(subprocess.TimeoutExpired):
        tick.wait(1)
    assert status_of(database, run_id) == "running"
    tick.send_signal(stop)
    check_clean_exit(jobrunner, tick, 20)
    assert (status_of(database, run_id), run_of(database, run_id)["attempts"]) == ("queued", 0)


@pytest.mark.promise("P7", "P9")
def test_the_tenth_release_in_a_row_is_charged(jobrunner: Commands, app: App, database: Database) -> None:
    app.add(HANDLERS)
    ninth, tenth = queue(database, "obedient", releases=8), queue(database, "obedient", releases=9)
    last = queue(database, "obedient", releases=9, attempts=2, max_attempts=3)
    tick = start_tick(jobrunner, "--grace", "0s")
    wait_until_at_work(app, ninth, tenth, last)
    tick.send_signal(signal.SIGTERM)
    check_clean_exit(jobrunner, tick)
    found = {run_id: run_of(database, run_id) for run_id in (ninth, tenth, last)}
    ends = [(row["status"], row["attempts"], row["releases"], row["error_type"]) for row in found.values()]
    assert ends == [("queued", 0, 9, None), ("failed", 1, 0, "released"), ("dead", 3, 0, "released")]
    assert "10 times in a row" in found[tenth]["last_error"]
    assert found[tenth]["run_at"] > found[tenth]["failed_at"]


@pytest.mark.promise("P9")
def test_tick_stopped_before_its_claim_changes_nothing(jobrunner: Commands, app: App, database: Database) -> None:
    # The module holds the child in its import until the signal has been sent.
    app.write("slow", f"import os, time\nopen({str(app.path('importing'))!r}, 'w')\ntime.sleep(600)\n")
    app.imports = "slow"
    run_id = queue(database, "echo")
    tick = start_tick(jobrunner)
    wait_for(app.path("importing").exists, 20, "the import")
    tick.send_signal(signal.SIGTERM)
    check_clean_exit(jobrunner, tick)
    assert (status_of(database, run_id), attempts_of(database, run_id)) == ("queued", [])


@pytest.mark.promise("P9")
def test_when_the_budget_ends_no_more_is_claimed_and_handlers_are_waited_for(
    jobrunner: Commands, app: App, database: Database
) -> None:
    at_work = queue(database, "wait_for", {"path": str(app.path("go"))}, priority=1)
    waiting = queue(database, "append")
    budget = stretched(2)
    # Grace belongs to signals only.
    tick = start_tick(jobrunner, "--budget", f"{budget}s", "--grace", "0s", "--concurrency", "1")
    wait_until_running(database, at_work)
    began_at = database.value("SELECT started_at FROM job_ticks")
    wait_for(lambda: (database.now() - began_at).total_seconds() > 1.5 * budget, 20, "the end of the budget, and more")
    assert (tick.poll(), status_of(database, at_work)) == (None, "running")
    app.release("go")
    check_clean_exit(jobrunner, tick)
    assert (status_of(database, at_work), status_of(database, waiting)) == ("succeeded", "queued")
    assert log_lines(app, "stopped") == []
    jobrunner.tick()
    assert status_of(database, waiting) == "succeeded"


# What a command does when it is told, and what its run becomes with one attempt: "released" is uncharged.
TOLD: dict[str, tuple[str, str]] = {
    "dies": ("exec sleep 600", "released"),
    "fails": ("trap 'exit 1' TERM; touch $0; while :; do sleep 0.01; done", "released"),
    "says_so": ("trap 'exit 143' TERM; touch $0; while :; do sleep 0.01; done", "released"),
    "finishes": ("trap 'exit 0' TERM; touch $0; while :; do sleep 0.01; done", "succeeded"),
    "gives_up": ("trap 'exit 9' TERM; touch $0; while :; do sleep 0.01; done", "discarded"),
    "breaks": ("trap 'kill -SEGV $$' TERM; touch $0; while :; do sleep 0.01; done", "crashed"),
}


def write_commands(app: App) -> None:
    table = 'command = ["/bin/sh", "-c", {script}, "{ready}"]\nmax_attempts = 1\n{codes}\n'
    codes = {"says_so": "retry_codes = [75]", "gives_up": "discard_codes = [9]"}
    text = ""
    for name, (script, _) in TOLD.items():
        ready = app.path(f"ready-{name}")
        text += f"[jobs.{name}]\n" + table.format(script=json.dumps(script), ready=ready, codes=codes.get(name, ""))
    app.path("jobrunner.toml").write_text(text)


@pytest.mark.promise("P9", "P12")
@pytest.mark.parametrize("tick_first", [True, False], ids=["tick first", "tick last"])
def test_stop_of_the_whole_service_charges_no_run(
    jobrunner: Commands, app: App, database: Database, tick_first: bool
) -> None:
    """systemd's default KillMode, a reboot: every process of the service is sent SIGTERM, in whatever order."""
    app.add(HANDLERS.replace('@job("obedient"', '@job("obedient", max_attempts=1'))
    write_commands(app)
    runs = {name: queue(database, name) for name in (*TOLD, "obedient")}
    tick = start_tick(jobrunner, JOBRUNNER_CONCURRENCY="16")
    wait_until_at_work(app, runs["obedient"])
    for name in TOLD:
        if name != "dies":
            wait_for(app.path(f"ready-{name}").exists)
    wait_until_running(database, runs["dies"])
    others = [pid for pid in jobrunner.leftover_processes() if pid != tick.pid]
    assert len(others) > len(TOLD)
    for pid in [tick.pid, *others] if tick_first else [*others, tick.pid]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    check_clean_exit(jobrunner, tick)
    outcomes = {name: attempt_of(database, run_id)["outcome"] for name, run_id in runs.items()}
    assert outcomes == {**{name: outcome for name, (_, outcome) in TOLD.items()}, "obedient": "released"}
    charged = {name: run_of(database, run_id)["attempts"] for name, run_id in runs.items()}
    assert charged == {name: 0 if outcomes[name] == "released" else 1 for name in runs}


@pytest.mark.promise("P7", "P9")
def test_command_stopped_by_a_foreign_signal_is_charged(jobrunner: Commands, app: App, database: Database) -> None:
    write_commands(app)
    run_id = queue(database, "dies")
    tick = start_tick(jobrunner, JOBRUNNER_IMPORT="")
    wait_until_running(database, run_id)
    (pid,) = wait_for(lambda: [pid for pid in jobrunner.leftover_processes() if command_line(pid).startswith("sleep")])
    os.kill(pid, signal.SIGTERM)
    assert tick.wait(30) == 0
    assert (status_of(database, run_id), attempt_of(database, run_id)["outcome"]) == ("dead", "crashed")
