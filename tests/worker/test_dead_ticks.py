"""A tick of this host that is certainly dead: the next tick of the host ends its runs at once and frees its places."""

import os
import shutil
import signal
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from harness import App, Commands, Database, PostgresDatabase, postgresql_only, wait_for
from harness.at_work import OWNER, running
from harness.dead_ticks import change, note_of, started
from harness.doc_tables import path_of
from harness.handlers_rows import queue, run_of, status_of
from harness.invariants import assert_consistent, outcomes
from harness.locks import open_transaction
from harness.processes import is_working
from harness.standstill import stop_between_transactions, stopped_at
from harness.stores import opening
from jobrunner.store.queue import expiries

HANDLERS = """
from jobrunner.backoff import fixed


@job("soon", backoff=fixed("2s", jitter=0))
def soon(ctx: Context, path: str):
    wait_for(ctx, path)


@job("late", backoff=fixed("2h", jitter=0))
def late(ctx: Context, path: str):
    wait_for(ctx, path)


@job("by_key", concurrency_key="customer", max_running_per_key=1)
def by_key(ctx: Context, path: str, customer: int):
    wait_for(ctx, path)


@job("asynchronous", timeout="5m", concurrency=1)
async def asynchronous(ctx: Context, path: str):
    import asyncio

    leave_trace(ctx)
    while not os.path.exists(path):
        await asyncio.sleep(0.01)
"""
COMMAND = """
[jobs.command]
command = ["/bin/sh", "-c", 'echo "$JOBRUNNER_RUN_ID 1 $$" >> "$TRACE_FILE"; while [ ! -e {go} ]; do sleep 0.05; done']
concurrency = 1
"""
HOW_IT_WORKS = path_of("how-it-works.md")
KINDS = ("wait_for", "by_key", "asynchronous", "command")


@pytest.fixture(autouse=True)
def more_handlers(app: App) -> None:
    app.add(HANDLERS)
    app.path("jobrunner.toml").write_text(COMMAND.format(go=app.path("go")))


def payload_of(job_type: str, app: App) -> dict[str, object]:
    return (
        {}
        if job_type == "command"
        else {"path": str(app.path("go"))} | ({"customer": 7} if job_type == "by_key" else {})
    )


def at_work(jobrunner: Commands, app: App, runs: int = 1, *options: str) -> "subprocess.Popen[str]":
    """A tick with a lease of a minute, once so many of its handlers are at work."""
    before = len(app.trace())
    tick = jobrunner.start("tick", *options)
    wait_for(lambda: len(app.trace()) == before + runs, 20, "the handlers")
    return tick


def kill(tick: "subprocess.Popen[str]") -> None:
    tick.kill()
    assert tick.wait(10) == -signal.SIGKILL


def run_of_a_killed_tick(jobrunner: Commands, app: App, database: Database) -> int:
    run_id = queue(database, "wait_for", {"path": str(app.path("go"))})
    kill(at_work(jobrunner, app))
    return run_id


@pytest.mark.promise("P1", "P6", "P7", "P12")
@pytest.mark.parametrize("job_type", KINDS)
def test_killed_tick_holds_no_place_of_its_host_its_type_or_its_key_after_the_next_tick_of_its_host(
    jobrunner: Commands, app: App, database: Database, job_type: str
) -> None:
    first, second = (queue(database, job_type, payload_of(job_type, app)) for _ in range(2))
    kill(at_work(jobrunner, app, 1, "--concurrency", "1"))
    app.release("go")
    jobrunner.tick("--concurrency", "1")
    assert (status_of(database, first), outcomes(database, first)) == ("failed", ["lease_expired"])
    assert run_of(database, first)["last_error"].endswith("was killed before the end of the run was written")
    assert (status_of(database, second), outcomes(database, second)) == ("succeeded", ["succeeded"])
    assert jobrunner.leftover_processes() == []
    assert {path.name.partition("-")[0] for path in jobrunner.state_dir.iterdir()} == {"last"}
    assert_consistent(database)


