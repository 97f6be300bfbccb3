"""`enqueue_many`: the rules of `enqueue` for a whole list, in a few statements."""

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from sqlalchemy import create_engine, event
from sqlalchemy.orm import Session

from harness import App, Commands, Database, PostgresDatabase, SQLiteDatabase, postgresql_only, sqlite_only, wait_for
from harness.connections import sqlalchemy_url
from harness.database import Row
from harness.waiting import stretched
from jobrunner.application.enqueueing import Entry, enqueue, enqueue_many
from jobrunner.application.registry import job
from jobrunner.errors import BadPayload, UsageError
from jobrunner.jobs.context import Context

# More than one statement takes.
MANY = 2_300


@contextmanager
def on_driver(database: Database) -> Iterator[Any]:
    path = database.path if isinstance(database, SQLiteDatabase) else None
    with closing(sqlite3.connect(path) if path else psycopg.connect(database.url)) as connection:
        yield connection


@contextmanager
def on_sqlalchemy(database: Database) -> Iterator[Any]:
    engine = create_engine(sqlalchemy_url(database))
    with engine.connect() as connection:
        yield connection
    engine.dispose()


@contextmanager
def in_session(database: Database) -> Iterator[Any]:
    with on_sqlalchemy(database) as connection, Session(connection) as session:
        yield session


KINDS = [on_driver, on_sqlalchemy, in_session]


@pytest.fixture
def connection(database: Database) -> Iterator[Any]:
    with on_driver(database) as connection:
        yield connection


def runs(database: Database) -> list[Row]:
    return database.query("SELECT * FROM job_runs ORDER BY id")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.promise("P1")
def test_a_long_list_becomes_runs_in_its_order_when_the_caller_commits(database: Database, kind: Any) -> None:
    payloads = [{"n": n, "text": "ä\\\"' " * (n % 3)} for n in range(MANY)]
    with kind(database) as connection:
        enqueue_many(connection, "append", payloads)
        connection.rollback()
        assert runs(database) == []
        answers = enqueue_many(connection, "append", iter(payloads))
        assert runs(database) == []
        connection.commit()
    inserted = runs(database)
    assert [row["payload"] for row in inserted] == payloads
    assert [(answer.id, answer.created) for answer in answers] == [(row["id"], True) for row in inserted]
    assert {row["status"] for row in inserted} == {"queued"}


def test_runs_of_a_list_are_done_like_all_others(jobrunner: Commands, app: App, database: Database) -> None:
    with on_driver(database) as connection:
        enqueue_many(connection, "append", [{"n": n} for n in range(3)])
        connection.commit()
    assert jobrunner.tick().stderr == ""
    assert {row["status"] for row in runs(database)} == {"succeeded"}
    assert len(app.trace()) == 3


def test_empty_list_sends_no_statement(database: Database) -> None:
    with on_driver(database) as connection:
        connection.close()
        with pytest.raises(UsageError):
            enqueue_many(connection, "no type", [])
        assert enqueue_many("no connection", "append", []) == []  # type: ignore[arg-type]


BAD = [
    ({"n": float("nan")}, BadPayload, "nan"),
    ({"n": "\x00"}, BadPayload, "NUL"),
    ([1], BadPayload, "JSON object"),
    ({"n": "x" * 300_000}, BadPayload, "larger than"),
    (Entry({}, priority=2_000), UsageError, "priority"),
    (Entry({}, key=""), UsageError, "key must have 1 to 500 characters"),
    (Entry({}, run_at=datetime(2026, 1, 1)), UsageError, "time zone"),
]


@pytest.mark.parametrize(("bad", "kind", "words"), BAD, ids=[words for _, _, words in BAD])
def test_the_place_of_a_bad_payload_is_named_and_nothing_is_written(
    database: Database, connection: Any, bad: Any, kind: type[Exception], words: str
) -> None:
    payloads: list[Any] = [{"n": n} for n in range(MANY)]
    payloads[2_200] = bad
    with pytest.raises(kind, match=rf"^payloads\[2200\]: .*{words}") as caught:
        enqueue_many(connection, "append", payloads)
    assert "\n" not in str(caught.value)
    connection.commit()
    assert runs(database) == []


def test_a_handler_checks_each_payload_against_its_signature(database: Database, connection: Any) -> None:
    @job("send_many")
    def handler(ctx: Context, user_id: int) -> None: ...

    for wrong in ({"user_id": "x"}, {}, Entry({"user_id": 1, "more": 2})):
        with pytest.raises(BadPayload, match=r"^payloads\[1\]: "):
            handler.enqueue_many(connection, [{"user_id": 1}, wrong])
    assert len(handler.enqueue_many(connection, [{"user_id": 1}, Entry({"user_id": 2})], priority=5)) == 2
    connection.commit()
    assert [(row["job_type"], row["payload"], row["priority"]) for row in runs(database)] == [
        ("send_many", {"user_id": 1}, 5),
        ("send_many", {"user_id": 2}, 5),
    ]


