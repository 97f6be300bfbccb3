"""Says on an error of the caller's library that it is about jobrunner's tables, and where to look.

The error stays the library's own. On PostgreSQL nothing more can be asked in its transaction.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from jobrunner.store.drivers import failures
from jobrunner.store.drivers.connection import DriverError

NOTE = "The database has no tables of this version of jobrunner; to see what to do: jobrunner status"


@contextmanager
def noting_unfit_schema() -> Iterator[None]:
    """Add the note to an error which means that a table or column is missing."""
    try:
        yield
    except Exception as error:
        of_driver = DriverError(getattr(error, "orig", None) or error, is_gone=False)
        if failures.is_missing_schema(of_driver) or failures.is_missing_column(of_driver):
            error.add_note(NOTE)
        raise
