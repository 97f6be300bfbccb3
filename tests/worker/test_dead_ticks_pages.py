"""What the page of a dead tick says is used up before it is forgotten, and one dead tick keeps no other waiting."""

import os
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from harness import App, Commands, Database, PostgresDatabase, postgresql_only, wait_for
from harness.at_work import running
from harness.dead_ticks import change, note_of, started
from harness.handlers_rows import queue, status_of
from harness.idle_ticks import quiet_hour
from harness.invariants import assert_consistent, insert_runs, outcomes, read_log
from harness.locks import wait_for_lock
from harness.stores import opening
from harness.waiting import span, stretched
from jobrunner.children.begun_page import Abandoned, abandoned, is_any_abandoned
from jobrunner.children.proc import boot_id
from jobrunner.model import Policy
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.queue import claims
from jobrunner.store.queue.claims import ClaimRequest

FORKS = """
@job("forks")
def forks(ctx: Context, path: str):
    if os.fork() == 0:
        time.sleep(60)
    wait_for(ctx, path)

@job("leaves")
def leaves(ctx: Context, path: str):
    if os.fork() == 0:
        os.setsid()
        time.sleep(60)
    wait_for(ctx, path)
"""
DOUBTS = ("read before its end", "of another container", "gone")


def kill_at(point: str, jobrunner: Commands, *options: str, **env: str) -> None:
    jobrunner.killed_at(point, *options, env=env)
    folder = env.get("JOBRUNNER_STATE_DIR", jobrunner.state_dir)
    # Until then one of its children lives, and has the lock.
    wait_for(lambda: is_any_abandoned(folder), 20, "the lock of its page")


@contextmanager
def note_in_doubt(jobrunner: Commands, doubt: str) -> Iterator[None]:
    """While the block runs, the note of the one killed tick does not prove that it is dead."""
    note = note_of(jobrunner.state_dir)
    text = note.read_text()
    # This test is alive, as the tick was when its note was read.
    changes = {DOUBTS[0]: {"pid": os.getpid(), "started": started(os.getpid())}, DOUBTS[1]: {"namespace": "another"}}
    if doubt in changes:
        change(note, **changes[doubt])
    else:
        note.unlink()
    yield
    if doubt in changes:
        note.write_text(text)


def page_of(jobrunner: Commands) -> Abandoned:
    (page,) = abandoned(jobrunner.state_dir, boot_id())
    return page


@contextmanager
def commit_under_way(database: Database, page: Abandoned) -> Iterator[None]:
    """While the block runs, the claim that the killed tick has sent is not committed; at its end it is."""
    (token,) = page.never_begun
    assert page.never_begun[token] is None
    policies = [Policy("append")]
    request = ClaimRequest(page.owner, token, policies, limit=1, permits=1, lease=timedelta(minutes=1))
    has_claimed, may_commit = threading.Event(), threading.Event()

    def work(connection: Connection) -> None:
        assert claims.claim(connection, request).runs
        has_claimed.set()
        assert may_commit.wait(stretched(60))

    with opening(database, patience_seconds=20) as open_one:
        claim = threading.Thread(target=open_one().write, args=[work])
        claim.start()
        try:
            assert has_claimed.wait(stretched(20))
            yield
        finally:
            may_commit.set()
            claim.join(stretched(20))


@postgresql_only
@pytest.mark.promise("P1", "P7", on="postgresql")
@pytest.mark.parametrize("doubt", DOUBTS)
def test_claim_whose_commit_is_under_way_is_not_charged_though_the_note_of_its_killed_tick_proves_nothing(
    jobrunner: Commands, database: PostgresDatabase, doubt: str
) -> None:
    run_id = queue(database, "append", max_attempts=1)
    kill_at("claim.before_commit", jobrunner)
    with note_in_doubt(jobrunner, doubt):
        with commit_under_way(database, page_of(jobrunner)):
            tick = jobrunner.start("tick")
            # What returns the claim of the killed tick, or a claim.
            wait_for_lock(database)
        assert tick.communicate(timeout=30) == ("", "")
    jobrunner.tick()
    assert (status_of(database, run_id), outcomes(database, run_id)) == ("succeeded", ["succeeded"])
    assert not list(jobrunner.state_dir.glob("*.page"))


@pytest.mark.promise("P1", "P7")
@pytest.mark.parametrize("doubt", DOUBTS)
def test_runs_never_begun_are_not_charged_though_a_tick_of_another_database_has_seen_the_page_first(
    jobrunner: Commands, app: App, database: Database, tmp_path: Path, doubt: str
) -> None:
    other = {"JOBRUNNER_DATABASE_URL": f"sqlite:///{tmp_path}/other.db"}
    jobrunner("migrate", env=other)
    runs = insert_runs(database, 3, "append", max_attempts=1)
    kill_at("claim.committed", jobrunner)
    with note_in_doubt(jobrunner, doubt):
        jobrunner.tick(env=other)
        database.move_clock(timedelta(minutes=2))
        jobrunner.tick()
    assert [outcomes(database, run_id) for run_id in runs] == [["succeeded"]] * 3


@pytest.mark.promise("P1", "P7")
def test_tick_that_dies_after_its_note_was_read_is_recovered_by_the_next_tick_even_an_idle_one(
    jobrunner: Commands, database: Database
) -> None:
    run_id = queue(database, "append")
    kill_at("attempt.ended", jobrunner)
    with note_in_doubt(jobrunner, DOUBTS[0]):
        jobrunner.tick()
        assert status_of(database, run_id) == "running"
    jobrunner.tick()
    assert outcomes(database, run_id) == ["lease_expired"]
    assert not list(jobrunner.state_dir.glob("tick-*"))


