"""Checks that a database's schema and this code fit."""

from __future__ import annotations

from jobrunner.errors import SchemaMismatch
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.sql.statement import Prepared
from jobrunner.store.sql.versions import CODE_LEVEL, SCHEMA_REVISION, VERSION_TABLE


def check_schema(connection: Connection) -> None:
    """Raise SchemaMismatch unless this code and the schema fit. Expects any transaction."""
    found = connection.execute(Prepared("ticks.schema")).one_or_none()
    if found is None or found.oldest_code is None or number_of(found.version_num) < SCHEMA_REVISION:
        raise SchemaMismatch("the database's schema is older than this jobrunner; run: jobrunner migrate")
    if found.oldest_code > CODE_LEVEL:
        raise SchemaMismatch("the database's schema is too new for this jobrunner; upgrade jobrunner")


def number_of(revision: str) -> int:
    """The number of a version of the schema."""
    if not revision.isdigit():
        raise SchemaMismatch(f"the table {VERSION_TABLE} does not hold a version of jobrunner's schema")
    return int(revision)
