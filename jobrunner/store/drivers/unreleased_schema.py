"""Whether the tables of a database were made by a jobrunner that was never released, and what is said of that."""

from __future__ import annotations

from jobrunner.errors import SchemaMismatch
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.rights import ask_alone
from jobrunner.store.sql.namespace import MARK
from jobrunner.store.sql.versions import VERSION_TABLE

# The column came with the first release: no migration leads there from the tables that were made before.
_ON_SERVER = f"""
SELECT to_regclass('{MARK}.job_runs') IS NOT NULL AND to_regclass('{MARK}.{VERSION_TABLE}') IS NOT NULL
  AND NOT EXISTS (SELECT attname FROM pg_attribute
    WHERE attrelid = to_regclass('{MARK}.job_state') AND attname = 'released' AND NOT attisdropped) AS is_so
"""  # noqa: S608 - only our own words
_IN_FILE = f"""
SELECT (SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('job_runs', '{VERSION_TABLE}')) = 2
  AND NOT EXISTS (SELECT name FROM pragma_table_xinfo('job_state') WHERE name = 'released') AS is_so
"""  # noqa: S608 - only our own words


def is_unreleased(connection: Connection) -> bool:
    """Whether it has our tables as they were before the first release. Expects any transaction."""
    return bool(connection.execute(_question(connection)).scalar_one())


def refused(label: str) -> SchemaMismatch:
    """The error for such a database."""
    return SchemaMismatch(
        f"the tables in the database {label} were made by a jobrunner that was never released, and no migration leads"
        " on from there; keep a copy of what you need, then begin again with empty tables:"
        " jobrunner downgrade 0 --delete-data, then jobrunner migrate"
    )


def refusal(connection: Connection, label: str) -> SchemaMismatch | None:
    """The error, if that is why a statement failed. Ends every transaction."""
    return refused(label) if any(row.is_so for row in ask_alone(connection, _question(connection))) else None


def _question(connection: Connection) -> str:
    return _ON_SERVER if connection.traits.has_server else _IN_FILE
