"""Enqueue through a connection that is not SQLAlchemy's: the run belongs to the transaction open on it."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from sqlalchemy import Engine
from sqlalchemy.orm import Session

import jobrunner as library
from harness import Commands, Database, PostgresDatabase, SQLiteDatabase, postgresql_only, sqlite_only
from jobrunner.errors import QueueFull, UsageError

DJANGO = """
import json, os, sys
from urllib.parse import urlsplit, unquote
import django
from django.conf import settings

url = urlsplit(os.environ["JOBRUNNER_DATABASE_URL"])
if url.scheme == "sqlite":
    database = {"ENGINE": "django.db.backends.sqlite3", "NAME": url.path}
else:
    database = {"ENGINE": "django.db.backends.postgresql", "NAME": url.path[1:], "HOST": url.hostname, "PORT": url.port,
                "USER": unquote(url.username), "PASSWORD": unquote(url.password or "")}
settings.configure(DATABASES={"default": {**database, **json.loads(sys.argv[1])}}, USE_TZ=True)
django.setup()
from django.db import connection, transaction
import jobrunner
from jobrunner.errors import UsageError

said = {}


def enqueue(name, **options):
    return jobrunner.enqueue(connection, "append", {"name": name}, **options)


def order(number):
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO orders VALUES (%s)", [number])


with connection.cursor() as cursor:
    cursor.execute("CREATE TABLE orders (id INTEGER)")
with transaction.atomic():
    order(1)
    said["first"] = enqueue("committed", key="k").id
    said["again"] = enqueue("again", key="k").created
try:
    with transaction.atomic():
        order(2)
        enqueue("rolled back")
        raise ZeroDivisionError
except ZeroDivisionError:
    pass
with transaction.atomic():
    order(3)
    with transaction.atomic():
        enqueue("savepoint released")
    try:
        with transaction.atomic():
            order(4)
            enqueue("savepoint rolled back")
            raise ZeroDivisionError
    except ZeroDivisionError:
        pass
    enqueue("after the savepoint")
    transaction.set_rollback(False)
with transaction.atomic():
    said["many"] = [each.id for each in jobrunner.enqueue_many(connection, "append", [{"name": n} for n in "ab"])]
with transaction.atomic():
    order(5)
    enqueue("marked for rollback")
    transaction.set_rollback(True)
try:
    enqueue("no transaction")
except UsageError as error:
    said["autocommit"] = str(error)
with connection.cursor() as cursor:
    cursor.execute("SELECT id FROM orders ORDER BY id")
    said["orders"] = [row[0] for row in cursor.fetchall()]
    said["still usable"] = connection.is_usable()
connection.set_autocommit(False)
enqueue("autocommit off, rolled back")
transaction.rollback()
enqueue("autocommit off, committed")
transaction.commit()
print(json.dumps(said))
"""


def names(database: Database) -> list[str]:
    return [row["payload"]["name"] for row in database.query("SELECT payload FROM job_runs ORDER BY id")]


@pytest.mark.parametrize("options", [{}, {"CONN_MAX_AGE": 60, "AUTOCOMMIT": True}], ids=["plain", "persistent"])
def test_run_enqueued_in_django_commits_or_rolls_back_with_its_atomic_block(
    jobrunner: Commands, database: Database, options: dict[str, Any]
) -> None:
    said = json.loads(jobrunner.python(DJANGO, json.dumps(options)))
    assert names(database) == [
        "committed",
        "savepoint released",
        "after the savepoint",
        "a",
        "b",
        "autocommit off, committed",
    ]
    assert said["orders"] == [1, 3]
    assert said["first"] == database.value("SELECT id FROM job_runs ORDER BY id LIMIT 1")
    assert said["again"] is False
    assert said["many"] == [row["id"] for row in database.query("SELECT id FROM job_runs ORDER BY id")][3:5]
    assert "transaction.atomic()" in said["autocommit"]


def opened(database: Database) -> Any:
    """A connection of the driver as an application might set it up."""
    if isinstance(database, SQLiteDatabase):
        connection = sqlite3.connect(database.path)
        connection.row_factory = sqlite3.Row
        return connection
    return psycopg.connect(database.url, row_factory=dict_row)


@pytest.fixture
def connection(database: Database) -> Iterator[Any]:
    with closing(opened(database)) as connection:
        yield connection


def test_a_run_enqueued_on_a_drivers_connection_appears_only_when_that_commits(
    database: Database, connection: Any
) -> None:
    library.enqueue(connection, "append", {"name": "rolled back"})
    connection.rollback()
    answer = library.enqueue(connection, "append", {"name": "kept"}, key="k")
    assert not names(database)
    connection.commit()
    assert names(database) == ["kept"]
    again = library.enqueue(connection, "append", {"name": "again"}, key="k")
    assert (again.id, again.created) == (answer.id, False)


def test_every_option_of_enqueue_works_on_every_connection(database: Database, connection: Any, engine: Engine) -> None:
    at = datetime(2031, 5, 1, 12, 30, 0, 250_000, tzinfo=UTC)
    said: list[dict[str, Any]] = [
        {"run_at": at, "priority": -5, "max_attempts": 3, "timeout": "none", "key": "ä'\"%s:"},
        {"run_at": timedelta(hours=2), "timeout": timedelta(milliseconds=1500)},
        {"max_attempts": 1},
    ]
    text = "ä % %s :name \\ \"'\N{SNOWMAN}"
    for options in said:
        library.enqueue(connection, "append", {"name": text}, **options)
    connection.commit()
    with Session(engine) as session:
        for options in said:
            library.enqueue(session, "other", {"name": text}, **options)
        session.commit()
    for job_type in ("append", "other"):
        rows = database.query("SELECT * FROM job_runs WHERE job_type = ? ORDER BY id", [job_type])
        assert [row["payload"] for row in rows] == [{"name": text}] * 3
        assert [(row["priority"], row["max_attempts"], row["timeout"]) for row in rows] == [
            (-5, 3, 0.0),
            (0, None, 1.5),
            (0, 1, None),
        ]
        assert [row["idempotency_key"] for row in rows] == ["ä'\"%s:", None, None]
        assert rows[0]["run_at"] == at
        assert [rows[n]["run_at"] - rows[n]["created_at"] for n in (1, 2)] == [timedelta(hours=2), timedelta()]


def test_callers_connection_keeps_its_settings(database: Database, connection: Any) -> None:
    """Rows as the owner wants them, own SQL functions, and open: nothing of SQLAlchemy's stays on it."""
    if isinstance(database, SQLiteDatabase):
        connection.create_function("regexp", 2, lambda pattern, text: 42)
        factory = connection.row_factory
    else:
        notices: list[str] = []
        connection.add_notice_handler(lambda notice: notices.append(notice.message_primary))
        factory = connection.row_factory
    library.enqueue(connection, "append", {"name": "kept"})
    connection.commit()
    assert connection.row_factory is factory
    row = connection.execute("SELECT status AS one FROM job_runs").fetchone()
    assert row["one"] == "queued"
    if isinstance(database, SQLiteDatabase):
        assert connection.execute("SELECT 'a' REGEXP 'b'").fetchone()[0] == 42
    else:
        assert len(connection._notice_handlers) == 1
        assert connection.autocommit is False