@pytest.mark.promise("P1", "P6")
@pytest.mark.parametrize("host", [None, "another"], ids=["at once by its host", "after its lease by another"])
def test_run_of_a_killed_tick_is_tried_again_after_the_backoff_of_its_own_type(
    jobrunner: Commands, app: App, database: Database, host: str | None
) -> None:
    """As the page says of a tick that is killed while the handler works."""
    (row,) = (line for line in HOW_IT_WORKS.read_text().splitlines() if line.startswith("| while the handler works"))
    assert "if only the tick was killed, when the next tick of the same host begins" in row
    assert "after the backoff of its type" in row
    runs = [queue(database, name, {"path": str(app.path("go"))}) for name in ("soon", "late", "wait_for")]
    kill(at_work(jobrunner, app, 3))
    # A host that knows none of these types.
    env: dict[str, str | None] = {"JOBRUNNER_IMPORT": None, "JOBRUNNER_APP_DIR": None}
    if host is not None:
        database.execute("UPDATE job_runs SET locked_until = ?", [database.now()])
        env |= {"JOBRUNNER_HOST": host, "JOBRUNNER_STATE_DIR": str(app.path("state"))}
    jobrunner.tick(env=env)
    assert [outcomes(database, run_id) for run_id in runs] == [["lease_expired"]] * 3
    rows = [run_of(database, run_id) for run_id in runs]
    soon, late, default = ((row["run_at"] - row["failed_at"]).total_seconds() for row in rows)
    assert (soon, late) == (2, 7200)
    assert 48 <= default <= 72


@pytest.mark.promise("P2")
def test_stopped_tick_keeps_its_runs_while_its_lease_lasts(jobrunner: Commands, app: App, database: Database) -> None:
    run_id = queue(database, "wait_for", {"path": str(app.path("go"))})
    tick = at_work(jobrunner, app)
    stop_between_transactions(tick, database)
    jobrunner.tick()
    assert (status_of(database, run_id), is_working(app.trace()[0].pid)) == ("running", True)
    app.release("go")
    tick.send_signal(signal.SIGCONT)
    assert tick.communicate(timeout=30) == ("", "")
    assert outcomes(database, run_id) == ["succeeded"]


@pytest.mark.promise("P2", "P6")
@pytest.mark.parametrize("doubt", ["boot", "namespace", "node", "older", "alive", "unknown", "gone"])
def test_tick_that_may_be_alive_keeps_its_runs_until_its_lease_is_over(
    jobrunner: Commands, app: App, database: Database, doubt: str
) -> None:
    """Another boot or machine, another container of this kernel, an older version, a living process, or no note."""
    run_id = run_of_a_killed_tick(jobrunner, app, database)
    note = note_of(jobrunner.state_dir)
    if doubt == "gone":
        shutil.rmtree(jobrunner.state_dir)
    elif doubt == "alive":
        change(note, pid=os.getpid(), started=started(os.getpid()))
    elif doubt == "older":
        change(note, namespace="")
    elif doubt == "unknown":
        note.unlink()
    else:
        change(note, **{doubt: "another"})
    jobrunner.tick()
    assert status_of(database, run_id) == "running"
    database.move_clock(timedelta(minutes=2))
    jobrunner.tick()
    assert outcomes(database, run_id) == ["lease_expired"]


@pytest.mark.promise("P2", "P7")
def test_number_of_a_dead_tick_that_is_in_use_again_does_not_keep_its_runs(
    jobrunner: Commands, app: App, database: Database
) -> None:
    run_id = run_of_a_killed_tick(jobrunner, app, database)
    change(note_of(jobrunner.state_dir), pid=os.getpid())
    jobrunner.tick()
    assert outcomes(database, run_id) == ["lease_expired"]


@pytest.mark.promise("P1", "P7")
@pytest.mark.parametrize("point", ["recover.before_commit", "recover.committed"])
@pytest.mark.parametrize(("action", "status"), [("kill", -signal.SIGKILL), ("cut", 69)])
def test_tick_that_ends_while_it_recovers_a_killed_one_loses_and_repeats_nothing(
    jobrunner: Commands, app: App, database: Database, point: str, action: str, status: int
) -> None:
    run_id = run_of_a_killed_tick(jobrunner, app, database)
    assert jobrunner.tick(env={"JOBRUNNER_FAULT": f"{point}={action}"}, check=False).returncode == status
    jobrunner.tick()
    assert (status_of(database, run_id), outcomes(database, run_id)) == ("failed", ["lease_expired"])
    assert not list(jobrunner.state_dir.glob("tick-*"))
    assert_consistent(database)


