"""Whether a schema and this code fit, and what is said of one that does not."""

from __future__ import annotations

from jobrunner.errors import SchemaMismatch
from jobrunner.store.drivers import moved, unreleased_schema
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.rights import ask_alone
from jobrunner.store.sql.namespace import MARK
from jobrunner.store.sql.versions import SCHEMA_REVISION, VERSION_TABLE

_VERSION = f"SELECT version_num, (SELECT oldest_code FROM {MARK}.job_state) AS oldest_code FROM {MARK}.{VERSION_TABLE}"  # noqa: S608 - our own words


def misfit(version: str | None, oldest_code: int | None) -> SchemaMismatch | None:
    """The error for a schema of this version that works with this code and newer, unless this code can use it."""
    if version is None or oldest_code is None or number_of(version) < SCHEMA_REVISION:
        return SchemaMismatch("the database's schema is older than this jobrunner; run: jobrunner migrate")
    if oldest_code > SCHEMA_REVISION:
        return SchemaMismatch("the database's schema is too new for this jobrunner; upgrade jobrunner")
    return None


def no_tables(label: str, *, may_be_elsewhere: bool) -> SchemaMismatch:
    """The error for a database without our tables. ``may_be_elsewhere``: they may be in a schema that is not named."""
    or_ = ", or set JOBRUNNER_SCHEMA to their schema" if may_be_elsewhere else ""
    return SchemaMismatch(f"the database {label} has no jobrunner tables; run: jobrunner migrate{or_}")


def number_of(version: str) -> int:
    """The number of a version of the schema."""
    if not version.isdigit():
        raise SchemaMismatch(f"the table {VERSION_TABLE} does not hold a version of jobrunner's schema")
    return int(version)


def refusal(connection: Connection, label: str) -> SchemaMismatch | None:
    """The error, if a statement failed because the schema is another one than it was. Ends every transaction."""
    found = unreleased_schema.refusal(connection, label)
    if found is not None:
        return found
    for row in ask_alone(connection, _VERSION):
        closed = (moved.refusal(each, label) for each in ask_alone(connection, moved.MARKED))
        return next(closed, None) or misfit(row.version_num, row.oldest_code)
    return None
