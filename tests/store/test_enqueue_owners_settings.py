"""Enqueue on connections that their owner has set up in an unusual way: the run and the answer are as on any other."""

import asyncio
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Any

import aiosqlite
import psycopg
import psycopg_pool
import pytest
from psycopg.adapt import AdaptersMap, Dumper, Loader
from psycopg.types.string import TextLoader
from sqlalchemy import Engine
from sqlalchemy.orm import Session

import jobrunner as library
from harness import Database, PostgresDatabase, SQLiteDatabase, postgresql_only, sqlite_only
from harness.async_connections import TYPES
from jobrunner.application import own_connections
from jobrunner.errors import KeyTaken, UsageError
from jobrunner.store.sql.statement import Prepared, compiled


def raw_cursors(connection: Any) -> None:
    connection.cursor_factory = psycopg.RawCursor


def client_cursors(connection: Any) -> None:
    connection.cursor_factory = psycopg.ClientCursor


def numbers_as_texts(connection: Any) -> None:
    for name in ("int2", "int4", "int8", "timestamptz", "bool"):
        connection.adapters.register_loader(name, TextLoader)


def values_otherwise(connection: Any) -> None:
    register_nonsense(connection.adapters)


def register_nonsense(adapters: Any) -> None:
    """Send and read other values than those that are given, for each type of our columns and parameters."""
    for kind in (str, int, float, bool, datetime):
        adapters.register_dumper(kind, NonsenseDumper)
    for name in TYPES:
        adapters.register_loader(name, NonsenseLoader)


class NonsenseDumper(Dumper):
    def dump(self, obj: Any) -> bytes:
        return b"1"


class NonsenseLoader(Loader):
    def load(self, data: Any) -> str:
        return f"loaded {bytes(data).decode()}"


def texts_as_bytes(connection: Any) -> None:
    connection.text_factory = bytes


def texts_in_capitals(connection: Any) -> None:
    connection.text_factory = lambda found: found.decode().upper()


SETTINGS: dict[str, list[Callable[[Any], None]]] = {
    "postgresql": [raw_cursors, client_cursors, numbers_as_texts, values_otherwise],
    "sqlite": [texts_as_bytes, texts_in_capitals],
}


AT = datetime(2031, 5, 1, 12, 30, 0, 250_000, tzinfo=UTC)


def names(database: Database) -> list[str]:
    return [row["payload"]["name"] for row in database.query("SELECT payload FROM job_runs ORDER BY id")]


def driver_connection(database: Database) -> Any:
    return sqlite3.connect(database.path) if isinstance(database, SQLiteDatabase) else psycopg.connect(database.url)


@pytest.fixture(params=range(4))
def connection(database: Database, request: pytest.FixtureRequest) -> Iterator[Any]:
    settings = SETTINGS[database.name][request.param : request.param + 1]
    with closing(driver_connection(database)) as opened:
        for each in settings:
            each(opened)
        yield opened


def enqueued_each_way(connection: Any) -> list[library.Enqueued]:
    def enqueue(name: str, **options: Any) -> library.Enqueued:
        return library.enqueue(connection, "append", {"name": name}, **options)

    first = enqueue("plain", run_at=AT, timeout=timedelta(seconds=1.5), priority=3)
    keyed = enqueue("keyed", key="k")
    again = enqueue("again", key="k")
    entries = [library.Entry({"name": "a"}, key="k"), library.Entry({"name": "b"}, key="b")]
    listed = library.enqueue_many(connection, "append", entries)
    assert [each.created for each in (first, keyed, again, *listed)] == [True, True, False, False, True]
    assert again.id == keyed.id == listed[0].id
    with pytest.raises(KeyTaken):
        enqueue("taken", key="k", if_taken="raise")
    return [first, keyed, listed[1]]


