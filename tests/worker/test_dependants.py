"""`after=` and `group(...).then(...)`: a run begins when others have ended, or is cancelled, as its enqueue said."""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

import pytest

import jobrunner as library
from harness import App, Commands, Database
from harness.handlers_rows import queue, run_of, status_of
from harness.idle_ticks import tick
from harness.invariants import insert_runs
from harness.limits import claim_all, claim_of, end
from harness.plan_calls import KEPT
from jobrunner.errors import NotFoundError, UsageError
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.model import Actor, Policy
from jobrunner.store.changes import one_run
from jobrunner.store.drivers import steps
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.queue import dependants
from jobrunner.store.queue.dependants import Followed
from jobrunner.store.queue.ticks import retention, ticks

KNOWN = Policy("append")
DEAD = AttemptResult(Outcome.DISCARDED, error_type="E", error="no")


def attach(store: Store, run_id: int, *parents: int, if_parent_fails: str = "cancel") -> int:
    def work(connection: Connection) -> None:
        # As in the transaction that inserts it.
        connection.execute(f"UPDATE job_runs SET updated_at = updated_at WHERE id = {run_id}")
        steps.follow(connection, dependants.attach_steps(connection.database, run_id, parents, if_parent_fails))

    store.write(work)
    return run_id


def follow(store: Store) -> Followed:
    return store.write(dependants.follow)


def claimable(store: Store) -> set[int]:
    """What a claim takes now; they are at work afterwards."""
    return {lease.run_id for lease in claim_all(store, "a", KNOWN)}


def is_due(store: Store) -> bool:
    return store.read(ticks.is_anything_due)


def test_a_run_waits_for_all_its_parents_and_then_runs(store: Store, database: Database) -> None:
    first, second, child, other = insert_runs(database, 4)
    attach(store, child, first, second)
    held = claim_all(store, "a", KNOWN)
    assert [lease.run_id for lease in held] == [first, second, other]
    assert not is_due(store)
    end(store, held[:1])
    assert follow(store) == (0, 0, False)
    assert not is_due(store)
    end(store, held[1:])
    assert is_due(store)
    assert follow(store) == (1, 0, False)
    assert claimable(store) == {child}


@pytest.mark.parametrize("how", ["dead", "cancelled", "deadline"])
@pytest.mark.parametrize(("if_parent_fails", "status"), [("cancel", "cancelled"), ("run", "queued")])
def test_a_failed_parent_cancels_or_releases_as_was_said(
    store: Store, database: Database, how: str, if_parent_fails: str, status: str
) -> None:
    """Whoever ends the parent, and also for the run that waits for the cancelled one."""
    parent, child, grandchild = insert_runs(database, 3)
    attach(store, child, parent, if_parent_fails=if_parent_fails)
    attach(store, grandchild, child)
    fail(store, database, parent, how)
    while follow(store).may_be_more:
        pass
    assert (status_of(database, child), status_of(database, grandchild)) == (status, status)
    run = run_of(database, child)
    assert run["gate"] == ""
    if if_parent_fails == "cancel":
        ended = "cancelled" if how == "cancelled" else "dead"
        assert (run["error_type"], run["last_error"]) == (
            "parent_failed",
            f"run {parent}, which it was to follow, is {ended}",
        )
        assert [row["action"] for row in database.query("SELECT action FROM job_events WHERE run_id = ?", [child])] == [
            "cancel"
        ]
        assert database.query("SELECT * FROM job_parents") == []
        # A person looks at it, and wants both.
        store.write(lambda connection: one_run.retry(connection, child, Actor("me")))
        assert claimable(store) == {child}


def fail(store: Store, database: Database, parent: int, how: str) -> None:
    if how == "cancelled":
        store.write(lambda connection: one_run.cancel(connection, parent, Actor("me")))
    elif how == "dead":
        end(store, claim_all(store, "a", KNOWN), DEAD)
    else:
        database.execute(
            "UPDATE job_runs SET start_deadline_at = ? WHERE id = ?", [database.now() - timedelta(1), parent]
        )
        from jobrunner.store.queue import deadlines

        store.write(lambda connection: deadlines.end_overdue(connection, 10))


def test_what_a_parent_ended_as_counts_after_it_was_retried_and_pruned(store: Store, database: Database) -> None:
    """What was noted at its end is acted on later. A run that waits for one that ended before does not wait."""
    dead, fine, child, late, refused = insert_runs(database, 5)
    attach(store, child, dead)
    held = {lease.run_id: lease for lease in claim_all(store, "a", KNOWN)}
    end(store, [held[dead]], DEAD)
    end(store, [held[fine]])
    store.write(lambda connection: one_run.retry(connection, dead, Actor("me")))
    follow(store)
    assert status_of(database, child) == "cancelled"
    assert run_of(database, attach(store, late, fine))["gate"] == ""
    long_ago = database.now() - timedelta(days=9)
    database.execute("UPDATE job_runs SET finished_at = ? WHERE id = ?", [long_ago, fine])
    store.write(lambda connection: retention.prune(connection, dict.fromkeys(KEPT, timedelta(days=1))))
    with pytest.raises(NotFoundError, match=f"^there is no run {fine} to wait for; [^\n]*$"):
        attach(store, refused, fine)


def test_run_whose_id_was_that_of_a_parent_that_was_rolled_back_does_not_wait_for_itself(
    store: Store, database: Database
) -> None:
    """The application remembers the id of an enqueue whose COMMIT has failed, and SQLite gives it to the next run."""
    (run_id,) = insert_runs(database, 1)
    with pytest.raises(NotFoundError, match=f"^there is no run {run_id} to wait for; [^\n]*$"):
        attach(store, run_id, run_id)
    assert run_of(database, run_id)["gate"] == ""
    assert claim_all(store, "a", KNOWN)


