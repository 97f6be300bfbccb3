"""Keys: for how long a run holds its key, what an enqueue does that finds it taken, and every way to get that wrong."""

import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from threading import Barrier
from typing import Any

import psycopg
import pytest
from sqlalchemy import create_engine, event

import jobrunner as library
from harness import App, Commands, Database, PostgresDatabase, SQLiteDatabase, postgresql_only, sqlite_only, wait_for
from harness.at_work import running
from jobrunner import Entry, KeyTaken, job
from jobrunner.application import registry
from jobrunner.errors import ConfigurationError, UsageError
from jobrunner.jobs import policy
from jobrunner.jobs.context import Context
from jobrunner.model import Actor
from jobrunner.store import admin
from jobrunner.store.database import Database as Store
from jobrunner.store.location import locate


def opened(database: Database) -> Any:
    if isinstance(database, SQLiteDatabase):
        return sqlite3.connect(database.path, timeout=30)
    return psycopg.connect(database.url)


@pytest.fixture
def connection(database: Database) -> Iterator[Any]:
    with closing(opened(database)) as connection:
        yield connection


@pytest.fixture
def store(database: Database) -> Iterator[Store]:
    opened = Store(locate(database.url), patience=timedelta(seconds=20))
    yield opened
    opened.close()


def scope(database: Database, job_type: str, key_scope: str, key_window: float | None = None) -> None:
    """As a tick or an enqueue writes it that knows the type's code."""
    database.execute(
        "INSERT INTO job_types (job_type, when_full, key_scope, key_window, updated_at) VALUES (?, 'refuse', ?, ?, ?)",
        [job_type, key_scope, key_window, database.now()],
    )


def stored_scopes(database: Database) -> dict[str, tuple[str, float | None]]:
    rows = database.query("SELECT job_type, key_scope, key_window FROM job_types")
    return {row["job_type"]: (row["key_scope"], row["key_window"]) for row in rows}


def end(database: Database, status: str = "succeeded") -> None:
    database.execute("UPDATE job_runs SET status = ?, finished_at = ?", [status, database.now()])


def prune(database: Database) -> None:
    database.execute("DELETE FROM job_runs")


def runs(database: Database) -> list[dict[str, Any]]:
    return database.query("SELECT * FROM job_runs ORDER BY id")


# One by one and as a list, each with a transaction of its own.


def one(connection: Any, job_type: str = "sync", key: str = "k", **options: Any) -> Any:
    try:
        return library.enqueue(connection, job_type, options.pop("payload", {}), idempotency_key=key, **options)
    finally:
        connection.commit()


def listed(connection: Any, job_type: str = "sync", key: str = "k", **options: Any) -> Any:
    entries = [Entry(options.pop("payload", {}), idempotency_key=key), Entry({}, idempotency_key=f"{key} beside it")]
    try:
        return library.enqueue_many(connection, job_type, entries, **options)[0]
    finally:
        connection.commit()


WAYS = [one, listed]


@pytest.mark.promise("P4")
@pytest.mark.parametrize("way", WAYS)
def test_key_of_each_scope_is_free_when_its_scope_ends_and_not_before(
    database: Database, connection: Any, way: Callable[..., Any]
) -> None:
    scope(database, "active", "active")
    scope(database, "window", "window", 3600)
    types = ("forever", "active", "window")

    def outcomes() -> list[str]:
        return [way(connection, job_type).outcome for job_type in types]

    assert outcomes() == ["created"] * 3
    first = [each["id"] for each in runs(database) if each["idempotency_key"] == "k"]
    assert [way(connection, job_type).id for job_type in types] == first
    # A failed run will be tried again, and a running one is at work.
    database.execute("UPDATE job_runs SET status = 'failed'")
    assert outcomes() == ["existing"] * 3
    for ended in ("succeeded", "dead", "cancelled"):
        end(database, ended)
        assert outcomes() == ["existing", "created", "existing"]
        assert outcomes() == ["existing"] * 3
    database.move_clock(timedelta(minutes=59))
    with closing(opened(database)) as later:
        assert [way(later, job_type).outcome for job_type in types] == ["existing"] * 3
    database.move_clock(timedelta(minutes=1))
    with closing(opened(database)) as later:
        assert [way(later, job_type).outcome for job_type in types] == ["existing", "existing", "created"]
    end(database)
    prune(database)
    # The key outlives its run: for ever, or until its window is over.
    with closing(opened(database)) as later:
        assert [way(later, job_type).outcome for job_type in types] == ["existing", "created", "existing"]
        assert way(later, "forever").id == first[0]


