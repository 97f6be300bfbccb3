"""Transactions of the connections that applications lend: without one nothing is sent, and with one little is."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, event

import jobrunner as library
from harness import Database, SQLiteDatabase, sqlite_only
from harness.connections import opened, sqlalchemy_url
from harness.keys import runs, scope
from jobrunner import Entry
from jobrunner.errors import UsageError


def autocommit_connections(database: Database) -> Iterator[tuple[str, Any]]:
    url = sqlalchemy_url(database)
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
            payloads: Any = {} if way is library.enqueue else [Entry({}, key="k")]
            with pytest.raises(UsageError, match="no transaction is open on this connection"):
                way(connection, "sync", payloads)
        assert not database.query("SELECT * FROM job_keys"), name
        assert not runs(database), name


@sqlite_only
def test_application_that_begins_in_an_event_of_sqlalchemy_can_enqueue(
    database: SQLiteDatabase, engine: Engine
) -> None:
    """SQLAlchemy's own recipe for SQLite: the driver begins nothing, and an event sends BEGIN."""

    def connected(driver: Any, _: Any) -> None:
        driver.isolation_level = None

    event.listen(engine, "connect", connected)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    with engine.connect() as connection:
        library.enqueue(connection, "sync", {}, key="k")
        connection.rollback()
        assert runs(database) == []
        library.enqueue(connection, "sync", {}, key="k")
        connection.commit()
    assert len(runs(database)) == 1


def test_keyed_enqueue_sends_few_statements(database: Database, engine: Engine) -> None:
    """Three if the key is new, two if it is taken, and five if another run had it."""
    scope(database, "active", "active")
    sent: list[str] = []
    with engine.connect() as connection:
        event.listen(connection, "before_cursor_execute", lambda *args: sent.append(args[2]))
        for job_type, counts in {"forever": [3, 2, 2], "active": [3, 2, 5]}.items():
            for count in counts:
                if count == counts[-1] and len(sent) == 0 and job_type == "active":
                    connection.exec_driver_sql("UPDATE job_runs SET status = 'dead', finished_at = created_at")
                sent.clear()
                library.enqueue(connection, job_type, {}, key="k")
                assert len(sent) == count, (job_type, sent)
                sent.clear()
