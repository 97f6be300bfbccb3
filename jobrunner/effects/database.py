"""The database connection of a child, for its guarded effects. It is opened on first use."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

from jobrunner.effects.notes import EffectNotes
from jobrunner.errors import UsageError
from jobrunner.store.drivers.call_limit import limited
from jobrunner.store.drivers.database import Connection, Database
from jobrunner.store.drivers.location import locate
from jobrunner.store.drivers.waits import Waits, of_tick

T = TypeVar("T")


class ChildDatabase:
    """One connection for all runs of a child. Any thread may use it; they take turns. ``folder`` is for its notes."""

    def __init__(self, url: str, lease_seconds: float, schema: str | None = None, folder: str | None = None) -> None:
        self.location = locate(url, schema)
        self.notes = EffectNotes(() if folder is None else (folder,), url, schema)
        self.lease_seconds = lease_seconds
        self.waits = Waits.of(of_tick(timedelta(seconds=lease_seconds)))
        self._database = Database(self.location, patience=self.waits)
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._engine: Any = None
        self._async_engine: Any = None

    def write(self, work: Callable[[Connection], T]) -> T:
        """As ``Database.write``."""
        with self._in_turn():
            return self._database.write(work)

    def confirm(self, work: Callable[[Connection], T]) -> T:
        """As ``Database.confirm``."""
        with self._in_turn():
            return self._database.confirm(work)

    def read(self, work: Callable[[Connection], T]) -> T:
        """As ``Database.read``."""
        with self._in_turn():
            return self._database.read(work)

    def close(self) -> None:
        """Close the connection. The next use opens a new one."""
        self._database.close()

    def hit(self, point: str) -> None:
        """As ``Database.hit``."""
        self._database.hit(point)

    def engine(self) -> Any:
        """An engine of SQLAlchemy for handlers that have none of their own."""
        if self._engine is None:
            from jobrunner.store.drivers.engine import open_engine

            self._engine = open_engine(self.location, self.waits)
        return self._engine

    def async_engine(self) -> Any:
        """The same for async handlers."""
        if self._async_engine is None:
            from jobrunner.store.drivers.engine import open_async_engine

            self._async_engine = open_async_engine(self.location, self.waits)
        return self._async_engine

    @contextmanager
    def _in_turn(self) -> Iterator[None]:
        if os.getpid() != self._pid:
            raise UsageError("a process that the handler has forked cannot use ctx: it would share its connection")
        with self._lock, limited(self._database):
            try:
                yield
            except Exception:
                raise
            except BaseException:
                # The handler was stopped in the middle of a statement, so the state of the connection is not known.
                self._database.close()
                raise