def test_a_running_run_holds_an_active_key(database: Database, connection: Any) -> None:
    scope(database, "sync", "active")
    (lease,) = running(database, 1, job_type="sync", idempotency_key="k")
    database.execute("INSERT INTO job_keys VALUES ('sync', 'k', ?, ?)", [lease.run_id, database.now()])
    assert one(connection).id == lease.run_id


@pytest.mark.parametrize("way", WAYS)
def test_taken_key_answers_raises_or_replaces_as_asked(
    database: Database, connection: Any, way: Callable[..., Any]
) -> None:
    first = way(connection, payload={"n": 1}, run_at=timedelta(hours=1), priority=3)
    assert (first.created, first.replaced, first.outcome) == (True, False, "created")
    with pytest.raises(KeyTaken, match=f"key 'k' of the job type 'sync' is taken by run {first.id}, which is queued"):
        way(connection, payload={"n": 2}, taken="raise")
    assert way(connection, payload={"n": 2}, taken="existing").outcome == "existing"
    assert runs(database)[0]["payload"] == {"n": 1}
    replaced = way(connection, payload={"n": 3}, run_at=timedelta(hours=2), priority=9, taken="replace")
    assert (replaced.id, replaced.created, replaced.outcome) == (first.id, False, "replaced")
    row = runs(database)[0]
    # Only the payload and the time.
    assert (row["payload"], row["priority"], row["status"]) == ({"n": 3}, 3, "queued")
    assert round((row["run_at"] - row["created_at"]) / timedelta(hours=1), 2) == 2
    begun = {"failed": 1, "queued": 1}
    for status, attempts in begun.items():
        database.execute("UPDATE job_runs SET status = ?, attempts = ? WHERE id = ?", [status, attempts, first.id])
        answer = way(connection, payload={"n": 4}, taken="replace")
        assert (answer.id, answer.outcome) == (first.id, "existing")
    end(database)
    assert way(connection, payload={"n": 4}, taken="replace").outcome == "existing"
    with pytest.raises(KeyTaken, match="which is succeeded") as caught:
        way(connection, taken="raise")
    assert caught.value.run_id == first.id
    prune(database)
    with pytest.raises(KeyTaken, match=f"run {first.id}, which was pruned"):
        way(connection, taken="raise")
    assert way(connection, key="free", taken="raise").created
    assert way(connection, key="free too", taken="replace").created


def test_replaced_run_is_looked_at_anew_by_the_limits_of_its_type(database: Database, connection: Any) -> None:
    """Its payload may name another customer. A run that waits for other runs goes on waiting."""
    run_id = one(connection).id
    for before, after in {"a customer": "", "after": "after"}.items():
        database.execute("UPDATE job_runs SET gate = ? WHERE id = ?", [before, run_id])
        assert one(connection, payload={"n": 1}, taken="replace").replaced
        assert runs(database)[0]["gate"] == after
        if database.name == "postgresql":
            database.execute("UPDATE job_runs SET gate = ? WHERE id = ?", [before, run_id])
            statement = "SELECT outcome FROM jobrunner_enqueue('sync', idempotency_key => 'k', taken => 'replace')"
            assert database.value(statement) == "replaced"
            assert runs(database)[0]["gate"] == after


