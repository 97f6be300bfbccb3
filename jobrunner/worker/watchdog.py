"""The watchdog: a thread that ends database calls that hang. It never waits for the database itself."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from jobrunner import clock
from jobrunner.errors import ConfigurationError
from jobrunner.store.drivers.database import Database
from jobrunner.store.drivers.waits import Waits
from jobrunner.worker import threads
from jobrunner.worker.threads import TickThread

LONGEST_CALL_SHARE = 0.25
"""Of the lease: no database call of a tick may take longer (see ``store.waits``)."""


class Watchdog(TickThread):
    """Cuts database calls that take too long, finds out which transactions they wait for, and calls fences.

    It has its own thread, because the main loop and the heartbeat may both wait for the database, even for the same
    row. Then neither could end the other's call.
    """

    def __init__(self, waits: Waits) -> None:
        super().__init__("jobrunner-watchdog")
        self._look_seconds = min(waits.call / 8, waits.holder_query / 2, 0.5)
        # If a look comes this late, the whole process was stopped.
        self._stall_seconds = 2 * waits.call
        self._recovery_seconds = waits.call
        self._watched: dict[Database, _Watched] = {}
        self._lock = threading.Lock()
        self._closing = threads.Event()

    def add(self, database: Database, fence: Callable[[], None] | None = None) -> None:
        """Watch the calls of a connection. Each look also calls ``fence``."""
        with self._lock:
            self._watched[database] = _Watched(fence)

    def remove(self, database: Database) -> None:
        """Stop watching. After this returns, the connection is not cut and its ``fence`` is not called."""
        with self._lock:
            self._watched.pop(database, None)

    def close(self) -> None:
        """End the thread."""
        self._closing.set()
        if self.is_alive():
            self.join()

    def run(self) -> None:
        """Look at all connections again and again until closed."""
        looked_at = clock.elapsed()
        recovered_at = 0.0
        while not self._closing.wait(self._look_seconds):
            now = clock.elapsed()
            if now - looked_at > self._stall_seconds:
                # After a stall the heartbeat must get time to renew the leases before the fence looks at them.
                recovered_at = now + self._recovery_seconds
            looked_at = now
            if now >= recovered_at:
                self._look()

    def _look(self) -> None:
        with self._lock:
            for database, watched in self._watched.items():
                watched.look(database)
                if watched.fence is not None:
                    watched.fence()


class _Watched:
    """What the watchdog has done about the current call of one connection."""

    def __init__(self, fence: Callable[[], None] | None) -> None:
        self.fence = fence
        self.stuck_for = 0.0
        self.asked = self.cut = False

    def look(self, database: Database) -> None:
        before, self.stuck_for = self.stuck_for, database.stuck_for()
        if self.stuck_for < before:
            self.asked = self.cut = False
        if not self.asked and self.stuck_for > database.waits.holder_query:
            self.asked = True
            _in_own_thread(database.find_holder)
        if not self.cut and self.stuck_for > database.waits.call:
            self.cut = True
            _in_own_thread(database.cut)


def _in_own_thread(act: Callable[[], None]) -> None:
    """Call ``act``, which asks the server, in another thread, because the fence must not wait for the server."""

    def run() -> None:
        with suppress(Exception):
            act()

    try:
        threads.start(run, "jobrunner-inquiry")
    except RuntimeError:
        run()


@contextmanager
def watching(database: Database, *, is_required: bool = True) -> Iterator[Watchdog]:
    """While the block runs, no call to the database takes longer than its ``waits`` allow.

    Raises ConfigurationError when no thread can be started. If not ``is_required``, the block runs without the thread,
    and only the server limits the calls.
    """
    watchdog = Watchdog(database.waits)
    watchdog.add(database)
    try:
        watchdog.start()
    except ConfigurationError:
        if is_required:
            raise
    try:
        yield watchdog
    finally:
        watchdog.close()
