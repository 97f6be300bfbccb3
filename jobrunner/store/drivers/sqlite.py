"""A connection to an SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jobrunner.errors import JobrunnerError
from jobrunner.store.drivers.connection import Connection, DriverError, Holder, Wire
from jobrunner.store.drivers.raw import raw_driver
from jobrunner.store.drivers.waits import Waits
from jobrunner.store.sql.encoding import read_text
from jobrunner.store.sql.statement import Compiled

WAL = "PRAGMA journal_mode = WAL"
OLDEST = (3, 37)
"""The first SQLite with STRICT tables."""


class FileWire(Wire):
    """An SQLite file."""

    def __init__(self, driver: sqlite3.Connection, file: Path) -> None:
        self._driver = driver
        self._file = file

    def cancel(self) -> None:
        self._driver.interrupt()

    def shut(self) -> None:
        self._driver.interrupt()

    def holder(self) -> Holder | None:
        from jobrunner.store.drivers import file_locks

        found = file_locks.writer(str(self._file))
        if found is None:
            return None
        return Holder(f"{found} holds the write lock of the file", f"let it end its transaction, or: kill {found.pid}")


class FileConnection(Connection):
    """A connection to a file."""

    database = "sqlite"
    _refusal_of_writes = "PRAGMA query_only = ON"

    def __init__(self, file: Path, waits: Waits) -> None:
        uri = raw_driver.file_uri(file)
        try:
            driver = sqlite3.connect(uri, uri=True, timeout=waits.file, check_same_thread=False)
        except sqlite3.Error as error:
            raise DriverError(error, is_gone=True) from error
        super().__init__(driver, waits, sqlite3.Error)
        self.wire = FileWire(driver, file)

    def prepare(self) -> None:
        """Set the options of the connection."""
        self.driver.text_factory = read_text
        try:
            raw_driver.prepare_file_connection(self.driver)
        except sqlite3.Error as error:
            raise self.raised(error) from error

    def begin(self, *, writes: bool = True, is_snapshot: bool = False) -> None:
        # What only reads is a snapshot. A deferred transaction that reads and then writes may fail at once, in spite of
        # the busy timeout.
        self.execute("BEGIN IMMEDIATE" if writes else "BEGIN")

    def set_wal(self) -> None:
        """Set the journal, which the file itself stores. Call it outside a transaction; only ``migrate`` does.

        When eight processes set it at the same time, some got "database is locked".
        """
        self.execute(WAL)

    def checkpoint(self) -> None:
        """Move the content of the file's write-ahead log into the file itself. Call it outside a transaction."""
        self.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def sever(self) -> None:
        self.driver.close()

    def _run(self, known: Compiled, parameters: Mapping[str, Any]) -> Any:
        return self.driver.execute(known.text, parameters)

    def _is_gone(self, error: Exception) -> bool:
        return isinstance(error, sqlite3.ProgrammingError) and "closed database" in str(error)

    def _commit(self) -> bool:
        self.driver.execute("COMMIT")
        return True

    def _rollback(self) -> None:
        if self.driver.in_transaction:
            self.driver.execute("ROLLBACK")


def check_version() -> None:
    """Raise JobrunnerError if the SQLite of this Python has no STRICT tables."""
    if sqlite3.sqlite_version_info < OLDEST:
        version, needed = (".".join(map(str, each)) for each in (sqlite3.sqlite_version_info, OLDEST))
        raise JobrunnerError(
            f"this Python has SQLite {version}, and jobrunner needs {needed}; take a Python with a newer one,"
            " or PostgreSQL"
        )
