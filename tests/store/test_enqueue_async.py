"""Enqueue on connections of an event loop: the run belongs to the transaction open on it, by the rules of `enqueue`."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import aiosqlite
import asyncpg  # type: ignore[import-untyped]
import psycopg
import pytest
from sqlalchemy.ext.asyncio import create_async_engine

import jobrunner as library
from harness import Database, SQLiteDatabase, postgresql_only
from harness.async_connections import KINDS, Opened
from harness.backpressure import limit
from jobrunner import Context, Entry, KeyTaken, QueueFull, job
from jobrunner.application import own_connections
from jobrunner.errors import BadPayload, DatabaseUnavailable, UsageError

Story = Callable[[Opened], Awaitable[None]]


def on_each_kind(database: Database, story: Story) -> None:
    """Tell the story on each kind of connection. Between two of them the tables are emptied."""

    async def tell() -> None:
        for kind in KINDS[database.name]:
            for table in ("job_runs", "job_keys", "job_types"):
                database.execute(f"DELETE FROM {table}")
            async with kind(database) as opened:
                await opened.begin()
                try:
                    await story(opened)
                except BaseException as error:
                    error.add_note(f"on {kind.__name__}")
                    raise

    asyncio.run(tell())


def runs(database: Database) -> list[dict[str, Any]]:
    return database.query("SELECT * FROM job_runs ORDER BY id")


@pytest.mark.promise("P1")
def test_run_enqueued_with_await_appears_only_when_the_callers_transaction_commits(database: Database) -> None:
    at = datetime(2031, 5, 1, 12, 30, 0, 250_000, tzinfo=UTC)
    text = "ä % %s :name $1 \\ \"'\N{SNOWMAN}"
    options: list[dict[str, Any]] = [
        {"run_at": at, "priority": -5, "max_attempts": 3, "timeout": "none", "key": "ä'\"%s:$1"},
        {"run_at": timedelta(hours=2), "timeout": timedelta(milliseconds=1500)},
        {},
    ]

    async def story(opened: Opened) -> None:
        await library.enqueue_async(opened.connection, "append", {"name": "rolled back"})
        await opened.rollback()
        assert runs(database) == []
        await opened.begin()
        answers = [await library.enqueue_async(opened.connection, "append", {"name": text}, **each) for each in options]
        assert runs(database) == []
        await opened.commit()
        rows = runs(database)
        assert [(each.id, each.created) for each in answers] == [(row["id"], True) for row in rows]
        assert {row["payload"]["name"] for row in rows} == {text}
        columns = ("priority", "max_attempts", "timeout", "idempotency_key")
        assert [tuple(row[name] for name in columns) for row in rows] == [
            (-5, 3, 0.0, "ä'\"%s:$1"),
            (0, None, 1.5, None),
            (0, None, None, None),
        ]
        assert rows[0]["run_at"] == at
        assert [rows[n]["run_at"] - rows[n]["created_at"] for n in (1, 2)] == [timedelta(hours=2), timedelta()]

    on_each_kind(database, story)


def test_keys_limits_and_lists_keep_their_rules_with_await(database: Database) -> None:
    @job("sync", key_scope="active")
    def sync(ctx: Context, n: int) -> None: ...

    async def story(opened: Opened) -> None:
        limit(database, "limited", 2)
        first = await sync.using(key="k").enqueue_async(opened.connection, n=1)
        again = await sync.using(key="k").enqueue_async(opened.connection, n=2)
        replaced = await sync.using(key="k", if_taken="replace").enqueue_async(opened.connection, n=3)
        assert [each.outcome for each in (first, again, replaced)] == ["created", "existing", "replaced"]
        with pytest.raises(KeyTaken):
            await sync.using(key="k", if_taken="raise").enqueue_async(opened.connection, n=4)
        await opened.commit()
        database.execute("UPDATE job_runs SET status = 'dead', finished_at = ?", [database.now()])
        await opened.begin()
        entries = [sync.using(key=key).entry(n=5) for key in ("k", "l", "k")]
        listed = await sync.enqueue_many_async(opened.connection, entries, run_at=timedelta(hours=1), timeout="5s")
        assert [each.outcome for each in listed] == ["created", "created", "existing"]
        await library.enqueue_many_async(opened.connection, "limited", [{}, Entry({}, priority=3)])
        with pytest.raises(QueueFull):
            await library.enqueue_async(opened.connection, "limited")
        # Refused before anything is sent.
        with pytest.raises(BadPayload):
            await sync.enqueue_async(opened.connection, n="one")  # type: ignore[arg-type]
        assert await sync.enqueue_many_async(opened.connection, []) == []
        await opened.commit()
        rows = runs(database)
        assert [(row["job_type"], row["payload"]) for row in rows] == [
            ("sync", {"n": 3}),
            *[("sync", {"n": 5})] * 2,
            *[("limited", {})] * 2,
        ]
        assert [row["id"] for row in rows[1:3]] == [listed[0].id, listed[1].id]
        assert database.value("SELECT key_scope FROM job_types WHERE job_type = 'sync'") == "active"

    on_each_kind(database, story)


def test_run_enqueued_with_await_waits_for_the_runs_of_after(database: Database) -> None:
    async def story(opened: Opened) -> None:
        first, second = [await library.enqueue_async(opened.connection, "append", {}) for _ in range(2)]
        third = await library.enqueue_async(
            opened.connection, "append", {}, after=[first, second], if_parent_fails="run"
        )
        await opened.commit()
        waiting = database.query("SELECT * FROM job_parents ORDER BY parent_id")
        assert [(row["parent_id"], row["run_id"]) for row in waiting] == [(first.id, third.id), (second.id, third.id)]
        assert {row["if_parent_fails"] for row in waiting} == {"run"}
        assert [row["gate"] for row in runs(database)] == ["", "", "after"]
        database.execute("DELETE FROM job_parents")

    on_each_kind(database, story)


def test_enqueue_with_await_in_autocommit_is_refused_before_anything_is_sent(database: Database) -> None:
    url = database.url.partition(":")[2]

    async def refused(connection: Any) -> None:
        with pytest.raises(UsageError, match="no transaction is open on this connection"):
            await library.enqueue_async(connection, "append", {}, key="k")

    async def story() -> None:
        schemes = ["sqlite+aiosqlite"]
        if isinstance(database, SQLiteDatabase):
            async with aiosqlite.connect(database.path, isolation_level=None) as file:
                await refused(file)
                await file.execute("BEGIN")
                await library.enqueue_async(file, "append", {"begun": "by hand"})
                await file.rollback()
        else:
            schemes = ["postgresql+asyncpg", "postgresql+psycopg"]
            async with await psycopg.AsyncConnection.connect(database.url, autocommit=True) as server:
                await refused(server)
                async with server.transaction(force_rollback=True):
                    await library.enqueue_async(server, "append", {})
            connection = await asyncpg.connect(database.url)
            await refused(connection)
            await connection.close()
        for scheme in schemes:
            engine = create_async_engine(f"{scheme}:{url}", isolation_level="AUTOCOMMIT")
            async with engine.connect() as connection:
                await refused(connection)
            await engine.dispose()

    asyncio.run(story())
    assert not database.query("SELECT * FROM job_keys")
    assert runs(database) == []


def test_connection_of_the_other_kind_is_refused_with_the_right_way(database: Database) -> None:
    async def story(opened: Opened) -> None:
        with pytest.raises(UsageError, match=r"enqueue_async|cannot enqueue through"):
            library.enqueue(opened.connection, "append", {})
        for given in (opened, "a text", object()):
            with pytest.raises(UsageError, match=r"cannot enqueue through .* with await"):
                await library.enqueue_async(given, "append", {})  # type: ignore[arg-type]

    on_each_kind(database, story)
    assert runs(database) == []


@pytest.mark.promise("P4")
def test_enqueue_cancelled_at_any_statement_leaves_no_run_without_its_key(database: Database) -> None:
    """A caller with a time limit may go on with its transaction, and enqueue again."""

    async def story(opened: Opened) -> None:
        if hasattr(opened.connection, "run_sync"):
            # SQLAlchemy closes a connection on which a call was cancelled.
            return
        for turn in range(8):
            task = asyncio.ensure_future(library.enqueue_async(opened.connection, "append", {}, key=f"k{turn}"))
            for _ in range(turn):
                await asyncio.sleep(0)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            try:
                await library.enqueue_async(opened.connection, "append", {}, key=f"k{turn}")
            except Exception:  # noqa: BLE001 - the driver may have aborted the transaction: then nothing is in it
                await opened.rollback()
                await opened.begin()
        await opened.commit()
        statement = "SELECT count(*) FROM job_runs r WHERE NOT EXISTS (SELECT 1 FROM job_keys k WHERE k.run_id = r.id)"
        assert database.value(statement) == 0
        assert database.value("SELECT count(*) FROM job_keys WHERE run_id IS NULL") == 0

    on_each_kind(database, story)


# Without a connection.


@pytest.fixture
def _configured(database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("JOBRUNNER_DATABASE_URL", database.url)
    monkeypatch.delenv("JOBRUNNER_CONFIG", raising=False)
    monkeypatch.delenv("JOBRUNNER_APP_DIR", raising=False)
    yield
    own_connections.own_connections().close()
    own_connections._opened.clear()


@pytest.mark.usefixtures("_configured")
def test_enqueue_without_a_connection_commits_on_one_of_a_few_of_our_own(database: Database) -> None:
    @job("sync", key_scope="active")
    def sync(ctx: Context, n: int) -> None: ...

    async def story() -> None:
        answers = await asyncio.gather(*(sync.enqueue_async(None, n=n) for n in range(20)))
        assert len({each.id for each in answers}) == 20
        assert len(await library.enqueue_many_async(None, "append", [{}, {}])) == 2
        keyed = await asyncio.gather(*(sync.using(key="k").enqueue_async(None, n=n) for n in range(8)))
        assert sum(each.created for each in keyed) == 1
        with pytest.raises(KeyTaken):
            await sync.using(key="k", if_taken="raise").enqueue_async(None, n=1)

    asyncio.run(story())
    assert len(runs(database)) == 23
    # Without await, too.
    assert sync.enqueue(None, n=1).created
    assert library.enqueue(None, "append", {}, key="k").created
    assert len(sync.enqueue_many(None, [{"n": 1}, sync.using(key="k").entry(2)])) == 2
    with pytest.raises(KeyTaken):
        library.enqueue(None, "append", {}, key="k", if_taken="raise")
    assert len(runs(database)) == 26
    assert len(own_connections.own_connections()._databases) <= 4


@postgresql_only
@pytest.mark.usefixtures("_configured")
def test_own_connection_that_was_cut_while_idle_is_opened_again(database: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asyncio.run(library.enqueue_async(None, "append", {}))
    database.cut_connections()
    monkeypatch.setattr(own_connections, "_IDLE_SECONDS", 0.0)
    asyncio.run(library.enqueue_async(None, "append", {}))
    assert len(runs(database)) == 2


def test_enqueue_without_a_connection_to_a_database_that_is_not_there_says_so(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOBRUNNER_DATABASE_URL", "sqlite:////nonexistent/app.db")
    with pytest.raises(DatabaseUnavailable, match="nonexistent"):
        asyncio.run(library.enqueue_async(None, "append", {}))
    own_connections.own_connections().close()
    own_connections._opened.clear()