def test_settings_of_the_owner_change_no_answer_and_stay(database: Database, connection: Any) -> None:
    settings = (getattr(connection, "text_factory", None), getattr(connection, "cursor_factory", None))
    answers = enqueued_each_way(connection)
    assert (getattr(connection, "text_factory", None), getattr(connection, "cursor_factory", None)) == settings
    connection.commit()
    assert [each.id for each in answers] == [row["id"] for row in database.query("SELECT id FROM job_runs ORDER BY id")]
    assert names(database) == ["plain", "keyed", "b"]
    (first, *_) = database.query("SELECT * FROM job_runs ORDER BY id")
    assert (first["run_at"], first["timeout"], first["priority"]) == (AT, 1.5, 3)


@postgresql_only
def test_adapters_of_the_whole_process_change_no_answer(
    database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    otherwise = AdaptersMap(psycopg.adapters)
    register_nonsense(otherwise)
    for name in ("_dumpers", "_dumpers_by_oid", "_loaders"):
        monkeypatch.setattr(psycopg.adapters, name, getattr(otherwise, name))
    with psycopg.connect(database.url) as connection:
        answers = enqueued_each_way(connection)
    # On a connection of ours.
    monkeypatch.setenv("JOBRUNNER_DATABASE_URL", database.url)
    answers.append(asyncio.run(library.enqueue_async(None, "append", {"name": "ours"}, run_at=AT)))
    own_connections.own_connections().close()
    own_connections._opened.clear()
    monkeypatch.undo()
    assert [each.id for each in answers] == [row["id"] for row in database.query("SELECT id FROM job_runs ORDER BY id")]
    assert names(database) == ["plain", "keyed", "b", "ours"]


@sqlite_only
def test_converters_of_a_file_change_no_answer(database: SQLiteDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("INTEGER", "TEXT", "REAL"):
        monkeypatch.setitem(sqlite3.converters, kind, lambda found: f"converted {found.decode()}")
    types = sqlite3.PARSE_DECLTYPES | sqlite3.PARSE_COLNAMES
    with closing(sqlite3.connect(database.path, detect_types=types)) as connection:
        answers = enqueued_each_way(connection)
        connection.commit()

    async def story() -> None:
        async with aiosqlite.connect(database.path, detect_types=types) as connection:
            for name in ("async", "again"):
                answer = await library.enqueue_async(connection, "append", {"name": name}, key="async")
                answers.append(answer)
            await connection.commit()

    asyncio.run(asyncio.wait_for(story(), 30))
    assert [each.id for each in answers] == [1, 2, 3, 4, 4]
    assert names(database) == ["plain", "keyed", "b", "async"]


@sqlite_only
def test_text_factory_of_an_async_connection_changes_no_answer_and_stays(database: SQLiteDatabase) -> None:
    async def story() -> None:
        async with aiosqlite.connect(database.path) as connection:
            connection.text_factory = bytes
            for _ in range(2):
                answer = await library.enqueue_async(connection, "append", {"name": "keyed"}, key="k")
            assert (answer.id, answer.created) == (1, False)
            assert connection.text_factory is bytes
            await connection.commit()

    asyncio.run(asyncio.wait_for(story(), 30))
    assert names(database) == ["keyed"]


@sqlite_only
def test_text_factory_below_sqlalchemy_changes_no_answer(database: SQLiteDatabase, engine: Engine) -> None:
    with Session(engine) as session:
        session.connection().connection.driver_connection.text_factory = bytes  # type: ignore[union-attr]
        assert [each.id for each in enqueued_each_way(session)] == [1, 2, 3]


@postgresql_only
@pytest.mark.promise("P4", on="postgresql")
@pytest.mark.parametrize("autocommit", [False, True], ids=["plain", "transaction"])
def test_enqueue_in_a_pipeline_writes_each_run_once(database: PostgresDatabase, autocommit: bool) -> None:
    with psycopg.connect(database.url, autocommit=autocommit) as connection:
        with connection.transaction(), connection.pipeline():
            connection.execute("CREATE TABLE orders (id INTEGER)")
            connection.execute("INSERT INTO orders VALUES (1)")
            answers = enqueued_each_way(connection)
            connection.execute("INSERT INTO orders VALUES (2)")
        assert connection.execute("SELECT count(*) FROM orders").fetchone() == (2,)
    assert [each.id for each in answers] == [row["id"] for row in database.query("SELECT id FROM job_runs ORDER BY id")]
    assert names(database) == ["plain", "keyed", "b"]


@postgresql_only
def test_enqueue_with_await_in_a_pipeline_writes_each_run_once(database: PostgresDatabase) -> None:
    async def story() -> None:
        async with await psycopg.AsyncConnection.connect(database.url) as connection:
            raw_cursors(connection)
            async with connection.transaction(), connection.pipeline():
                first = await library.enqueue_async(connection, "append", {"name": "first"}, key="k")
                again = await library.enqueue_async(connection, "append", {"name": "again"}, key="k")
                listed = await library.enqueue_many_async(connection, "append", [{"name": "a"}, {"name": "b"}])
            assert (again.id, again.created) == (first.id, False)
            assert [each.created for each in listed] == [True, True]

    asyncio.run(story())
    assert names(database) == ["first", "a", "b"]


@postgresql_only
def test_enqueue_in_a_failed_pipeline_raises_the_error_of_the_owner_and_writes_nothing(
    database: PostgresDatabase,
) -> None:
    failed = pytest.raises(psycopg.errors.DivisionByZero)
    with psycopg.connect(database.url) as connection, failed, connection.transaction(), connection.pipeline():
        connection.execute("SELECT 1 / 0")
        library.enqueue(connection, "append", {"name": "never"})
    assert not names(database)


@postgresql_only
def test_autocommit_in_a_pipeline_is_refused_before_anything_is_sent(database: PostgresDatabase) -> None:
    refused = pytest.raises(UsageError, match="no transaction is open")
    with psycopg.connect(database.url, autocommit=True) as connection, connection.pipeline(), refused:
        library.enqueue(connection, "append", {"name": "at once"})
    assert not names(database)


@postgresql_only
def test_sqlalchemy_in_a_pipeline_is_refused_before_anything_is_sent(
    database: PostgresDatabase, engine: Engine
) -> None:
    with engine.begin() as connection:
        driver: Any = connection.connection.driver_connection
        with driver.pipeline(), pytest.raises(UsageError, match="pipeline mode"):
            library.enqueue(connection, "append", {"name": "never"})
        library.enqueue(connection, "append", {"name": "after the pipeline"})
    assert names(database) == ["after the pipeline"]


def test_raw_connection_of_an_engine_is_the_connection_of_its_driver(database: Database, engine: Engine) -> None:
    with closing(engine.raw_connection()) as connection:
        library.enqueue(connection, "append", {"name": "rolled back"})
        connection.rollback()
        library.enqueue(connection, "append", {"name": "kept"})
        connection.commit()
    assert names(database) == ["kept"]


@postgresql_only
def test_pool_in_place_of_a_connection_is_refused_in_one_line(database: PostgresDatabase) -> None:
    with psycopg_pool.ConnectionPool(database.url, open=False) as pool:
        with pytest.raises(UsageError, match=r"cannot enqueue through psycopg_pool\.\S+; give the connection"):
            library.enqueue(pool, "append", {})  # type: ignore[arg-type]
        with pool.connection() as connection:
            library.enqueue(connection, "append", {"name": "lent"})
    assert names(database) == ["lent"]


def test_each_stored_statement_is_taken_in_the_words_for_an_owners_settings(database: Database) -> None:
    """Those of an enqueue and of the end of a run are executed above; the rule is to hold for all."""
    statements = import_module(f"jobrunner.store.sql.compiled.{database.name}").STATEMENTS
    assert len(statements) > 200
    with closing(driver_connection(database)) as connection:
        for name, arguments in statements:
            known = compiled(Prepared(name, arguments), database.name)
            if isinstance(database, SQLiteDatabase):
                values = dict.fromkeys(re.findall(r":(\w+)", known.text), 1)
                connection.execute(f"EXPLAIN {known.undeclared}", values)
            else:
                text, _ = known.as_texts
                connection.pgconn.exec_(b"BEGIN")
                result = connection.pgconn.prepare(b"", text.encode())
                assert not result.error_message, (name, arguments, result.error_message, text)
                connection.pgconn.exec_(b"ROLLBACK")