def test_list_with_a_taken_key_that_must_be_free_writes_nothing(database: Database, connection: Any) -> None:
    library.enqueue(connection, "sync", {}, idempotency_key="b")
    entries = [Entry({}, idempotency_key="a"), {}, Entry({}, idempotency_key="b", taken="raise")]
    with pytest.raises(KeyTaken):
        library.enqueue_many(connection, "sync", entries)
    connection.commit()
    assert [row["idempotency_key"] for row in database.query("SELECT * FROM job_keys")] == ["b"]
    assert len(runs(database)) == 1
    with pytest.raises(UsageError, match=r'^payloads\[1\]: its key is that of payloads\[0\], and taken is "raise"'):
        library.enqueue_many(connection, "sync", [Entry({}, idempotency_key="a")] * 2, taken="raise")


def test_last_of_a_list_with_the_same_key_replaces_the_others(database: Database, connection: Any) -> None:
    used = one(connection, key="used", payload={"n": -1})
    entries = [Entry({"n": n}, idempotency_key=key) for n, key in enumerate(("new", "used", "new", "used", "new"))]
    answers = library.enqueue_many(connection, "sync", entries, taken="replace")
    connection.commit()
    assert [answer.outcome for answer in answers] == ["created", *["replaced"] * 4]
    assert {answers[n].id for n in (1, 3)} == {used.id}
    assert [row["payload"] for row in runs(database)] == [{"n": 3}, {"n": 4}]


@pytest.mark.parametrize("way", WAYS)
def test_word_for_a_taken_key_that_does_not_exist_is_refused(connection: Any, way: Callable[..., Any]) -> None:
    with pytest.raises(UsageError, match="taken must be one of 'existing', 'raise', 'replace', not 'replaced'"):
        way(connection, taken="replaced")


# The scope of a type is said by its code, and seen by all.


def test_scope_of_a_handler_is_stored_by_its_first_keyed_enqueue(database: Database, connection: Any) -> None:
    @job("daily", key_window="1d")
    def daily(ctx: Context, n: int = 0) -> None: ...

    @job("sync", key_scope="active", max_waiting=1)
    def sync(ctx: Context, n: int = 0) -> None: ...

    @job("plain")
    def plain(ctx: Context) -> None: ...

    assert [each.using(key="k").enqueue(connection).created for each in (daily, sync, plain)] == [True] * 3
    # A used key answers before anything is asked about the limit.
    assert not sync.using(key="k").enqueue(connection).created
    assert daily.using(key="k", taken="replace").enqueue(connection, n=1).replaced
    with pytest.raises(KeyTaken):
        sync.enqueue_many(connection, [sync.using(key="k", taken="raise").entry(n=1)])
    connection.commit()
    assert stored_scopes(database) == {"daily": ("window", 86400), "sync": ("active", None)}
    end(database)
    assert sync.using(key="k").enqueue(connection).created
    connection.commit()
    # Now by its name only, as any other process knows it.
    registry._registered.clear()
    policy._declared.clear()
    end(database)
    assert [one(connection, job_type).created for job_type in ("daily", "sync", "plain")] == [False, True, False]

    # Code of another version: its scope counts from its first enqueue on.
    @job("sync")
    def sync_again(ctx: Context) -> None: ...

    end(database)
    assert not sync_again.using(key="k").enqueue(connection).created
    connection.commit()
    assert stored_scopes(database)["sync"] == ("forever", None)


CODE = """
@job("daily", key_window="1d")
def daily(ctx):
    pass

@job("sync", key_scope="active")
def sync(ctx, **payload):
    pass
"""
FILE = '[jobs.sweep]\ncommand = ["true"]\nkey_scope = "active"\n[jobs.report]\ncommand = ["true"]\nkey_window = "90m"\n'


