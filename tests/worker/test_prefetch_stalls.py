"""Queued runs behind a run whose tick stalls, stops or dies: no other owner's is begun, and none is lost."""

import os
import signal
from datetime import timedelta

import pytest

from harness import App, Commands, Database, PostgresDatabase, wait_for
from harness.handlers_rows import status_of
from harness.invariants import assert_consistent, insert_runs, snapshot, wait_for_exit
from harness.prefetch_jobs import (
    KINDS,
    ONE,
    QUICK,
    begun,
    begun_of,
    ends,
    make_all_due,
    of_kind,
    queue_head,
    sqlite_file,
    wait_for_queue,
    warm_up,
)
from harness.stops import wait_until_gone
from harness.waiting import span, stretched


@pytest.fixture(autouse=True, params=KINDS)
def quick_handlers(app: App, request: pytest.FixtureRequest) -> None:
    app.add(of_kind(request.param, QUICK))


@pytest.mark.promise("P2", "P6")
def test_a_child_whose_parent_has_stalled_begins_no_run_of_another_owner(
    jobrunner: Commands, app: App, database: Database
) -> None:
    settings = {**ONE, **sqlite_file(database), "JOBRUNNER_LEASE": span(3), "JOBRUNNER_HOST": "stopped"}
    warm_up(database)
    go = str(app.path("go"))
    head = queue_head(database, act="signal", number=signal.SIGSTOP, path=go)
    followers = insert_runs(database, 20, "quick")
    tick = jobrunner.start("tick", env=settings)
    waiting = wait_for_queue(app, database, head, followers)
    assert waiting
    count = f"SELECT count(*) FROM job_recoverable WHERE id IN ({', '.join('?' * len(waiting))})"
    wait_for(lambda: database.value(count, waiting) == len(waiting), 30, "the end of all leases")
    other = {**settings, "JOBRUNNER_HOST": "other", "JOBRUNNER_LEASE": "2m"}
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


@pytest.mark.promise("P2")
@pytest.mark.parametrize("is_learned", ["before it begins", "after it has ended"])
def test_queued_run_that_alone_has_another_owner_is_left_to_it_and_the_others_end(
    jobrunner: Commands, app: App, database: Database, is_learned: str
) -> None:
    warm_up(database)
    is_before = is_learned == "before it begins"
    # The head ends as soon as the queue is recalled, so there is a place for those that belong to this tick.
    path = str(app.path("trace-queue-end" if is_before else "go"))
    head = queue_head(database, act="signal", number=signal.SIGSTOP, path=path)
    followers = insert_runs(database, 20, "quick")
    lease_seconds = stretched(6)
    settings = {**ONE, **sqlite_file(database), "JOBRUNNER_LEASE": f"{lease_seconds:.2f}s"}
    tick = jobrunner.start("tick", env=settings)
    lost = wait_for_queue(app, database, head, followers)[0]
    for table, worker in ("job_runs", "locked_by"), ("job_attempts", "worker"):
        column = "id" if table == "job_runs" else "run_id"
        database.execute(
            f"UPDATE {table} SET host = 'other', {worker} = 'other:1:a', lease_token = ? WHERE {column} = ?",
            ["f" * 32, lost],
        )
    before = snapshot(database, lost)
    if not is_before:
        app.release("go")
        wait_for(app.path("trace-queue-end").exists, 20, "the child to take what is in its queue")
    # After a quarter of its lease the tick first asks which leases it has lost. Half of it, by the load at its start:
    # beside a load that has grown since, the stall was too short.
    late = "SELECT locked_until < ? AS is_late FROM job_runs WHERE id = ?"
    half = timedelta(seconds=lease_seconds / 2)
    wait_for(lambda: database.value(late, [database.now() + half, head]), 30, "the stall")
    os.kill(tick.pid, signal.SIGCONT)
    wait_for_exit(tick, 0)
    assert snapshot(database, lost) == before
    others = [run_id for run_id in (head, *followers) if run_id != lost]
    assert ends(database, others) == {("succeeded", 1, 1): 20}
    assert begun_of(app, followers) == dict.fromkeys(others[1:] if is_before else followers, 1)
    assert_consistent(database)


@pytest.mark.parametrize("comes", ["a pause", "a limit", "a deadline"])
def test_pause_limit_or_deadline_that_comes_when_runs_are_queued_holds_for_those_that_are_recalled(
    jobrunner: Commands, app: App, database: Database, comes: str
) -> None:
    warm_up(database)
    head = queue_head(database, act="signal", number=signal.SIGSTOP, path=str(app.path("go")))
    followers = insert_runs(database, 20, "quick")
    tick = jobrunner.start("tick", env=ONE | sqlite_file(database))
    wait_for_queue(app, database, head, followers)
    if comes == "a pause":
        jobrunner("pause", "--type", "quick")
    elif comes == "a limit":
        jobrunner("limit", "quick", "--max-running", 1, "--reason", "it is too much")
    else:
        database.execute("UPDATE job_runs SET start_deadline_at = ? WHERE id <> ?", [database.now(), head])
    os.kill(tick.pid, signal.SIGCONT)
    wait_for(lambda: ends(database, followers) == {("queued", 0, 0): 20}, 20, database.describe)
    jobrunner.tick(env={**ONE, "JOBRUNNER_HOST": "other"})
    assert ends(database, followers) == {("dead" if comes == "a deadline" else "queued", 0, 0): 20}
    assert not begun_of(app, followers)
    app.release("go")
    wait_for_exit(tick, 0)
    assert_consistent(database)


@pytest.mark.promise("P9")
def test_a_stop_signal_returns_the_queued_runs_at_once(jobrunner: Commands, app: App, database: Database) -> None:
    warm_up(database)
    head = queue_head(database, act="signal", number=signal.SIGTERM, path=str(app.path("go")))
    followers = insert_runs(database, 20, "quick")
    tick = jobrunner.start("tick", "--grace", "60s", env=ONE)
    wait_for(app.path(f"trace-queue-{head}").exists, 30, "a queue behind the head")
    # Else the claim of those that are queued may not be committed yet.
    is_claimed = "SELECT count(*) FROM job_runs WHERE status = 'queued' AND claimed_at IS NOT NULL"
    wait_for(lambda: database.value(is_claimed), 20, database.describe)
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
    settings = {**ONE, "JOBRUNNER_LEASE": span(2)}
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
        jobrunner.tick("--type", "echo", env=settings)
        assert ends(database, [head]).keys() == {("failed", number, number)}
        make_all_due(database)
    jobrunner.tick(env=settings)
    assert ends(database, [head]) == {("succeeded", 3, 3): 1}
    # The ticks of their host have proven each time that they had not begun.
    assert ends(database, followers) == {("succeeded", 1, 1): 20}
    assert begun_of(app, followers) == dict.fromkeys(followers, 1)
    assert_consistent(database)
