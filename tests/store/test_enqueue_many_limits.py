"""`enqueue_many` with `max_waiting`: a refusing type takes all or nothing, a dropping type exactly what fits."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from harness import App, Commands, Database, SQLiteDatabase, wait_for
from harness.backpressure import answer_of, dropped, limit, start, waiting
from jobrunner.application.enqueueing import Entry, enqueue, enqueue_many
from jobrunner.errors import QueueFull


@pytest.fixture
def connection(database: Database) -> Iterator[Any]:
    opened: Any = (
        sqlite3.connect(database.path) if isinstance(database, SQLiteDatabase) else psycopg.connect(database.url)
    )
    with closing(opened) as connection:
        yield connection


def test_list_over_the_limit_is_refused_as_a_whole_and_the_transaction_goes_on(
    database: Database, connection: Any
) -> None:
    limit(database, "echo", 3)
    enqueue(connection, "echo", {})
    with pytest.raises(QueueFull, match="no room for 3 more: 1 wait, max_waiting is 3"):
        enqueue_many(connection, "echo", [Entry({}, key="k"), {}, {}])
    assert [answer.created for answer in enqueue_many(connection, "echo", [{}, Entry({}, key="k")])] == [True, True]
    with pytest.raises(QueueFull, match="is full: 3 wait"):
        enqueue_many(connection, "echo", [{}])
    connection.commit()
    assert (waiting(database, "echo"), dropped(database, "echo")) == (3, 0)
    assert database.value("SELECT count(*) FROM job_keys") == 1


def test_list_longer_than_the_limit_drops_its_end_and_counts_it(database: Database, connection: Any) -> None:
    limit(database, "echo", 3, "drop")
    used = enqueue(connection, "echo", {}, key="used")
    keys = [None, "used", "a", "a", "b", "b", None]
    answers = enqueue_many(connection, "echo", [Entry({}, key=key) for key in keys])
    connection.commit()
    assert [answer.dropped for answer in answers] == [False, False, False, False, True, True, True]
    assert [answer.created for answer in answers] == [True, False, True, False, False, False, False]
    assert (answers[1].id, answers[3].id) == (used.id, answers[2].id)
    assert (waiting(database, "echo"), dropped(database, "echo")) == (3, 3)
    # What was dropped has not used up its key.
    assert database.value("SELECT count(*) FROM job_keys") == 2


def test_used_keys_of_a_list_do_not_count_for_the_limit(database: Database, connection: Any) -> None:
    limit(database, "echo", 2)
    entries = [Entry({}, key=key) for key in "ab"]
    first = enqueue_many(connection, "echo", entries)
    assert [answer.id for answer in enqueue_many(connection, "echo", entries)] == [answer.id for answer in first]
    connection.commit()
    assert waiting(database, "echo") == 2


LIST = """
number, go = sys.argv[1:]
keys = [f"{number} {n}" if n % 2 else None for n in range(7)]
entries = [jobrunner.Entry({"n": n}, key=key) for n, key in enumerate(keys)]
open(f"{go}-{number}", "w").close()
while not os.path.exists(go):
    time.sleep(0.001)
with engine.begin() as connection:
    try:
        answers = jobrunner.enqueue_many(connection, "echo", entries)
    except QueueFull:
        answers = []
    time.sleep(0.02)  # the application goes on with its transaction
print(json.dumps([answer.created for answer in answers]))
"""


@pytest.mark.parametrize(("when_full", "fit"), [("refuse", 21), ("drop", 25)])
def test_ten_concurrent_lists_fill_the_queue_exactly(
    jobrunner: Commands, app: App, database: Database, when_full: str, fit: int
) -> None:
    """Lists of seven on a limit of 25: three whole ones, or all that fits."""
    limit(database, "echo", 25, when_full)
    go = app.path("go")
    started = [start(jobrunner, LIST, number, go) for number in range(10)]
    try:
        wait_for(lambda: all(app.path(f"go-{number}").exists() for number in range(10)), 60, "the callers")
        go.touch()
        answers = [answer_of(process) for process in started]
    finally:
        for process in started:
            process.kill()
    created = sum(sum(answer) for answer in answers)
    assert (created, waiting(database, "echo")) == (fit, fit), json.dumps(answers)
    assert dropped(database, "echo") == (70 - fit if when_full == "drop" else 0)
    keyed = database.value("SELECT count(*) FROM job_runs WHERE idempotency_key IS NOT NULL")
    assert database.value("SELECT count(*) FROM job_keys") == keyed
