"""Checks that a database's schema and this code fit."""

from __future__ import annotations

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.schema_fit import misfit, number_of
from jobrunner.store.sql.statement import Prepared
from jobrunner.store.sql.versions import SCHEMA_REVISION


def check_schema(connection: Connection) -> int:
    """Raise SchemaMismatch unless this code and the schema fit. Returns its version. Expects any transaction."""
    found = connection.execute(Prepared("ticks.schema")).one_or_none()
    error = misfit(None, None) if found is None else misfit(found.version_num, found.oldest_code)
    if error is not None:
        raise error
    return SCHEMA_REVISION if found is None else number_of(found.version_num)
