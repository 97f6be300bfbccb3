"""Connections of jobrunner's own, which a test opens one by one."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import timedelta

import pytest

from harness.database import Database
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.drivers.location import locate


@contextmanager
def opening(database: Database, patience_seconds: float) -> Iterator[Callable[[], Store]]:
    """What opens a connection that waits for a lock no longer than this. All are closed in the end."""
    with ExitStack() as opened:
        patience = timedelta(seconds=patience_seconds)
        yield lambda: opened.enter_context(closing(Store(locate(database.url), patience=patience)))


@pytest.fixture
def open_store(database: Database) -> Iterator[Callable[[], Store]]:
    """What opens connections of jobrunner's own, which wait for a lock as long as no test should take."""
    with opening(database, patience_seconds=20) as open_one:
        yield open_one


@pytest.fixture
def store(open_store: Callable[[], Store]) -> Store:
    """One connection of jobrunner's own."""
    return open_store()
