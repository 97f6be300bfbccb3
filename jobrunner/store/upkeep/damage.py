"""Finds damage in an SQLite file, such as an old log (``-wal``) that was replayed over a restored file.

SQLite notices it only where it reads, and a tick with nothing to do reads little.
"""

from __future__ import annotations

import threading
from contextlib import suppress

from jobrunner.errors import DatabaseDamaged, DatabaseUnavailable
from jobrunner.store.drivers.database import Database
from jobrunner.text import one_line

MOST_BYTES_OF_COMMAND = 64 * 2**20
_QUICK_CHECK = "PRAGMA quick_check(1)"


def check(database: Database, most_bytes: int | None = None) -> None:
    """Raise DatabaseDamaged if the file is. Nothing is done for a server, or for a file that is larger than this."""
    file = database.location.file
    if file is None or (most_bytes is not None and file.stat().st_size > most_bytes):
        return
    found = str(database.read(lambda connection: connection.execute(_QUICK_CHECK).scalar_one()))
    if found != "ok":
        # The first line only says which database it is.
        problem = one_line(found.rpartition("***")[2], 100)
        raise DatabaseDamaged(
            f"cannot use the database {database.location.label}: the file is damaged ({problem}); restore a backup:"
            " jobrunner restore BACKUP"
        )


def is_whole(database: Database, most_seconds: float) -> bool | None:
    """Whether the file is not damaged; None means that this takes longer. Raises DatabaseDamaged."""
    other, found = database.second_connection(), list[DatabaseDamaged | None]()

    def look() -> None:
        # Ended below, or it cannot be read: whoever reads it next says why.
        with suppress(DatabaseUnavailable):
            try:
                check(other)
                found.append(None)
            except DatabaseDamaged as error:
                found.append(error)
        other.close()

    # Older versions of SQLite cannot be interrupted while they check a table.
    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    thread.join(most_seconds)
    if not found:
        other.cut()
        return None
    if found[0] is not None:
        raise found[0]
    return True