def test_command_line_knows_the_scopes_of_code_and_file_and_says_what_was_done(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.add(CODE)
    app.path("jobrunner.toml").write_text(FILE)
    jobrunner("enqueue", "sync")
    jobrunner.tick()
    expected = {
        "daily": ("window", 86400.0),
        "sync": ("active", None),
        "sweep": ("active", None),
        "report": ("window", 5400.0),
    }
    assert stored_scopes(database) == expected
    shown = jobrunner("jobs").stdout
    assert "window 1d" in shown
    assert "window 1h30m" in shown
    assert jobrunner("enqueue", "sync", "--key", "k", "--json").json() == {"id": 2, "created": True}
    answers = {
        "existing": {"id": 2, "created": False},
        "replace": {"id": 2, "created": False, "replaced": True},
    }
    for taken, answer in answers.items():
        words = ["--key", "k", "--if-taken", taken, "--payload", f'{{"n": "{taken}"}}', "--json"]
        assert jobrunner("enqueue", "sync", *words).json() == answer
    assert database.value("SELECT payload FROM job_runs WHERE id = 2") == {"n": "replace"}
    refused = jobrunner("enqueue", "sync", "--key", "k", "--if-taken", "raise", check=False)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == "jobrunner: the key 'k' of the job type 'sync' is taken by run 2, which is queued\n"
    refused = jobrunner("enqueue", "sync", "--key", "k", "--if-taken", "fail", check=False)
    assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)
    # The key is free, is taken by another run, and then the first one is to be begun again.
    end(database)
    assert jobrunner("enqueue", "sync", "--key", "k", "--allow-unknown").stdout == "3\n"
    refused = jobrunner("retry", 2, "--force", check=False)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == "jobrunner: run 2 is succeeded: its key is taken by run 3; cancel that one first\n"


@pytest.mark.either_database
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"key_scope": "actives"}, "the nearest is 'active'"),
        ({"key_scope": "window"}, 'such as key_window "1d"'),
        ({"key_scope": "active", "key_window": "1d"}, "leave one of them out"),
        ({"key_window": 0}, "holds no key"),
        ({"key_window": "a day"}, "not a duration"),
    ],
)
def test_scope_that_cannot_be_used_is_refused_at_import(
    jobrunner: Commands, app: App, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):

        @job("sync", **options)
        def sync(ctx: Context) -> None: ...

    from jobrunner.settings import toml_file

    file = app.path("wrong.toml")
    lines = [f"{key} = {value!r}".replace("'", '"') for key, value in options.items()]
    file.write_text("\n".join(["[jobs.sync]", 'command = ["true"]', *lines]))
    with pytest.raises(ConfigurationError, match=words):
        toml_file.read(file)


