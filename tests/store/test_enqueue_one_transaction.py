"""Very many runs in one transaction: all appear at its commit, and the caller's memory does not grow with them."""

import threading
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest

from harness import Database, PostgresDatabase, SQLiteDatabase
from jobrunner import enqueue, enqueue_many

SAMPLE, MANY = 5_000, 100_000
LISTS = 10
COUNT = "SELECT count(*) FROM job_runs WHERE status = 'queued'"


def enqueue_all(connection: object, count: int) -> None:
    """Nine of ten in lists, the rest one by one."""
    each = count // LISTS
    for _ in range(LISTS - 1):
        enqueue_many(connection, "append", ({"name": str(n)} for n in range(each)))  # type: ignore[arg-type]
    for n in range(each):
        enqueue(connection, "append", {"name": str(n)})  # type: ignore[arg-type]


@contextmanager
def peak_of_memory() -> Iterator[Callable[[], int]]:
    tracemalloc.start()
    try:
        yield lambda: tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@contextmanager
def counted_meanwhile(database: Database) -> Iterator[set[int]]:
    """What another connection counts, again and again, until the end of the block."""
    seen: set[int] = set()
    over = threading.Event()

    def look() -> None:
        is_last = False
        while not is_last:
            is_last = over.is_set()
            seen.add(database.value(COUNT))

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield seen
    finally:
        over.set()
        watcher.join()


def enqueue_in_one_transaction(database: Database, count: int) -> None:
    assert isinstance(database, PostgresDatabase | SQLiteDatabase)
    with closing(database.connect()) as connection:
        connection.execute("BEGIN")
        with peak_of_memory() as peak:
            enqueue_all(connection, count)
            # A list is a tenth of them: what it is told as, its statements' parameters, and the answers.
            assert peak() < 2_000_000 + 3_000 * count // LISTS
        connection.execute("ROLLBACK")
        assert database.value(COUNT) == 0
        connection.execute("BEGIN")
        enqueue_all(connection, count)
        assert database.value(COUNT) == 0
        with counted_meanwhile(database) as seen:
            connection.execute("COMMIT")
    assert seen <= {0, count}
    assert database.value(COUNT) == count


@pytest.mark.promise("P1")
def test_many_runs_of_one_transaction_appear_at_once_and_none_after_a_rollback(database: Database) -> None:
    enqueue_in_one_transaction(database, SAMPLE)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_hundred_thousand_runs_of_one_transaction_appear_at_once(database: Database) -> None:
    enqueue_in_one_transaction(database, MANY)
