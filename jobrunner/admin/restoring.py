"""restore: puts a backup of an SQLite database in its place, and notes who did it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from jobrunner.model import Actor
from jobrunner.store.changes import bulk, restoring
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database
from jobrunner.store.queue.ticks import audit
from jobrunner.store.sql.versions import SCHEMA_REVISION


def restore(database: Database, backup: Path, actor: Actor, progress: Callable[[int], None]) -> bool:
    """Replace all that is in the database by the backup. Returns whether its schema is that of this code.

    Raises UsageError, SchemaMismatch or DatabaseUnavailable; the database is then as it was.
    """
    version = restoring.restore(database, backup, progress)
    if version < SCHEMA_REVISION:
        return False

    def note(connection: Connection) -> None:
        detail = {"file": str(backup.absolute())}
        audit.record(connection, [audit.event(actor, "restore", None, detail, bulk.database_now(connection))])

    database.write(note)
    return True
