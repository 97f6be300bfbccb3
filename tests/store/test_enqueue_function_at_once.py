"""Calls of the SQL function `jobrunner_enqueue` and of Python at once: one run of a key, and limits that hold."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Barrier

import psycopg
import pytest
from psycopg.rows import dict_row

import jobrunner as library
from harness import PostgresDatabase, postgresql_only
from harness.backpressure import dropped, limit, waiting
from harness.enqueue_function import call
from harness.keys import end, runs, scope
from harness.waiting import stretched

pytestmark = postgresql_only


@pytest.mark.promise("P4")
@pytest.mark.parametrize("key_scope", ["forever", "active"])
def test_calls_of_function_and_python_at_once_make_one_run(database: PostgresDatabase, key_scope: str) -> None:
    scope(database, "sync", key_scope)
    barrier = Barrier(16)

    def caller(number: int) -> list[str]:
        done = []
        with closing(psycopg.connect(database.url, row_factory=dict_row)) as connection:
            for turn in range(3):
                barrier.wait(stretched(60))
                if number == 0 and turn and key_scope == "active":
                    end(database)
                barrier.wait(stretched(60))
                key = f"k{turn}" if key_scope == "forever" else "k"
                if number % 2:
                    answer = call(connection, key=key)
                    created, run_id = answer["outcome"] == "created", answer["id"]
                else:
                    enqueued = library.enqueue(connection, "sync", key=key)
                    created, run_id = enqueued.created, enqueued.id
                # Some of those who win change their mind.
                (connection.rollback if created and number < 6 else connection.commit)()
                done.append(f"{turn} rolled back" if created and number < 6 else f"{turn} {created} {run_id}")
        return done

    with ThreadPoolExecutor(16) as pool:
        said = [each for answers in pool.map(caller, range(16)) for each in answers]
    for turn in range(3):
        created = [each.split()[2] for each in said if each.startswith(f"{turn} True")]
        assert len(created) == 1, said
        assert {each.split()[2] for each in said if each.startswith(f"{turn} False")} <= set(created)
    assert len(runs(database)) == 3


@pytest.mark.parametrize("when_full", ["refuse", "drop"])
def test_function_fills_a_limited_type_exactly(database: PostgresDatabase, when_full: str) -> None:
    limit(database, "sync", 5, when_full)
    barrier = Barrier(12)

    def caller(number: int) -> str:
        with closing(psycopg.connect(database.url, row_factory=dict_row)) as connection:
            barrier.wait(stretched(60))
            options = {"key": f"k{number}"} if number % 2 else {}
            try:
                answer = call(connection, **options)
            except psycopg.errors.ConfigurationLimitExceeded as error:
                return str(error).splitlines()[0]
            connection.commit()
            assert (answer["id"] is None) == (answer["outcome"] == "dropped")
            return str(answer["outcome"])

    with ThreadPoolExecutor(12) as pool:
        said = list(pool.map(caller, range(12)))
    refused = (
        "the queue of 'sync' is full: 5 wait, max_waiting is 5; enqueue again when some of them are done, cancel some,"
        " or raise max_waiting"
    )
    other = refused if when_full == "refuse" else "dropped"
    assert (said.count("created"), said.count(other), waiting(database, "sync")) == (5, 7, 5)
    assert dropped(database, "sync") == (7 if when_full == "drop" else 0)
    # A key that is taken answers also now, and one that was refused is not used up.
    keyed = database.query("SELECT idempotency_key, run_id FROM job_keys")
    with closing(psycopg.connect(database.url, row_factory=dict_row)) as connection:
        for row in keyed:
            assert call(connection, key=row["idempotency_key"])["id"] == row["run_id"]
        connection.commit()
    assert len(keyed) == database.value("SELECT count(*) FROM job_runs WHERE idempotency_key IS NOT NULL")
    database.execute("UPDATE job_types SET max_waiting = 3")
    with closing(psycopg.connect(database.url, row_factory=dict_row)) as connection:
        if when_full == "refuse":
            with pytest.raises(psycopg.errors.ConfigurationLimitExceeded, match="more than 3 wait"):
                call(connection)
        else:
            assert call(connection)["outcome"] == "dropped"
