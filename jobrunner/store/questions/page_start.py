"""What each page asks first: the database's clock, and whether it can be written to."""

from __future__ import annotations

import os
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, literal_column, select

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.location import Location
from jobrunner.store.sql.dialect.values import now
from jobrunner.store.sql.namespace import MARK
from jobrunner.store.sql.statement import Prepared


class PageStart(NamedTuple):
    """The database's now. ``is_writable`` is false for a copy, a file that is read-only, and a user who may only read.

    It only hides buttons: whoever presses one all the same gets the refusal of the database.
    """

    at: datetime
    is_writable: bool


def look(connection: Connection, location: Location) -> PageStart:
    """Expects any transaction."""
    if location.file is not None:
        is_writable = all(os.access(each, os.W_OK) for each in (location.file, location.file.parent))
        return PageStart(connection.execute(Prepared("tallies.clock")).scalar_one(), is_writable)
    found = connection.execute(_on_server()).one()
    return PageStart(found.now, bool(found.is_writable))


@cache
def _on_server() -> Select[Any]:
    # This transaction only reads. What others could do is the default.
    is_writable: ColumnElement[bool] = literal_column(
        "(NOT pg_is_in_recovery() AND current_setting('default_transaction_read_only') = 'off'"
        f" AND has_table_privilege(CAST('{MARK}.job_runs' AS regclass), 'UPDATE'))"
    )
    columns: list[Any] = [now().label("now"), is_writable.label("is_writable")]
    return select(*columns)
