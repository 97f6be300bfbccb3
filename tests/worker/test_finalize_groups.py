"""Attempts that end at the same time are written together, and one bad result does not stop the others."""

import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

from harness import App, Commands, Database, PostgresDatabase, postgresql_only, wait_for
from harness.handlers_rows import queue
from harness.invariants import assert_consistent, insert_runs, outcomes, read_log, snapshot, statuses, wait_for_exit
from harness.obstacles import REFUSE, commits_wait, sessions
from harness.standstill import stop_between_transactions
from harness.waiting import span

GROUP = 30
MEMBER = '''
import asyncio
from pathlib import Path


@job("member", concurrency=40, timeout="5m", max_attempts=3)
async def member(ctx: Context, go: str, fails: bool = False, text: str = "as asked"):
    """Ends together with all the others: their reports lie before the tick when it goes on."""
    leave_trace(ctx)
    while not os.path.exists(go):
        await asyncio.sleep(0.01)
    with open(go + ".ended", "a") as ended:
        ended.write(".")
    if fails:
        raise RuntimeError(text)
    return ctx.run_id
'''


class Group:
    """A tick that is stopped while its handlers end, all of them: what it then finds, it writes as a group."""

    def __init__(self, jobrunner: Commands, app: App, database: Database) -> None:
        self.jobrunner, self.app, self.database = jobrunner, app, database
        self.log = app.path("log")
        app.add(MEMBER)

    def insert(self, count: int, **payload: Any) -> list[int]:
        return insert_runs(self.database, count, "member", {"go": str(self.app.path("go")), **payload})

    @contextmanager
    def stopped(self, count: int, *, others: int = 0, **env: str) -> Iterator["subprocess.Popen[str]"]:
        """While the block runs, ``count`` attempts have ended and nothing of it is written. ``others`` go on."""
        tick = self.jobrunner.start("tick", env={"JOBRUNNER_LOG": str(self.log), **env})
        wait_for(lambda: len(self.app.trace()) == count + others, 30, "the handlers")
        stop_between_transactions(tick, self.database)
        self.app.release("go")
        ended = self.app.path("go.ended")
        wait_for(lambda: ended.exists() and len(ended.read_text()) == count, 30, "the ends of the handlers")
        assert statuses(self.database) == {"running": count + others}
        yield tick
        os.kill(tick.pid, signal.SIGCONT)

    def told(self, what: str) -> list[int]:
        return [line["run_id"] for line in read_log(self.log) if line["event"] == what]


@pytest.fixture
def group(jobrunner: Commands, app: App, database: Database) -> Group:
    return Group(jobrunner, app, database)


@pytest.mark.promise("P1", "P2", "P6")
def test_a_tick_killed_before_its_group_is_committed_has_written_nothing(group: Group) -> None:
    ids = group.insert(GROUP)
    with group.stopped(GROUP, JOBRUNNER_FAULT="finalize.before_commit=kill") as tick:
        pass
    assert tick.wait(30) == -signal.SIGKILL
    assert statuses(group.database) == {"running": GROUP}
    assert group.database.query("SELECT id FROM job_attempts") == []
    group.database.move_clock(timedelta(hours=1))
    group.jobrunner.tick()
    assert [outcomes(group.database, run_id) for run_id in ids] == [["lease_expired"]] * GROUP
    group.database.move_clock(timedelta(hours=1))
    group.jobrunner.tick()
    assert statuses(group.database) == {"succeeded": GROUP}
    assert_consistent(group.database)


@pytest.mark.promise("P1", "P2", "P14")
def test_group_whose_connection_is_cut_before_the_commit_is_written_later(group: Group) -> None:
    ids = group.insert(GROUP)
    with group.stopped(GROUP, JOBRUNNER_FAULT="finalize.before_commit=cut") as tick:
        pass
    assert wait_for_exit(tick, 0) == ""
    assert [outcomes(group.database, run_id) for run_id in ids] == [["succeeded"]] * GROUP
    assert Counter(line.run_id for line in group.app.trace()) == dict.fromkeys(ids, 1)
    assert_consistent(group.database)


@pytest.mark.promise("P2")
def test_an_owner_learns_which_of_its_group_it_has_lost(group: Group) -> None:
    ids = group.insert(GROUP)
    with group.stopped(GROUP) as tick:
        taken = "UPDATE job_runs SET lease_token = ?, locked_by = 'new', host = 'new' WHERE id = ?"
        group.database.execute(taken, ["n" * 32, ids[7]])
        before = snapshot(group.database, ids[7])
    assert wait_for_exit(tick, 0) == ""
    assert snapshot(group.database, ids[7]) == before
    assert statuses(group.database) == {"succeeded": GROUP - 1, "running": 1}
    assert group.told("lease lost") == [ids[7]]
    assert sorted(group.told("succeeded")) == [run_id for run_id in ids if run_id != ids[7]]