def kill_at_work(job_type: str, jobrunner: Commands, app: App, database: Database) -> int:
    """The run of a tick that was killed while nothing else is due, once what its handler has forked is alone."""
    app.add(FORKS)
    quiet_hour(database)
    run_id = queue(database, job_type, {"path": str(app.path("go"))})
    tick = jobrunner.start("tick")
    wait_for(app.trace, 20, "the handler")
    tick.kill()
    tick.wait(10)
    wait_for(lambda: len(jobrunner.leftover_processes()) == 1, 20, "the end of the handler")
    assert not is_any_abandoned(jobrunner.state_dir)
    return run_id


@pytest.mark.promise("P1", "P6")
def test_idle_tick_sees_a_killed_tick_whose_page_is_held_by_what_its_handler_has_forked(
    jobrunner: Commands, app: App, database: Database
) -> None:
    run_id = kill_at_work("forks", jobrunner, app, database)
    jobrunner.tick()
    assert (outcomes(database, run_id), jobrunner.leftover_processes()) == (["lease_expired"], [])


def test_killed_tick_whose_page_nobody_can_have_is_forgotten_when_it_holds_no_run_any_more(
    jobrunner: Commands, app: App, database: Database
) -> None:
    run_id = kill_at_work("leaves", jobrunner, app, database)
    jobrunner.tick()
    assert status_of(database, run_id) == "running"
    database.move_clock(timedelta(minutes=2))
    jobrunner.tick()
    assert outcomes(database, run_id) == ["lease_expired"]
    jobrunner.tick()
    assert len(jobrunner.leftover_processes()) == 1
    assert list(jobrunner.state_dir.glob("tick-*.json")) == []


@pytest.mark.promise("P1", "P7")
def test_page_of_another_machine_that_shares_the_folder_is_left_to_it(jobrunner: Commands, database: Database) -> None:
    run_id = queue(database, "append", max_attempts=1)
    kill_at("claim.committed", jobrunner)
    (page,) = jobrunner.state_dir.glob("*.page")
    content = page.read_bytes()
    names = (boot_id() + "\0" + os.uname().nodename).encode()
    page.write_bytes(content.replace(names, bytes(each ^ 1 if each else 0 for each in names), 1))
    note = note_of(jobrunner.state_dir)
    text = note.read_text()
    change(note, node="another", boot="another")
    jobrunner.tick()
    assert page.exists()
    page.write_bytes(content)
    note.write_text(text)
    jobrunner.tick()
    assert outcomes(database, run_id) == ["succeeded"]


def move_notes(source: Path, target: Path, mark: str) -> None:
    """Have a killed tick's note and page lie in another folder, under another mark."""
    (page,) = source.glob("*.page")
    moved = note_of(source).replace(target / note_of(source).name)
    change(moved, mark=mark)
    page.rename(target / f"tick-{mark}.page")


@postgresql_only
@pytest.mark.promise("P1", "P7", on="postgresql")
def test_dead_tick_that_cannot_be_dealt_with_now_keeps_neither_another_one_nor_expired_runs_waiting(
    jobrunner: Commands, app: App, database: PostgresDatabase
) -> None:
    run_id = queue(database, "append")
    kill_at("attempt.ended", jobrunner)
    queue(database, "append")
    elsewhere = app.path("elsewhere")
    kill_at("claim.before_commit", jobrunner, JOBRUNNER_STATE_DIR=str(elsewhere))
    # First by its name.
    move_notes(elsewhere, jobrunner.state_dir, "00000000")
    (lease,) = running(database, 1, host="there", locked_by="there:1:a", locked_until=database.now())
    log = app.path("log")
    with closing(database.connect()) as session:
        session.execute("BEGIN")
        session.execute("SELECT name FROM job_locks WHERE name LIKE 'places of %' FOR UPDATE")
        # Without handlers it claims nothing, so it ends at once.
        env = {
            "JOBRUNNER_LEASE": span(1),
            "JOBRUNNER_LOG": str(log),
            "JOBRUNNER_IMPORT": None,
            "JOBRUNNER_APP_DIR": None,
        }
        done = jobrunner.tick(env=env, check=False)
        assert (outcomes(database, run_id), outcomes(database, lease.run_id)) == (["lease_expired"], ["lease_expired"])
    assert (done.returncode, done.stderr.count("\n")) == (69, 1)
    (line,) = [line for line in read_log(log) if line["event"] == "dead tick"]
    assert line["result"] == "the next tick tries it again"
    assert [path.name for path in jobrunner.state_dir.glob("*.page")] == ["tick-00000000.page"]
    jobrunner.tick()
    assert not list(jobrunner.state_dir.glob("tick-*"))
    assert_consistent(database)


@pytest.mark.promise("P1", "P7")
def test_runs_never_begun_by_a_tick_of_another_container_are_returned_by_an_idle_tick(
    jobrunner: Commands, database: Database
) -> None:
    """Each container of a machine has a name and PID namespace of its own, and the boot of the machine."""
    run_id = queue(database, "append", max_attempts=1)
    kill_at("claim.committed", jobrunner)
    (page,) = jobrunner.state_dir.glob("*.page")
    node = os.uname().nodename.encode()
    page.write_bytes(page.read_bytes().replace(b"\0" + node, b"\0" + b"x" * len(node), 1))
    change(note_of(jobrunner.state_dir), node="x", namespace="another")
    jobrunner.tick()
    assert outcomes(database, run_id) == ["succeeded"]
    assert not page.exists()
