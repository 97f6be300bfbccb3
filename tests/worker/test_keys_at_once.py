"""A key that many want at once, or that the retry of an older run wants back: one run holds it."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from threading import Barrier
from typing import Any

import psycopg
import pytest

import jobrunner as library
from harness import Database, PostgresDatabase, postgresql_only, wait_for
from harness.connections import opened
from harness.keys import end, one, runs, scope
from harness.waiting import stretched
from jobrunner import Entry
from jobrunner.model import Actor
from jobrunner.store.changes import one_run
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.drivers.location import locate
from jobrunner.store.queue import enqueue
from jobrunner.store.queue.enqueue_sql import Enqueued, NewRun


@pytest.mark.promise("P4")
@pytest.mark.parametrize("key_scope", ["forever", "active", "window"])
def test_sixteen_connections_at_once_make_one_run_also_if_the_winner_rolls_back(
    database: Database, key_scope: str
) -> None:
    """In each round the key is free, but for a type whose keys are taken for ever it is another key."""
    if key_scope != "forever":
        scope(database, "sync", key_scope, 3600 if key_scope == "window" else None)
    barrier = Barrier(16)

    def caller(number: int) -> list[str]:
        done = []
        with closing(opened(database)) as connection:
            for turn in range(3):
                barrier.wait(stretched(60))
                if number == 0 and turn:
                    end(database)
                    database.execute("UPDATE job_keys SET created_at = ?", [database.now() - timedelta(hours=2)])
                barrier.wait(stretched(60))
                key = f"k{turn}" if key_scope == "forever" else "k"
                answer = (
                    library.enqueue(connection, "sync", {}, key=key)
                    if number % 2
                    else library.enqueue_many(connection, "sync", [Entry({}, key=key)])[0]
                )
                # The first winner changes its mind.
                if answer.created and turn == 1 and not done.count("rolled back") and number < 8:
                    connection.rollback()
                    done.append("rolled back")
                else:
                    connection.commit()
                    done.append(f"{turn} {answer.outcome} {answer.id}")
        return done

    with ThreadPoolExecutor(16) as pool:
        said = [each for answers in pool.map(caller, range(16)) for each in answers]
    found = runs(database)
    for turn in range(3):
        created = [each.split()[2] for each in said if each.startswith(f"{turn} created")]
        existing = {each.split()[2] for each in said if each.startswith(f"{turn} existing")}
        assert len(created) == 1, said
        assert existing <= set(created)
    assert len(found) == sum(" created " in each for each in said)


@postgresql_only
@pytest.mark.promise("P4")
def test_retry_and_enqueue_of_an_active_key_at_once_leave_one_run_at_work(
    database: PostgresDatabase, connection: Any, store: Store
) -> None:
    """Whichever comes first, the other one waits for it and sees it."""
    scope(database, "sync", "active")
    first = one(connection)
    end(database, "dead")

    def waits() -> bool:
        return bool(database.value("SELECT count(*) FROM pg_locks WHERE NOT granted"))

    with ThreadPoolExecutor() as pool:
        second = library.enqueue(connection, "sync", {}, key="k")
        retry = pool.submit(store.write, lambda each: one_run.retry(each, first.id, Actor("someone")))
        wait_for(waits, 20, "the retry")
        connection.commit()
        refused = retry.result(stretched(20))
        assert (refused.applied, refused.key_holder) == (False, second.id)
        end(database, "dead")
        with psycopg.connect(database.url) as other:
            wrapped = Store(locate(database.url), patience=timedelta(seconds=20))
            own = wrapped.connect()
            own.begin()
            assert one_run.retry(own, first.id, Actor("someone")).applied
            answer = pool.submit(library.enqueue, other, "sync", {}, key="k")
            wait_for(waits, 20, "the enqueue")
            own.commit()
            wrapped.close()
            assert (answer.result(stretched(20)).id, answer.result().outcome) == (first.id, "existing")
    assert database.value("SELECT count(*) FROM job_runs WHERE status = 'queued'") == 1


@pytest.mark.promise("P4")
def test_key_whose_run_was_begun_again_before_it_is_taken_over_stays_with_that_run(
    database: Database, connection: Any, store: Store
) -> None:
    """Between the question who has the key and its lock, the run of the key was retried: it is at work again."""
    scope(database, "sync", "active")
    first = one(connection)
    end(database, "dead")
    asked: list[str] = []

    def take_over(own: Connection) -> Enqueued:
        steps = enqueue.steps(own.database, NewRun("sync", "{}", idempotency_key="k"), None, "existing")
        try:
            step = next(steps)
            while True:
                asked.append(getattr(step[0], "name", ""))
                if asked.count("keys.lock_free") == 1 and asked[-1] == "keys.lock_free":
                    own.execute("UPDATE job_runs SET status = 'queued', finished_at = NULL")
                step = steps.send(own.execute(*step))
        except StopIteration as answer:
            found: Enqueued = answer.value
            return found

    answer = store.write(take_over)
    assert "keys.lock_free" in asked
    assert (answer.id, answer.outcome) == (first.id, "existing")
    assert [run["id"] for run in runs(database)] == [first.id]


@pytest.mark.promise("P4")
def test_retry_takes_its_key_again_or_is_refused(database: Database, connection: Any, store: Store) -> None:
    scope(database, "sync", "active")
    scope(database, "window", "window", 3600)
    first = one(connection)
    end(database, "dead")
    second = one(connection)

    def retry(run_id: int, *, force: bool = False) -> tuple[bool, int | None]:
        answer = store.write(lambda each: one_run.retry(each, run_id, Actor("someone"), force=force))
        return answer.applied, answer.key_holder

    assert retry(first.id) == (False, second.id)
    database.execute("UPDATE job_runs SET status = 'failed' WHERE id = ?", [second.id])
    assert retry(first.id) == (False, second.id)
    assert retry(second.id) == (True, None)
    database.execute("UPDATE job_runs SET status = 'succeeded', finished_at = ? WHERE id = ?", [
        database.now(), second.id])  # fmt: skip
    assert retry(first.id) == (True, None)
    # It holds the key as before.
    assert one(connection).id == first.id
    assert retry(second.id, force=True) == (False, first.id)
    # In a window it does not matter what becomes of the runs.
    early = one(connection, "window")
    end(database, "dead")
    database.execute("UPDATE job_keys SET created_at = ?", [database.now() - timedelta(hours=2)])
    assert one(connection, "window").created
    assert retry(early.id) == (True, None)
