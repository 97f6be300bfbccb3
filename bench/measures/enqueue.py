"""What it costs an application to enqueue."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any

from plan import Line, measure
from processes import Failed, NotThere
from sizes import BOTH, POSTGRESQL
from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session
from stage import Queue, Stage, connect

import jobrunner
from harness.database import to_sqlite

_INSERT = "bare INSERT, {db}"
SINGLE, SINGLE_THROUGH_SESSION = "single INSERT, {db}", "single INSERT, SQLAlchemy, {db}"
_COPY = "COPY, PostgreSQL"
_COMMIT = "INSERT and commit, PostgreSQL"
_COLUMNS = "job_type, payload, status, priority, run_at, created_at, updated_at"
_VALUES = "VALUES ('noop', '{{}}', 'queued', 0, {now}, {now}, {now}) RETURNING id"


def _open(queue: Queue, database: str) -> Any:
    # psycopg's and sqlite3's own defaults: what an application has that does not think about it.
    return connect(queue.database.url) if database == POSTGRESQL else sqlite3.connect(queue.database.url[10:])


@contextmanager
def _session(queue: Queue) -> Iterator[Session]:
    engine = create_engine(queue.database.url.replace("postgresql:", "postgresql+psycopg:"))
    with Session(engine) as session:
        yield session
    engine.dispose()


def _insert(connection: Any, database: str) -> Callable[[], object]:
    now = "jobrunner_now()" if database == POSTGRESQL else str(to_sqlite(datetime.now(UTC)))
    words = f"INSERT INTO job_runs ({_COLUMNS}) {_VALUES.format(now=now)}"
    statement: Any = text(words) if isinstance(connection, Session) else words
    return lambda: connection.execute(statement).fetchone()


def _each(connection: Any, count: int, *calls: Callable[[], object]) -> list[float]:
    """Median seconds of each call in one transaction, all in turn; the first ones do not count."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(count + 5):
        for call, taken in zip(calls, times, strict=True):
            began = time.perf_counter()
            call()
            taken.append(time.perf_counter() - began)
    connection.commit()
    return [sorted(taken[5:])[count // 2] for taken in times]


@measure(Line(_INSERT, "ms"), Line("enqueue, {db}", "ms", _INSERT), group="enqueue", on=BOTH)
def enqueue(stage: Stage, database: str) -> Iterator[float]:
    """One INSERT of a run, its id returned, through an open connection, without the commit; median of so many.

    And one `jobrunner.enqueue` on the same connection: both in turn, so that noise meets both alike.
    """
    queue = stage.queue(database)
    with closing(_open(queue, database)) as connection:
        if database != POSTGRESQL:
            connection.execute("BEGIN IMMEDIATE")
        ours = partial(jobrunner.enqueue, connection, "noop", {})
        for seconds in _each(connection, stage.sizes.enqueued, _insert(connection, database), ours):
            yield seconds * 1000


@measure(Line(SINGLE, "runs/s"), group="enqueue", on=BOTH, times=3)
def single_insert(stage: Stage, database: str) -> Iterator[float]:
    """So many (`enqueued`) bare INSERTs of a run, one by one, each committed; the first is not timed."""
    queue = stage.queue(database)
    with closing(_open(queue, database)) as connection:
        yield _singly(queue, stage.sizes.enqueued, connection, _insert(connection, database))


@measure(
    Line("single INSERT, sent together with its BEGIN, PostgreSQL", "runs/s", SINGLE.format(db=POSTGRESQL)),
    group="enqueue",
    times=3,
)
def single_pipelined(stage: Stage) -> Iterator[float]:
    """The same in psycopg's pipeline mode, which saves a round trip: whether an enqueue should use it."""
    queue = stage.queue(POSTGRESQL)
    with closing(_open(queue, POSTGRESQL)) as connection:
        insertion = _insert(connection, POSTGRESQL)

        def once() -> None:
            with connection.pipeline():
                insertion()

        yield _singly(queue, stage.sizes.enqueued, connection, once)


@measure(Line("single enqueue, driver's connection, {db}", "runs/s", SINGLE), group="enqueue", on=BOTH, times=3)
def single(stage: Stage, database: str) -> Iterator[float]:
    """The same with `jobrunner.enqueue`, through the same kind of connection: psycopg's or sqlite3's."""
    queue = stage.queue(database)
    with closing(_open(queue, database)) as connection:
        enqueue_one = partial(jobrunner.enqueue, connection, "noop", {})
        yield _singly(queue, stage.sizes.enqueued, connection, enqueue_one)


@measure(Line(SINGLE_THROUGH_SESSION, "runs/s", SINGLE), group="enqueue", on=BOTH, times=3)
def single_insert_sqlalchemy(stage: Stage, database: str) -> Iterator[float]:
    """The bare INSERTs through one session of SQLAlchemy: what an enqueue through it cannot cost less than."""
    queue = stage.queue(database)
    with _session(queue) as session:
        yield _singly(queue, stage.sizes.enqueued, session, _insert(session, database))


@measure(Line("single enqueue, SQLAlchemy, {db}", "runs/s", SINGLE_THROUGH_SESSION), group="enqueue", on=BOTH, times=3)
def single_sqlalchemy(stage: Stage, database: str) -> Iterator[float]:
    """The same with `jobrunner.enqueue` through one session of SQLAlchemy."""
    queue = stage.queue(database)
    with _session(queue) as session:
        yield _singly(queue, stage.sizes.enqueued, session, partial(jobrunner.enqueue, session, "noop", {}))


def _singly(queue: Queue, count: int, connection: Any, once: Callable[[], object]) -> float:
    """How many a second, each committed; the first is not timed."""
    once()
    connection.commit()
    began = time.perf_counter()
    for _ in range(count - 1):
        once()
        connection.commit()
    seconds = time.perf_counter() - began
    _check_enqueued(queue, count)
    return (count - 1) / seconds


def _check_enqueued(queue: Queue, count: int) -> None:
    if (found := queue.left()) != count:
        raise Failed(f"{found} of {count} runs were enqueued")


@measure(Line(_COPY, "runs/s"), group="enqueue")
def copy(stage: Stage) -> Iterator[float]:
    """COPY of so many (`runs`) rows into job_runs with the commit."""
    queue, rows = stage.queue(POSTGRESQL), stage.sizes.runs
    now = queue.database.now()
    with connect(queue.database.url) as connection:
        began = time.perf_counter()
        with connection.cursor().copy(f"COPY job_runs ({_COLUMNS}) FROM STDIN") as pipe:
            for _ in range(rows):
                pipe.write_row(("noop", "{}", "queued", 0, now, now, now))
        connection.commit()
        yield rows / (time.perf_counter() - began)


@measure(Line("enqueue many, PostgreSQL", "runs/s", _COPY), group="enqueue")
def many(stage: Stage) -> Iterator[float]:
    """So many (`runs`) calls of `jobrunner.enqueue`, one by one, in one transaction with its commit."""
    queue, rows = stage.queue(POSTGRESQL), stage.sizes.runs
    with connect(queue.database.url) as connection:
        jobrunner.enqueue(connection, "noop", {})
        connection.commit()
        began = time.perf_counter()
        for _ in range(rows):
            jobrunner.enqueue(connection, "noop", {})
        connection.commit()
        yield rows / (time.perf_counter() - began)


@measure(Line("enqueue_many, PostgreSQL", "runs/s", _COPY), group="enqueue")
def at_once(stage: Stage) -> Iterator[float]:
    """One call of `jobrunner.enqueue_many` with so many (`runs`) payloads, with its commit."""
    enqueue_many = getattr(jobrunner, "enqueue_many", None)
    if enqueue_many is None:
        raise NotThere("there is no jobrunner.enqueue_many yet")
    queue, rows = stage.queue(POSTGRESQL), stage.sizes.runs
    with connect(queue.database.url) as connection:
        jobrunner.enqueue(connection, "noop", {})
        connection.commit()
        began = time.perf_counter()
        enqueue_many(connection, "noop", [{} for _ in range(rows)])
        connection.commit()
        seconds = time.perf_counter() - began
    _check_enqueued(queue, rows + 1)
    yield rows / seconds


@measure(Line(_COMMIT, "ms"), group="enqueue")
def commit(stage: Stage) -> Iterator[float]:
    """One INSERT of a run and its COMMIT; median of so many transactions."""
    yield _committed(stage, "SELECT 1")


@measure(Line("the same with NOTIFY, PostgreSQL", "ms", _COMMIT), group="enqueue")
def notify(stage: Stage) -> Iterator[float]:
    """The same with a NOTIFY in the transaction, with nobody listening. Both send three statements."""
    yield _committed(stage, "NOTIFY jobrunner_bench")


def _committed(stage: Stage, beside: str) -> float:
    queue = stage.queue(POSTGRESQL)
    with connect(queue.database.url) as connection:
        insertion = _insert(connection, POSTGRESQL)

        def once() -> None:
            insertion()
            connection.execute(beside)
            connection.commit()

        return _each(connection, stage.sizes.enqueued, once)[0] * 1000