def test_a_run_that_was_cancelled_and_pruned_is_no_work_when_its_parent_ends(store: Store, database: Database) -> None:
    parent, child = insert_runs(database, 2)
    attach(store, child, parent)
    store.write(lambda connection: one_run.cancel(connection, child, Actor("me")))
    database.execute("DELETE FROM job_runs WHERE id = ?", [child])
    end(store, claim_all(store, "a", KNOWN))
    assert is_due(store)
    assert follow(store) == (0, 0, False)
    assert not is_due(store)


def test_parents_that_end_at_the_same_time_release_their_dependant_once(
    open_store: Callable[[], Store], database: Database
) -> None:
    """Neither of two ticks that each know of one end leaves the run to wait for ever."""
    first, second, child = insert_runs(database, 3)
    one, other = open_store(), open_store()
    attach(one, child, first, second)
    held = claim_all(one, "a", KNOWN)
    end(one, held[:1])
    answers = []

    def between(connection: object) -> Followed:
        followed = dependants.follow(connection)  # type: ignore[arg-type]
        if database.name == "postgresql":
            end(other, held[1:])
            answers.append(follow(other))
        return followed

    one.write(between)
    if database.name == "sqlite":
        end(other, held[1:])
    else:
        assert answers == [(0, 0, True)]
    assert is_due(other)
    assert follow(other) == (1, 0, False)
    assert claimable(one) == {child}


def test_parent_is_not_pruned_while_its_dependant_is_enqueued(
    open_store: Callable[[], Store], database: Database
) -> None:
    """Else the dependant of a run that failed would wait for nobody, and be let go as if that had succeeded."""
    parent, child = insert_runs(database, 2)
    one, other = open_store(), open_store()
    end(one, [run.lease for run in claim_of(one, "a", KNOWN, limit=1).runs], DEAD)
    database.execute("UPDATE job_runs SET finished_at = ? WHERE id = ?", [database.now() - timedelta(days=9), parent])

    def prune() -> None:
        other.write(lambda each: retention.prune(each, dict.fromkeys(KEPT, timedelta(days=1))))

    def work(connection: Connection) -> None:
        connection.execute(f"UPDATE job_runs SET updated_at = updated_at WHERE id = {child}")
        hold = dependants.attach_steps(connection.database, child, [parent], "cancel")
        step = hold.send(connection.execute(*next(hold)))
        # On SQLite nobody else can write meanwhile.
        if database.name == "postgresql":
            prune()
        with suppress(StopIteration):
            while True:
                step = hold.send(connection.execute(*step))

    one.write(work)
    prune()
    assert follow(one).cancelled == 1
    assert status_of(database, child) == "cancelled"


HANDLERS = """
@job("fall", max_attempts=1)
def fall(ctx: Context):
    raise RuntimeError("no")
"""
SCRIPT = """
from sqlalchemy import create_engine
import os, handlers, jobrunner

url = os.environ["JOBRUNNER_DATABASE_URL"].replace("postgresql://", "postgresql+psycopg://")
with create_engine(url).begin() as connection:
    parts = [handlers.append.enqueue(connection, n=n) for n in range(3)]
    both = jobrunner.group(*parts).then(handlers.append).enqueue(connection, n=3)
    fallen = handlers.fall.enqueue(connection)
    never = handlers.append.using(after=fallen, priority=9).enqueue(connection, n=4)
    whatever = handlers.append.using(priority=9)
    all_the_same = jobrunner.group([fallen, both]).then(whatever, if_parent_fails="run").enqueue(connection, n=5)
    print(*(each.id for each in (*parts, both, all_the_same, never)))
"""


def test_a_group_and_what_follows_it_are_done_by_one_tick_in_their_order(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.add(HANDLERS)
    enqueued = jobrunner.start_python(SCRIPT)
    out, err = enqueued.communicate(timeout=30)
    assert (enqueued.returncode, err) == (0, "")
    *parts, both, all_the_same, never = map(int, out.split())
    assert jobrunner.show(both)["waits_for"] == f"the end of run {', '.join(map(str, parts))}"
    jobrunner.tick()
    traced = [line.run_id for line in app.trace()]
    assert sorted(traced[:3]) == parts
    assert traced[3:] == [both, all_the_same]
    assert status_of(database, never) == "cancelled"
    assert tick(jobrunner).was_short


def test_command_line_enqueues_a_run_after_others(jobrunner: Commands, database: Database) -> None:
    parent = queue(database, "echo")
    child = jobrunner.enqueue("echo", after=parent, if_parent_fails="run")
    assert database.query("SELECT run_id, parent_id, if_parent_fails FROM job_parents") == [
        {"run_id": child, "parent_id": parent, "if_parent_fails": "run"}
    ]
    assert "no run 99" in jobrunner.refused(1, "enqueue", "echo", "--after", 99)
    assert database.value("SELECT count(*) AS n FROM job_runs") == 2


@pytest.mark.parametrize("after", [0, -1, True, "7", [], [1, None], 2**63, 1.5, {"id": 1}])
def test_what_is_no_run_to_wait_for_is_refused_before_anything_is_sent(after: object) -> None:
    from jobrunner.jobs.parents import parent_ids
    from jobrunner.jobs.run_options import checked

    with pytest.raises(UsageError, match=r"^after must [^\n]*$"):
        parent_ids(after)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"^if_parent_fails must be one of"):
        checked({"after": 1, "if_parent_fails": "stop"})
    with pytest.raises(UsageError, match=r"^after must"):
        library.group()
