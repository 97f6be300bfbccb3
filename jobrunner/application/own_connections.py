"""Connections of jobrunner's own, for an enqueue or a question that is given none: a few threads with one each.

The connections are those of a tick and of the commands, with the same limits. So nothing is needed besides the driver
that is there already, and an event loop is not held up.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext, suppress
from typing import TypeVar

from jobrunner import clock
from jobrunner.errors import ConnectionLost
from jobrunner.settings import config
from jobrunner.store.drivers import waits
from jobrunner.store.drivers.call_limit import limited
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database
from jobrunner.store.drivers.location import locate

T = TypeVar("T")
_MOST = 4
_IDLE_SECONDS = 1.0


class OwnConnections:
    """The connections to one database. A thread is started when all others are at work."""

    def __init__(self, url: str, schema: str | None) -> None:
        self._location = locate(url, schema)
        self._threads = ThreadPoolExecutor(_MOST, thread_name_prefix="jobrunner-own")
        self._of_thread = threading.local()
        self._databases: list[Database] = []

    def write(self, work: Callable[[Connection], T]) -> Future[T]:
        """Run ``work`` in a transaction and commit it, in one of the threads."""
        return self._threads.submit(self._do, lambda database: database.write(work))

    def read(self, work: Callable[[Connection], T]) -> Future[T]:
        """Run ``work`` in a transaction that only reads, in one of the threads."""
        return self._threads.submit(self._do, lambda database: database.read(work))

    @property
    def label(self) -> str:
        """The name of the database, without its password."""
        return self._location.label

    def close(self) -> None:
        """Close all connections, after the work that is under way."""
        self._threads.shutdown()
        for database in self._databases:
            database.close()

    def _do(self, act: Callable[[Database], T]) -> T:
        database: Database | None = getattr(self._of_thread, "database", None)
        if database is None:
            database = self._of_thread.database = Database(self._location, patience=waits.COMMAND)
            self._databases.append(database)
        elif clock.elapsed() - self._of_thread.used_at > _IDLE_SECONDS:
            # A server that was restarted meanwhile, or a firewall, may have cut it. The next use opens a new one.
            with suppress(ConnectionLost):
                database.read(lambda _: None)
        try:
            # The limits of SQLite itself hold for every call to a file.
            with limited(database) if database.location.has_server else nullcontext():
                return act(database)
        finally:
            self._of_thread.used_at = clock.elapsed()


_opened: dict[tuple[int, str, str | None], OwnConnections] = {}
_lock = threading.Lock()


def own_connections() -> OwnConnections:
    """The connections to the configured database."""
    url, schema = config.database_url(os.environ), config.for_enqueue(os.environ).schema
    # After a fork the child opens its own. Those of its parent stay here, since to close them would disturb the parent.
    key = (os.getpid(), url, schema)
    with _lock:
        if key not in _opened:
            _opened[key] = OwnConnections(url, schema)
        return _opened[key]
