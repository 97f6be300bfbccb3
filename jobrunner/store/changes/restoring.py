"""Puts a backup in the place of an SQLite database, through SQLite itself.

A file that is moved over the old one meets the old one's log (``-wal``), if a process was killed before: SQLite replays
that log over it. Here the backup is written as one transaction of the file that is there, into the same log.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from jobrunner import clock, failpoints
from jobrunner.errors import DatabaseHeld, DatabaseUnavailable, JobrunnerError, SchemaMismatch, UsageError
from jobrunner.settings.state_folder import make_private
from jobrunner.store.drivers import causes
from jobrunner.store.drivers.database import Database
from jobrunner.store.drivers.location import of_file
from jobrunner.store.drivers.raw import raw_driver
from jobrunner.store.drivers.schema_fit import number_of
from jobrunner.store.drivers.sqlite import WAL
from jobrunner.store.sql.versions import SCHEMA_REVISION, VERSION_TABLE

_PAGES_OF_STEP = 64
_PAUSE_SECONDS = 0.1
_IN_USE = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
# Where SQLite's own locks are: each process that has a database with a log open holds a part of this.
_SHARED_FIRST, _SHARED_BYTES = 0x40000002, 510


def restore(database: Database, backup: Path, progress: Callable[[int], None] = lambda _: None) -> int:
    """Replace all that is in the database by the backup. Returns the version of its schema.

    It happens as a whole or not at all; other processes may use the database meanwhile. Raises UsageError or
    SchemaMismatch if the backup cannot be used, and DatabaseUnavailable, also if another process uses the backup.
    ``progress`` is called with pages.
    """
    file = database.location.file
    if file is None:
        raise UsageError(f"{database.location.label} is no SQLite file; use pg_restore, or psql for a plain dump")
    if file.exists() and backup.exists() and file.samefile(backup):
        raise UsageError(f"{backup} is the database itself")
    database.close()
    with closing(_opened(backup, database.waits.file)) as source:
        version = _checked(source, backup)
        try:
            _create(file)
            try:
                _copy(source, file, database.waits.file, progress)
            except sqlite3.DatabaseError as error:
                if not _cannot_be_written(error):
                    raise
                _empty(file)
                _copy(source, file, database.waits.file, progress)
        except (sqlite3.Error, OSError) as error:
            found = causes.cause(error, database.location)
            said = f"cannot restore {database.location.label}: {found.reason}; {found.remedy}"
            raise DatabaseUnavailable(said) from None
    return version


def _opened(backup: Path, patience: float) -> sqlite3.Connection:
    uri = raw_driver.file_uri(backup.absolute()).replace("?mode=rw", "?mode=ro")
    try:
        if backup.is_dir():
            raise UsageError(f"cannot read {backup}: it is a folder, and no file")
        if not backup.is_file():
            raise UsageError(f"cannot read {backup}: there is no such file")
        if _is_left_alone(backup):
            # SQLite makes no files beside it, and the folder may be read-only.
            uri += "&immutable=1"
        return sqlite3.connect(uri, uri=True, timeout=patience)
    except (sqlite3.Error, OSError) as error:
        raise _unreadable(error, backup) from None


def _is_left_alone(backup: Path) -> bool:
    """Whether nobody has it open, as each who opens a file with a write-ahead log makes that log."""
    with backup.open("rb") as file:
        has_log = file.read(20)[18:] == b"\2\2"
    return has_log and not any(backup.with_name(f"{backup.name}{each}").exists() for each in ("-wal", "-journal"))


def _checked(source: sqlite3.Connection, backup: Path) -> int:
    """The version of the schema of a backup that is whole, and of jobrunner."""
    try:
        # The copy is of what was checked, whoever writes the backup meanwhile.
        source.execute("BEGIN")
        (found,) = source.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise UsageError(f"{backup} is damaged itself; nothing was changed")
        row = source.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchone()  # noqa: S608 - our own word
    except sqlite3.Error as error:
        if "no such table" not in str(error):
            raise _unreadable(error, backup) from None
        row = None
    if row is None:
        raise UsageError(f"{backup} is no database of jobrunner; nothing was changed")
    version = number_of(str(row[0]))
    if version > SCHEMA_REVISION:
        raise SchemaMismatch(f"{backup} has a newer schema than this jobrunner; upgrade jobrunner first")
    return version


def _unreadable(error: sqlite3.Error | OSError, backup: Path) -> JobrunnerError:
    found = causes.cause(error, of_file(backup))
    code = getattr(error, "sqlite_errorcode", None)
    if code is not None and code & 0xFF in _IN_USE:
        return DatabaseHeld(f"cannot read {backup}: {found.reason}; nothing was changed; {found.remedy}")
    if code == sqlite3.SQLITE_READONLY_ROLLBACK:
        why = f"its writer was killed in a transaction, and left {backup.name}-journal; take another backup"
        return UsageError(f"cannot read {backup}: {why}; nothing was changed")
    return UsageError(f"cannot read {backup}: {found.reason}; nothing was changed")


def _create(file: Path) -> None:
    """Create an empty file, which is an empty database, if there is none. SQLite removes a log that lies beside it."""
    if not file.exists():
        make_private(file.parent)
        os.close(os.open(file, os.O_CREAT | os.O_WRONLY, 0o600))


def _copy(source: sqlite3.Connection, file: Path, patience: float, progress: Callable[[int], None]) -> None:
    give_up_at = clock.elapsed() + patience
    done = 0

    def step(status: int, remaining: int, total: int) -> None:
        nonlocal done
        progress(total - remaining - done)
        done = total - remaining
        failpoints.hit("restore.step")
        if status in _IN_USE and clock.elapsed() > give_up_at:
            found = causes.cause(sqlite3.OperationalError("database is locked"), of_file(file))
            raise DatabaseHeld(f"cannot restore {file}: {found.reason}; {found.remedy}")

    with closing(sqlite3.connect(raw_driver.file_uri(file), uri=True, timeout=_PAUSE_SECONDS)) as target:
        source.backup(target, pages=_PAGES_OF_STEP, progress=step, sleep=_PAUSE_SECONDS)
        # Not needed for the restore: it is committed.
        with suppress(sqlite3.Error):
            target.execute(WAL)
            target.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _cannot_be_written(error: sqlite3.DatabaseError) -> bool:
    """Whether SQLite refuses to write into what is there: it is no database, or its pages have another size."""
    return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_READONLY)


def _empty(file: Path) -> None:
    with file.open("r+b") as stream:
        try:
            fcntl.lockf(stream, fcntl.LOCK_EX | fcntl.LOCK_NB, _SHARED_BYTES, _SHARED_FIRST)
        except BlockingIOError:
            raise DatabaseHeld(f"cannot restore {file}: another process has it open; find it: lsof {file}") from None
        stream.truncate(0)
