"""A write lock that is held for long, and connections that are cut: runs are late, and none is lost."""

import contextlib
import re
import time
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta

import pytest

from harness import App, Commands, Database, SQLiteDatabase, postgresql_only, sqlite_only, wait_for
from harness.at_work import BEATS
from harness.invariants import assert_consistent, insert_runs, outcomes, statuses, wait_for_exit
from harness.outages import STUBBORN
from harness.processes import has_open, is_working
from harness.waiting import span, stretched

# Where the system tells, the process is named.
PROCESS = r"process \d+ \(.*\) of the user \S+ holds the write lock of the file"
HOLDS = rf"jobrunner: [^\n]*(?:another process holds its lock|{PROCESS}); [^\n]*\n"


@contextlib.contextmanager
def write_lock(database: SQLiteDatabase) -> Iterator[None]:
    """Another process writes meanwhile, and is slow about it."""
    with contextlib.closing(database.connect()) as holder:
        holder.execute("BEGIN IMMEDIATE")
        yield
        holder.execute("ROLLBACK")


@pytest.mark.promise("P1", "P2", "P14", on="sqlite")
@sqlite_only
@pytest.mark.parametrize("lease", [4, 30])
def test_held_write_lock_delays_runs_and_loses_none(
    jobrunner: Commands, app: App, database: SQLiteDatabase, lease: int
) -> None:
    """While a tick begins, while it beats and claims, and while it finalizes: 1.5 s, longer than a call may hang."""
    held_seconds = stretched(1.5)
    (first,) = insert_runs(database, 1, "wait_for", {"path": str(app.path("go"))})
    with write_lock(database):
        process = jobrunner.start("tick", env={"JOBRUNNER_LEASE": span(lease)})
        wait_for(lambda: has_open(process.pid, database.path), 30, "the tick at the file")
        time.sleep(held_seconds)
        assert process.poll() is None, process.communicate()
    wait_for(app.trace, 30, "the handler")
    (second,) = insert_runs(database, 1)
    with write_lock(database):
        time.sleep(held_seconds)
    database.wait_until("SELECT status = 'succeeded' AS done FROM job_runs WHERE id = ?", [second], 30)
    with write_lock(database):
        app.release("go")
        time.sleep(held_seconds)
        assert process.poll() is None, process.communicate()
    assert wait_for_exit(process, 0) == ""
    assert [outcomes(database, run_id) for run_id in (first, second)] == [["succeeded"]] * 2
    assert len(app.trace()) == 2
    assert_consistent(database)


@pytest.mark.promise("P2", "P6", on="sqlite")
@sqlite_only
def test_a_write_lock_held_beyond_the_lease_ends_the_handler_before_it(
    jobrunner: Commands, app: App, database: SQLiteDatabase
) -> None:
    app.add(STUBBORN)
    (run_id,) = insert_runs(database, 1, "stubborn")
    process = jobrunner.start("tick", env={"JOBRUNNER_LEASE": span(4)})
    wait_for(app.trace, 30, "the handler")
    (handler,) = [line.pid for line in app.trace()]
    with write_lock(database):
        wait_for(lambda: not is_working(handler), 20, "the end of the handler")
        assert database.now() < database.value("SELECT locked_until FROM job_runs")
        assert re.fullmatch(HOLDS, wait_for_exit(process, 69, 60))
    assert outcomes(database, run_id) == []
    database.move_clock(timedelta(hours=1))
    jobrunner.tick()
    assert outcomes(database, run_id) == ["lease_expired"]
    assert_consistent(database)


@pytest.mark.promise("P1", "P2", "P14", on="postgresql")
@postgresql_only
def test_cut_connections_delay_runs_and_lose_none(jobrunner: Commands, app: App, database: Database) -> None:
    """As a pooler or a firewall would: again and again, while a tick claims, beats and finalizes."""
    ids = insert_runs(database, 100)
    process = jobrunner.start("tick", env=BEATS)
    for enough in (10, 30, 60):
        wait_for(lambda enough=enough: len(app.trace()) > enough, 30, "some runs")
        database.cut_connections()
    assert wait_for_exit(process, 0, 60) == ""
    assert Counter(line.run_id for line in app.trace()) == dict.fromkeys(ids, 1)
    assert statuses(database) == {"succeeded": 100}
    assert_consistent(database)