def test_option_of_an_entry_overrides_the_option_of_the_call(database: Database, connection: Any) -> None:
    at = datetime(2031, 5, 1, 12, 30, 0, 250_000, tzinfo=UTC)
    entries = [
        {"n": 0},
        Entry({"n": 1}),
        Entry({"n": 2}, run_at=at, priority=-3, max_attempts=2, timeout="none"),
        Entry({"n": 3}, run_at=timedelta(hours=2), key="k"),
    ]
    enqueue_many(connection, "append", entries, run_at=timedelta(hours=1), priority=7, max_attempts=9, timeout="5s")
    enqueue_many(connection, "append", [{"n": 4}, Entry({"n": 5}, run_at=timedelta(hours=3))])
    enqueue_many(connection, "append", [{"n": 6}], run_at=at)
    connection.commit()
    rows = runs(database)
    names = ("priority", "max_attempts", "timeout", "idempotency_key")
    assert [tuple(row[name] for name in names) for row in rows] == [
        (7, 9, 5.0, None),
        (7, 9, 5.0, None),
        (-3, 2, 0.0, None),
        (7, 9, 5.0, "k"),
        *[(0, None, None, None)] * 3,
    ]
    assert [row["run_at"] for row in rows if row["payload"]["n"] in (2, 6)] == [at, at]
    later = {row["payload"]["n"]: round((row["run_at"] - row["created_at"]) / timedelta(hours=1), 3) for row in rows}
    assert [later[n] for n in (0, 1, 3, 4, 5)] == [1, 1, 2, 0, 3]


def test_list_takes_a_few_statements_whatever_its_length(database: Database) -> None:
    sent: list[str] = []
    with on_sqlalchemy(database) as connection:
        event.listen(connection, "before_cursor_execute", lambda *args: sent.append(args[2]))
        enqueue_many(connection, "append", [{"n": n} for n in range(1_000)])
        assert len(sent) == 2
        sent.clear()
        enqueue_many(connection, "append", [Entry({"n": n}, key=f"{n}") for n in range(1_000)])
        assert len(sent) == 4


# Keys.


@pytest.mark.promise("P4")
def test_each_key_of_a_list_gives_one_run_and_its_id(database: Database, connection: Any) -> None:
    before = enqueue(connection, "append", {"n": -1}, key="used")
    connection.commit()
    keys = [None, "new", "used", "new", None, "other", "used"]
    answers = enqueue_many(connection, "append", [Entry({"n": n}, key=key) for n, key in enumerate(keys)])
    connection.commit()
    ids = {row["payload"]["n"]: row["id"] for row in runs(database)}
    assert sorted(ids) == [-1, 0, 1, 4, 5]
    expected = [(0, True), (1, True), (-1, False), (1, False), (4, True), (5, True), (-1, False)]
    assert [(answer.id, answer.created) for answer in answers] == [(ids[n], created) for n, created in expected]
    held = database.query("SELECT idempotency_key, run_id FROM job_keys ORDER BY idempotency_key")
    assert [tuple(row.values()) for row in held] == [("new", ids[1]), ("other", ids[5]), ("used", before.id)]
    assert enqueue(connection, "append", {}, key="new").id == ids[1]


@pytest.mark.promise("P4")
def test_a_long_list_given_twice_adds_nothing(database: Database, connection: Any) -> None:
    entries = [Entry({"n": n}, key=f"key {n}") for n in range(MANY)]
    first = enqueue_many(connection, "append", entries)
    again = enqueue_many(connection, "append", reversed(entries))
    connection.commit()
    assert [answer.id for answer in again] == [answer.id for answer in reversed(first)]
    assert {answer.created for answer in again} == {False}
    assert len(runs(database)) == MANY
    assert database.value("SELECT count(*) FROM job_keys k JOIN job_runs r ON r.id = k.run_id") == MANY


@postgresql_only
@pytest.mark.promise("P4")
def test_two_lists_with_the_same_keys_in_different_order_do_not_deadlock(database: PostgresDatabase) -> None:
    """In whatever order they come, keys are taken in one: were they not, these two would wait for each other."""
    entries = [Entry({"n": n}, key=f"key {n}") for n in range(MANY)]

    def other() -> list[Any]:
        with psycopg.connect(database.url) as connection:
            return enqueue_many(connection, "append", reversed(entries))

    with ThreadPoolExecutor() as pool, psycopg.connect(database.url) as connection:
        enqueue(connection, "append", {}, key="key 1000")
        answer = pool.submit(other)
        wait_for(lambda: database.value("SELECT count(*) FROM pg_locks WHERE NOT granted"), 20, "the other caller")
        mine = enqueue_many(connection, "append", [Entry({}, key=f"key {n}") for n in (1000, 2000, 999)])
        connection.commit()
        theirs = answer.result(stretched(30))
    assert len({each.id for each in mine} | {each.id for each in theirs}) == len(runs(database)) == MANY


@sqlite_only
def test_keys_of_a_list_are_found_by_index(database: SQLiteDatabase) -> None:
    """Found: each key was compared with all keys of its type, and ten thousand of them took minutes."""
    with closing(sqlite3.connect(database.path)) as connection:
        costs = []
        for size in (200, 1_000):
            steps = 0

            def count() -> None:
                nonlocal steps
                steps += 1

            entries = [Entry({}, key=f"{size} {n}") for n in range(size)]
            connection.set_progress_handler(count, 100)
            enqueue_many(connection, "append", entries)
            enqueue_many(connection, "append", entries)
            connection.set_progress_handler(None, 0)
            costs.append(steps / size)
        assert costs[1] < 2 * costs[0]