def test_autocommit_connection_is_refused(database: Database, connection: Any) -> None:
    if isinstance(database, SQLiteDatabase):
        connection.isolation_level = None
    else:
        connection.autocommit = True
    with pytest.raises(UsageError, match="no transaction is open"):
        library.enqueue(connection, "append", {"name": "at once"}, key="k")
    assert not database.query("SELECT * FROM job_runs") + database.query("SELECT * FROM job_keys")
    # Begun by hand, it holds.
    connection.execute("BEGIN")
    library.enqueue(connection, "append", {"name": "begun by hand"})
    connection.execute("ROLLBACK")
    assert not names(database)


def test_full_queue_leaves_the_callers_transaction_usable(database: Database, connection: Any) -> None:
    limit = "INSERT INTO job_types (job_type, max_waiting, when_full, updated_at) VALUES ('append', 1, 'refuse', ?)"
    database.execute(limit, [database.now()])
    library.enqueue(connection, "append", {"name": "fits"})
    with pytest.raises(QueueFull):
        library.enqueue(connection, "append", {"name": "does not"})
    library.enqueue(connection, "other", {"name": "another type"})
    connection.commit()
    assert names(database) == ["fits", "another type"]


@sqlite_only
def test_an_enqueue_on_a_drivers_connection_is_one_statement(database: SQLiteDatabase) -> None:
    """On PostgreSQL each is a round trip: that there is one is shown in test_backpressure.py."""
    sent: list[str] = []
    with closing(sqlite3.connect(database.path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.set_trace_callback(sent.append)
        library.enqueue(connection, "append", {"name": "plain"}, priority=3, max_attempts=2, timeout="5s")
        connection.set_trace_callback(None)
    # SQLite tells of it once more for the trigger.
    assert [statement.split()[0] for statement in {*sent}] == ["INSERT"]


@postgresql_only
def test_failure_on_a_callers_connection_raises_the_drivers_own_error(
    database: PostgresDatabase, connection: Any
) -> None:
    with pytest.raises(psycopg.errors.DivisionByZero):
        connection.execute("SELECT 1 / 0")
    with pytest.raises(psycopg.errors.InFailedSqlTransaction):
        library.enqueue(connection, "append", {"name": "too late"})
    connection.rollback()
    library.enqueue(connection, "append", {"name": "after it"})
    connection.commit()
    assert names(database) == ["after it"]


@postgresql_only
def test_a_savepoint_of_psycopg_takes_the_run_with_it(database: PostgresDatabase) -> None:
    with psycopg.connect(database.url, autocommit=True) as connection:
        with connection.transaction():
            library.enqueue(connection, "append", {"name": "outer"})
            with connection.transaction(force_rollback=True):
                library.enqueue(connection, "append", {"name": "inner"})
        assert names(database) == ["outer"]


@sqlite_only
def test_object_that_is_no_connection_is_refused_in_one_line(database: SQLiteDatabase) -> None:
    class AsyncSession:
        def run_sync(self) -> None: ...

    for given, said in ((database.url, "builtins.str"), (AsyncSession(), r"await .*run_sync")):
        with pytest.raises(UsageError, match=said):
            library.enqueue(given, "append", {})  # type: ignore[arg-type]