@pytest.mark.promise("P2", "P7")
def test_two_ticks_that_find_the_same_killed_tick_charge_its_run_once(
    jobrunner: Commands, app: App, database: Database
) -> None:
    run_id = run_of_a_killed_tick(jobrunner, app, database)
    fault = {"JOBRUNNER_FAULT": "recover.committed=stop", "JOBRUNNER_FAULT_TRACE": str(app.path("faults"))}
    first = jobrunner.start("tick", env=fault)
    stopped_at(app)
    queue(database, "echo")
    jobrunner.tick()
    # The first one still has the page of the killed one. The note is not needed any more, since no run is held.
    assert {path.suffix for path in jobrunner.state_dir.glob("tick-*")} >= {".page"}
    first.send_signal(signal.SIGCONT)
    assert first.communicate(timeout=30) == ("", "")
    assert outcomes(database, run_id) == ["lease_expired"]
    assert not list(jobrunner.state_dir.glob("tick-*"))


@postgresql_only
@pytest.mark.promise("P7", on="postgresql")
@pytest.mark.parametrize(("point", "ends"), [("claim.committed", ["succeeded"]), ("attempt.ended", ["lease_expired"])])
def test_run_of_a_killed_tick_whose_row_is_locked_is_dealt_with_by_a_later_tick(
    jobrunner: Commands, app: App, database: PostgresDatabase, point: str, ends: list[str]
) -> None:
    run_id = queue(database, "append", max_attempts=3)
    jobrunner.killed_at(point)
    with open_transaction(database, "SELECT id FROM job_runs WHERE id = ANY(%s) FOR UPDATE", [run_id]):
        jobrunner.tick()
        assert (status_of(database, run_id), outcomes(database, run_id)) == ("running", [])
    jobrunner.tick()
    assert outcomes(database, run_id) == ends
    assert not list(jobrunner.state_dir.glob("tick-*"))


@pytest.mark.promise("P1", "P7")
def test_tick_of_another_database_leaves_what_it_knows_of_a_killed_tick_to_the_ticks_of_its_database(
    jobrunner: Commands, app: App, database: Database, tmp_path: Path
) -> None:
    """The state folder is that of the user, whatever databases his ticks use."""
    other = {"JOBRUNNER_DATABASE_URL": f"sqlite:///{tmp_path}/other.db"}
    jobrunner("migrate", env=other)
    queue(database, "wait_for", {"path": str(app.path("go"))})
    waiting = queue(database, "append", max_attempts=1)
    jobrunner.killed_at("attempt.handed_over", "--concurrency", "1")
    jobrunner.tick(env=other)
    app.release("go")
    jobrunner.tick()
    assert status_of(database, waiting) == "succeeded"
    assert database.value("SELECT count(*) FROM job_runs WHERE status = 'running'") == 0
    assert not list(jobrunner.state_dir.glob("tick-*"))


@pytest.mark.promise("P2")
def test_run_that_has_another_owner_by_now_is_not_ended_as_one_of_the_dead_owner(database: Database) -> None:
    mine, other = running(database, 2)
    database.execute("UPDATE job_runs SET locked_by = 'here:2:b' WHERE id = ?", [other.run_id])
    with opening(database, patience_seconds=20) as open_one:
        ended = open_one().write(lambda each: expiries.recover_of(each, OWNER, [mine.run_id, other.run_id]))
    assert [each.run_id for each in ended] == [mine.run_id]
    assert [status_of(database, each.run_id) for each in (mine, other)] == ["failed", "running"]


def test_health_and_status_name_a_killed_tick_from_which_runs_wait_until_the_next_tick_of_its_host(
    jobrunner: Commands, app: App, database: Database
) -> None:
    run_id = queue(database, "wait_for", {"path": str(app.path("go"))})
    tick = at_work(jobrunner, app)
    elsewhere = {"JOBRUNNER_STATE_DIR": str(app.path("state"))}
    assert jobrunner("health", "--only", "silent_ticks").stdout == "ok: nothing is wrong\n"
    kill(tick)
    # The host itself knows it at once, another one when half of the lease is over.
    assert jobrunner("health", "--only", "silent_ticks", env=elsewhere).stdout == "ok: nothing is wrong\n"
    assert jobrunner("health", "--only", "silent_ticks", check=False).returncode == 1
    database.move_clock(timedelta(seconds=31))
    done = jobrunner("health", "--only", "silent_ticks", env=elsewhere, check=False)
    assert done.returncode == 1
    assert done.stdout.startswith("WARNING silent_ticks: killed, stalled or cut off: no lease was renewed by the tick ")
    assert f":{tick.pid}:" in done.stdout
    assert f"(1 run, such as run {run_id}, wait for the next tick of " in done.stdout
    assert "WARNING    killed, stalled or cut off: " in jobrunner("status").stdout
    jobrunner.tick()
    assert jobrunner("health", "--only", "silent_ticks").stdout == "ok: nothing is wrong\n"
