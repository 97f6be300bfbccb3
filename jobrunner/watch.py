"""The watch: a thread that waits for no database, ends calls that hang, and has the fence looked after."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta

from jobrunner import clock
from jobrunner.errors import ConfigurationError
from jobrunner.store.database import Database

LONGEST_CALL_SHARE = 0.25
"""A quarter of the lease: longer than that no call of a tick may hang."""
_STALL_SHARE = 0.5


class TickThread(threading.Thread):
    """A thread that a tick cannot do without."""

    def start(self) -> None:
        """Raises ConfigurationError when the host is at its limit."""
        try:
            super().start()
        except RuntimeError as error:
            raise ConfigurationError(f"{error}: this user has too many processes, or too little memory") from None


class Watch(TickThread):
    """Cuts database calls that hang for a quarter of the lease, and fences.

    A thread of its own: the main loop and the heartbeat may both wait for the database, even for the same row, and
    then neither could free the other.
    """

    def __init__(self, lease: timedelta) -> None:
        super().__init__(name="jobrunner-watch", daemon=True)
        self._lease_seconds = lease.total_seconds()
        self._watched: dict[Database, Callable[[], None] | None] = {}
        self._lock = threading.Lock()
        self._closing = threading.Event()

    def add(self, database: Database, fence: Callable[[], None] | None = None) -> None:
        """Watch a connection; with each look also call ``fence``."""
        with self._lock:
            self._watched[database] = fence

    def remove(self, database: Database) -> None:
        """Neither cut it nor call its ``fence`` any more, once this returns."""
        with self._lock:
            self._watched.pop(database, None)

    def close(self) -> None:
        """End the thread."""
        self._closing.set()
        self.join()

    def run(self) -> None:
        """Look around until closed."""
        looked_at = clock.elapsed()
        calm_at = 0.0
        while not self._closing.wait(min(self._lease_seconds / 32, 0.5)):
            now = clock.elapsed()
            if now - looked_at > self._lease_seconds * _STALL_SHARE:
                # The whole process was stopped: the heartbeat comes before anything else.
                calm_at = now + self._lease_seconds * LONGEST_CALL_SHARE
            looked_at = now
            if now >= calm_at:
                self._look()

    def _look(self) -> None:
        with self._lock:
            for database, fence in self._watched.items():
                if database.stuck_for() > self._lease_seconds * LONGEST_CALL_SHARE:
                    # A COMMIT to a server that stopped answering ignores every timeout but this.
                    with suppress(Exception):
                        database.cut()
                if fence is not None:
                    fence()


@contextmanager
def watching(database: Database, lease: timedelta) -> Iterator[Watch]:
    """While the block runs, no call to the database hangs for longer than about a quarter of the lease."""
    watch = Watch(lease)
    watch.add(database)
    watch.start()
    try:
        yield watch
    finally:
        watch.close()
