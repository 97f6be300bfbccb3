"""The keys of a renamed type: code that knows both names takes a key under both, so that older code finds it, too."""

import threading
from functools import partial
from typing import Any

import psycopg
import pytest

import jobrunner
from harness import Database, PostgresDatabase, postgresql_only
from harness.handlers_rows import status_of
from harness.judge import breaches_at
from harness.keys import end, one
from harness.limits import report
from harness.locks import wait_for_lock
from jobrunner import KeyTaken, job
from jobrunner.application import registry
from jobrunner.errors import QueueFull
from jobrunner.jobs import policy
from jobrunner.jobs.context import Context
from jobrunner.lifecycle import Status
from jobrunner.model import Actor
from jobrunner.store.changes import bulk, one_run, run_changes
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.questions.selection import Selection

ACTOR = Actor("test", "the other side is back")


def forget_all() -> None:
    registry._registered.clear()
    policy._declared.clear()


def declare_old(**options: Any) -> None:
    forget_all()

    @job("old", **options)
    def old(ctx: Context) -> None: ...


def declare_new(**options: Any) -> None:
    forget_all()

    @job("new", formerly="old", **options)
    def new(ctx: Context) -> None: ...


@pytest.mark.promise("P4")
def test_key_that_is_used_under_one_name_is_taken_under_the_other_also_for_older_code(
    database: Database, connection: Any
) -> None:
    declare_old()
    first = one(connection, "old", key="a")
    declare_new()
    assert (one(connection, "new", key="a").id, one(connection, "old", key="a").id) == (first.id, first.id)
    second = one(connection, "new", key="b")
    assert second.created
    with pytest.raises(KeyTaken, match="of the job type 'old' is taken by run 1"):
        one(connection, "new", key="a", if_taken="raise")
    assert one(connection, "new", key="b", if_taken="replace").replaced
    declare_old()
    assert one(connection, "old", key="b").id == second.id
    connection.commit()
    assert database.value("SELECT count(*) FROM job_runs") == 2


def test_key_of_unfinished_runs_is_free_under_both_names_when_its_run_has_ended(
    database: Database, connection: Any
) -> None:
    declare_new(key_scope="active")
    # The rule is stored for both, also if nothing is ever enqueued under the old name.
    for name, other in (("new", "new"), ("new", "old"), ("old", "new")):
        made = one(connection, name, key="a")
        assert made.created, name
        assert one(connection, other, key="a").id == made.id
        end(database)


@pytest.mark.promise("P4")
@pytest.mark.parametrize("way", ["one by one", "in bulk"])
def test_key_that_a_retry_takes_again_is_taken_under_all_names(
    database: Database, connection: Any, store: Store, way: str
) -> None:
    ids = []
    for declared, name in ((declare_old, "old"), (declare_new, "new"), (declare_new, "new")):
        declared(key_scope="active")
        ids.append(one(connection, name, key="a").id)
        end(database, "dead")
    report(store, *policy.declared("new").of_each_name())
    old, new, last = ids
    if way == "in bulk":
        change = bulk.Changing(run_changes.retry(), Selection(statuses=(Status.DEAD,)), ACTOR, {})
        done = store.write(partial(change, batch=[{"id": each, "run_at": None} for each in ids]))
        assert (done, status_of(database, old)) == (bulk.Batch(1, key_taken=2), "queued")
    else:
        answers = [store.write(partial(one_run.retry, run_id=each, actor=ACTOR)) for each in (new, old, last)]
        assert [each.key_holder for each in answers] == [None, new, new]
    (held,) = database.query("SELECT id FROM job_runs WHERE status = 'queued'")
    assert one(connection, "new", key="a").id == held["id"]
    declare_old(key_scope="active")
    assert one(connection, "old", key="a").id == held["id"]
    assert breaches_at(database.url) == []


def test_max_waiting_counts_the_runs_of_all_names(database: Database, connection: Any) -> None:
    declare_new(max_waiting=3)
    for name in ("old", "new", "old"):
        one(connection, name, key=None)
    with pytest.raises(QueueFull, match="the queue of 'new' is full: 3 wait"):
        one(connection, "new", key=None)
    connection.rollback()


@pytest.mark.promise("P4", on="postgresql")
@postgresql_only
@pytest.mark.parametrize("sides", ["old new", "new old", "new_by_its_name new"])
@pytest.mark.parametrize("ending", ["commit", "rollback"])
def test_enqueues_of_old_and_new_code_at_once_with_one_key_make_one_run(
    database: PostgresDatabase, sides: str, ending: str
) -> None:
    known = {"old": declare_old, "new": declare_new, "new_by_its_name": forget_all}
    (first, declare_first), (second, declare_second) = ((each.partition("_")[0], known[each]) for each in sides.split())
    found: list[Any] = []
    with psycopg.connect(database.url) as one_side, psycopg.connect(database.url) as other_side:
        declare_first()
        made = jobrunner.enqueue(one_side, first, key="k")
        declare_second()
        thread = threading.Thread(target=lambda: found.append(one(other_side, second)))
        thread.start()
        wait_for_lock(database)
        getattr(one_side, ending)()
        thread.join()
    assert database.value("SELECT count(*) FROM job_runs") == 1
    assert found[0].created == (ending == "rollback")
    assert (found[0].id == made.id) == (ending == "commit")
    assert database.value("SELECT count(*) FROM job_keys WHERE run_id IS NULL") == 0
    assert breaches_at(database.url) == []
