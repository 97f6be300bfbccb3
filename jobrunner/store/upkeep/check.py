"""Checks that a database's schema and this code fit."""

from __future__ import annotations

from jobrunner.store.drivers import moved
from jobrunner.store.drivers.connection import Connection, DriverError
from jobrunner.store.drivers.failures import is_missing_column, is_missing_schema
from jobrunner.store.drivers.schema_fit import misfit, number_of
from jobrunner.store.sql.statement import Prepared
from jobrunner.store.sql.versions import MOVED_CODE, SCHEMA_REVISION

_MARKED_SINCE = 2
"""The version of the schema that has a mark."""


def refuse_closed(connection: Connection, version: int, label: str = "") -> None:
    """Raise DatabaseMoved if the rows are, or will be, in another database. Expects any transaction."""
    # A connection of the application raises errors of its own kind where a table is missing.
    if version < _MARKED_SINCE:
        return
    try:
        with connection.savepoint():
            found = connection.execute(moved.MARKED).all()
    except DriverError as error:
        if not (is_missing_schema(error) or is_missing_column(error)):
            raise
        # Tables are lost. The caller knows what to do then.
        return
    for row in found:
        refused = moved.refusal(row, label)
        if refused is not None:
            raise refused


def check_schema(connection: Connection) -> int:
    """Raise SchemaMismatch unless this code and the schema fit. Returns its version. Expects any transaction."""
    found = connection.execute(Prepared("ticks.schema")).one_or_none()
    error = misfit(None, None) if found is None else misfit(found.version_num, found.oldest_code)
    if found is not None and found.oldest_code == MOVED_CODE:
        refuse_closed(connection, _MARKED_SINCE)
    if error is not None:
        raise error
    return SCHEMA_REVISION if found is None else number_of(found.version_num)