@pytest.mark.promise("P14")
def test_unwritable_result_does_not_hold_back_its_group(group: Group) -> None:
    (poison,) = group.insert(1, fails=True, text="poison")
    others = group.insert(GROUP - 2)
    (refused,) = group.insert(1)
    condition = f"NEW.error LIKE '%poison%' OR NEW.run_id = {refused}"
    group.database.execute(REFUSE[group.database.name].format(condition=condition))
    with group.stopped(GROUP) as tick:
        pass
    assert "Traceback" not in tick.communicate(timeout=30)[1]
    assert [outcomes(group.database, run_id) for run_id in others] == [["succeeded"]] * len(others)
    assert sorted(group.told("scrubbed")) == [poison, refused]
    assert group.told("not finalized") == [refused]
    (row,) = group.database.query("SELECT outcome, error_type, error FROM job_attempts WHERE run_id = ?", [poison])
    assert row == {"outcome": "failed", "error_type": "unstorable", "error": "the error could not be stored as it was"}
    assert statuses(group.database) == {"succeeded": len(others), "failed": 1, "running": 1}


def test_a_cancel_request_changes_the_end_of_its_own_run_alone(group: Group) -> None:
    ids = group.insert(GROUP, fails=True)
    with group.stopped(GROUP) as tick:
        group.jobrunner("cancel", ids[3])
    assert wait_for_exit(tick, 0) == ""
    assert outcomes(group.database, ids[3]) == ["cancelled"]
    assert statuses(group.database) == {"failed": GROUP - 1, "cancelled": 1}
    assert_consistent(group.database)


@pytest.mark.promise("P2", "P14", on="postgresql")
@postgresql_only
def test_a_group_whose_commit_got_no_answer_is_found_to_be_applied(group: Group) -> None:
    ids = group.insert(GROUP)
    database = group.database
    assert isinstance(database, PostgresDatabase)
    with commits_wait(database, "NEW.status = 'succeeded'"):
        with group.stopped(GROUP, JOBRUNNER_LEASE=span(12)) as tick:
            pass
        wait_for(lambda: any(line["event"] == "finalize" for line in read_log(group.log)), 30, "the cut")
        assert tick.poll() is None
    assert wait_for_exit(tick, 0) == ""
    assert [outcomes(database, run_id) for run_id in ids] == [["succeeded"]] * GROUP
    # Those that the tick had read when it wrote for the first time.
    assert len(group.told("finalized")) > 1
    assert sorted(group.told("finalized") + group.told("succeeded")) == ids
    assert_consistent(database)


@postgresql_only
def test_no_run_begins_while_results_wait_to_be_written(group: Group) -> None:
    assert isinstance(group.database, PostgresDatabase)
    # One at work all the time, so that a child is there for the next ones.
    queue(group.database, "wait_for", {"path": str(group.app.path("end"))})
    ids = group.insert(GROUP)
    with group.database.access.admin(group.database.database) as somebody:
        with group.stopped(GROUP, others=1) as tick:
            somebody.autocommit = False
            somebody.execute("LOCK TABLE job_attempts IN SHARE MODE")
        waiting = "pg_blocking_pids(pid) <> '{}' AND now() - query_start > interval '0.3 seconds'"
        wait_for(lambda: sessions(group.database, waiting), 30, "outcomes that have waited for too long")
        next_ones = insert_runs(group.database, 3)
        # Longer than the tick takes to look for due runs again.
        time.sleep(1.5)
        assert {line.run_id for line in group.app.trace()}.isdisjoint(next_ones)
        somebody.rollback()
    wait_for(lambda: {line.run_id for line in group.app.trace()} >= set(next_ones), 30, "the next runs")
    assert [outcomes(group.database, run_id) for run_id in ids] == [["succeeded"]] * GROUP
    group.app.end(tick, "end")
    assert statuses(group.database) == {"succeeded": GROUP + 4}
    assert_consistent(group.database)


@pytest.mark.promise("P14")
@postgresql_only
def test_large_group_is_written_to_a_server_without_free_connections(group: Group) -> None:
    assert isinstance(group.database, PostgresDatabase)
    name = group.database.database
    ids = group.insert(GROUP)
    with group.database.access.admin("postgres") as server:
        with group.stopped(GROUP) as tick:
            server.execute(f'ALTER DATABASE "{name}" CONNECTION LIMIT 0')
        told = wait_for_exit(tick, 0)
        server.execute(f'ALTER DATABASE "{name}" CONNECTION LIMIT -1')
    assert told == ""
    assert [outcomes(group.database, run_id) for run_id in ids] == [["succeeded"]] * GROUP
    assert group.told("not finalized") == []
    assert_consistent(group.database)