# Many at once.


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
                barrier.wait(60)
                if number == 0 and turn:
                    end(database)
                    database.execute("UPDATE job_keys SET created_at = ?", [database.now() - timedelta(hours=2)])
                barrier.wait(60)
                key = f"k{turn}" if key_scope == "forever" else "k"
                answer = (
                    library.enqueue(connection, "sync", {}, idempotency_key=key)
                    if number % 2
                    else library.enqueue_many(connection, "sync", [Entry({}, idempotency_key=key)])[0]
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
        second = library.enqueue(connection, "sync", {}, idempotency_key="k")
        retry = pool.submit(store.write, lambda each: admin.retry(each, first.id, Actor("someone")))
        wait_for(waits, 20, "the retry")
        connection.commit()
        refused = retry.result(20)
        assert (refused.applied, refused.key_holder) == (False, second.id)
        end(database, "dead")
        with psycopg.connect(database.url) as other:
            wrapped = Store(locate(database.url), patience=timedelta(seconds=20))
            own = wrapped.connect()
            own.begin()
            assert admin.retry(own, first.id, Actor("someone")).applied
            answer = pool.submit(library.enqueue, other, "sync", {}, idempotency_key="k")
            wait_for(waits, 20, "the enqueue")
            own.commit()
            wrapped.close()
            assert (answer.result(20).id, answer.result().outcome) == (first.id, "existing")
    assert database.value("SELECT count(*) FROM job_runs WHERE status = 'queued'") == 1


@pytest.mark.promise("P4")
def test_retry_takes_its_key_again_or_is_refused(database: Database, connection: Any, store: Store) -> None:
    scope(database, "sync", "active")
    scope(database, "window", "window", 3600)
    first = one(connection)
    end(database, "dead")
    second = one(connection)

    def retry(run_id: int, *, force: bool = False) -> tuple[bool, int | None]:
        answer = store.write(lambda each: admin.retry(each, run_id, Actor("someone"), force=force))
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


def test_key_left_without_a_run_by_a_failed_enqueue_is_free(database: Database, connection: Any) -> None:
    """On SQLite a transaction goes on after an error, and the application may commit it."""
    database.execute("INSERT INTO job_keys VALUES ('sync', 'k', NULL, ?)", [database.now()])
    assert one(connection).created
    database.execute("UPDATE job_keys SET run_id = NULL")
    assert listed(connection).created


# Autocommit.


def autocommit_connections(database: Database) -> Iterator[tuple[str, Any]]:
    url = database.url.replace("postgresql://", "postgresql+psycopg://")
    for name, engine in {
        "the engine's level": create_engine(url, isolation_level="AUTOCOMMIT"),
        "the engine's option": create_engine(url).execution_options(isolation_level="AUTOCOMMIT"),
    }.items():
        with engine.connect() as connection:
            yield name, connection
        engine.dispose()
    engine = create_engine(url)
    with engine.connect() as connection:
        yield "the connection's option", connection.execution_options(isolation_level="AUTOCOMMIT")
    engine.dispose()
    driver = opened(database)
    if isinstance(database, SQLiteDatabase):
        driver.isolation_level = None
    else:
        driver.autocommit = True
    yield "the driver's", driver
    driver.close()


def test_enqueue_in_autocommit_is_refused_before_anything_is_sent(database: Database) -> None:
    """Found: through SQLAlchemy each statement committed by itself. After a crash the key stood for no run."""
    for name, connection in autocommit_connections(database):
        for way in (library.enqueue, library.enqueue_many):
            payloads: Any = {} if way is library.enqueue else [Entry({}, idempotency_key="k")]
            with pytest.raises(UsageError, match="no transaction is open on this connection"):
                way(connection, "sync", payloads)
        assert not database.query("SELECT * FROM job_keys"), name
        assert not runs(database), name


@sqlite_only
def test_application_that_begins_in_an_event_of_sqlalchemy_can_enqueue(database: SQLiteDatabase) -> None:
    """SQLAlchemy's own recipe for SQLite: the driver begins nothing, and an event sends BEGIN."""
    engine = create_engine(database.url)

    def connected(driver: Any, _: Any) -> None:
        driver.isolation_level = None

    event.listen(engine, "connect", connected)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    with engine.connect() as connection:
        library.enqueue(connection, "sync", {}, idempotency_key="k")
        connection.rollback()
        assert runs(database) == []
        library.enqueue(connection, "sync", {}, idempotency_key="k")
        connection.commit()
    engine.dispose()
    assert len(runs(database)) == 1


def test_keyed_enqueue_sends_few_statements(database: Database) -> None:
    """Three if the key is new, two if it is taken, and five if another run had it."""
    scope(database, "active", "active")
    engine = create_engine(database.url.replace("postgresql://", "postgresql+psycopg://"))
    sent: list[str] = []
    with engine.connect() as connection:
        event.listen(connection, "before_cursor_execute", lambda *args: sent.append(args[2]))
        for job_type, counts in {"forever": [3, 2, 2], "active": [3, 2, 5]}.items():
            for count in counts:
                if count == counts[-1] and len(sent) == 0 and job_type == "active":
                    connection.exec_driver_sql("UPDATE job_runs SET status = 'dead', finished_at = created_at")
                sent.clear()
                library.enqueue(connection, job_type, {}, idempotency_key="k")
                assert len(sent) == count, (job_type, sent)
                sent.clear()
    engine.dispose()
