"""The watch: a thread that waits for no database, ends calls that hang, and has the fence looked after."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from jobrunner import clock
from jobrunner.errors import ConfigurationError
from jobrunner.store.database import Database
from jobrunner.store.waits import Waits

LONGEST_CALL_SHARE = 0.25
"""A quarter of the lease: longer than that no call of a tick may hang (see ``store.waits``)."""


class TickThread(threading.Thread):
    """A thread that a tick cannot do without."""

    def start(self) -> None:
        """Raises ConfigurationError when the host is at its limit."""
        try:
            super().start()
        except RuntimeError as error:
            raise ConfigurationError(f"{error}: this user has too many processes, or too little memory") from None


class Watchdog(TickThread):
    """Cuts database calls that take longer than they may, has it asked who holds them up, and fences.

    A thread of its own: the main loop and the heartbeat may both wait for the database, even for the same row, and
    then neither could free the other.
    """

    def __init__(self, waits: Waits) -> None:
        super().__init__(name="jobrunner-watchdog", daemon=True)
        self._look_seconds = min(waits.call / 8, waits.who / 2, 0.5)
        # Twice the longest call: the whole process was stopped.
        self._stall_seconds = 2 * waits.call
        self._calm_seconds = waits.call
        self._watched: dict[Database, _Watched] = {}
        self._lock = threading.Lock()
        self._closing = threading.Event()

    def add(self, database: Database, fence: Callable[[], None] | None = None) -> None:
        """Watchdog a connection; with each look also call ``fence``."""
        with self._lock:
            self._watched[database] = _Watched(fence)

    def remove(self, database: Database) -> None:
        """Neither cut it nor call its ``fence`` any more, once this returns."""
        with self._lock:
            self._watched.pop(database, None)

    def close(self) -> None:
        """End the thread."""
        self._closing.set()
        if self.is_alive():
            self.join()

    def run(self) -> None:
        """Look around until closed."""
        looked_at = clock.elapsed()
        calm_at = 0.0
        while not self._closing.wait(self._look_seconds):
            now = clock.elapsed()
            if now - looked_at > self._stall_seconds:
                # The heartbeat comes before anything else.
                calm_at = now + self._calm_seconds
            looked_at = now
            if now >= calm_at:
                self._look()

    def _look(self) -> None:
        with self._lock:
            for database, watched in self._watched.items():
                watched.look(database)
                if watched.fence is not None:
                    watched.fence()


@dataclass(slots=True)
class _Watched:
    """What has been done about the call that is under way on one connection."""

    fence: Callable[[], None] | None
    stuck_for: float = 0.0
    asked: bool = False
    cut: bool = False

    def look(self, database: Database) -> None:
        before, self.stuck_for = self.stuck_for, database.stuck_for()
        if self.stuck_for < before:
            self.asked = self.cut = False
        if not self.asked and self.stuck_for > database.waits.who:
            self.asked = True
            _beside(database.inquire)
        if not self.cut and self.stuck_for > database.waits.call:
            self.cut = True
            _beside(database.cut)


def _beside(act: Callable[[], None]) -> None:
    """Both ask the server, which may take a moment; the fence must not wait for it."""

    def run() -> None:
        with suppress(Exception):
            act()

    try:
        threading.Thread(target=run, name="jobrunner-inquiry", daemon=True).start()
    except RuntimeError:
        run()


@contextmanager
def watching(database: Database, *, at_any_price: bool = True) -> Iterator[Watchdog]:
    """While the block runs, no call to the database takes longer than its ``waits`` say.

    Raises ConfigurationError where no thread can be started; not ``at_any_price``, the server's limits are left.
    """
    watch = Watchdog(database.waits)
    watch.add(database)
    try:
        watch.start()
    except ConfigurationError:
        if at_any_price:
            raise
    try:
        yield watch
    finally:
        watch.close()
