"""The database for a page: a connection for each request, closed again, so that nobody looking costs nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from typing import TypeVar

from jobrunner import clock
from jobrunner.errors import DatabaseUnavailable
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database
from jobrunner.store.drivers.location import Location
from jobrunner.store.drivers.waits import Waits
from jobrunner.store.questions import page_start
from jobrunner.store.upkeep.check import check_schema
from jobrunner.worker.watchdog import watching

T = TypeVar("T")
READING = Waits(lock=1.0, file=1.0, call=2.0)
"""A page that takes longer is given up, with what to do about it."""
WRITING = Waits.of(timedelta(seconds=4))
_MOST_AT_ONCE = 4
_LONGEST_QUEUE_SECONDS = 2.0
_CHECK_SECONDS = 20.0


class Access:
    """Reads and writes, for any thread. ``find`` is called at the first use, when the application is complete."""

    def __init__(self, find: Callable[[], Location], reading: Waits = READING) -> None:
        self._find = find
        self._reading = reading
        self._location: Location | None = None
        self._places = threading.BoundedSemaphore(_MOST_AT_ONCE)
        self._check_at = 0.0
        self.is_writable = True

    @property
    def location(self) -> Location:
        """Where the database is."""
        if self._location is None:
            self._location = self._find()
        return self._location

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in one transaction that only reads. Raises DatabaseUnavailable when ``reading`` is over."""
        with self._opened(self._reading) as database:
            return database.read(self._checked(work))

    def read_now(self, work: Callable[[Connection], T]) -> tuple[datetime, T]:
        """The database's now, and what ``work`` reads. It also finds out whether the database can be written to."""

        def both(connection: Connection) -> tuple[datetime, T]:
            found = page_start.look(connection, self.location)
            self.is_writable = found.is_writable
            return found.at, work(connection)

        return self.read(both)

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in one transaction and commit it, as ``Database.write`` does."""
        with self._opened(WRITING) as database:
            return database.write(self._checked(work))

    @contextmanager
    def _opened(self, waits: Waits) -> Iterator[Database]:
        location = self.location
        if location.is_missing():
            raise DatabaseUnavailable(f"there is no database at {location.file}; create it with: jobrunner migrate")
        if not self._places.acquire(timeout=_LONGEST_QUEUE_SECONDS):
            raise DatabaseUnavailable(f"{_MOST_AT_ONCE} requests for pages wait for the database already; try again")
        try:
            with closing(Database(location, patience=waits)) as database, watching(database, is_required=False):
                yield database
        finally:
            self._places.release()

    def _checked(self, work: Callable[[Connection], T]) -> Callable[[Connection], T]:
        def checked(connection: Connection) -> T:
            if clock.elapsed() >= self._check_at:
                # Again from time to time: the page may outlive an upgrade of the tables.
                check_schema(connection)
                self._check_at = clock.elapsed() + _CHECK_SECONDS
            return work(connection)

        return checked
