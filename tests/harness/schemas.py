"""Reads a schema from the database itself, to compare two or to find leftovers."""

import subprocess

from harness import Database, SQLiteDatabase
from harness.binaries import find_binaries

POSTGRESQL_OBJECTS = """
SELECT relkind::text || ' ' || relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace
UNION ALL SELECT 'function ' || proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
UNION ALL SELECT 'type ' || typname FROM pg_type WHERE typnamespace = 'public'::regnamespace
"""
# SQLite's own: it cannot be dropped, and forgets a table with the table.
SQLITE_OBJECTS = "SELECT type || ' ' || name AS name FROM sqlite_master WHERE name <> 'sqlite_sequence'"


def schema(database: Database) -> str:
    """The whole schema, word by word."""
    if isinstance(database, SQLiteDatabase):
        rows = database.query("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name")
        return "\n".join(" ".join(str(value).split()) for row in rows for value in row.values())
    command = [str(find_binaries() / "pg_dump"), "--schema-only", "--no-owner", database.url]
    dump = subprocess.run(command, capture_output=True, text=True)
    assert dump.returncode == 0, dump.stderr
    # Newer versions write a random word against injection.
    return "\n".join(line for line in dump.stdout.splitlines() if line and not line.startswith(("--", "\\")))


def objects(database: Database) -> set[str]:
    """Every table, index, view, sequence, type and function, by kind and name."""
    statement = SQLITE_OBJECTS if isinstance(database, SQLiteDatabase) else POSTGRESQL_OBJECTS
    return {row["name"] for row in database.query(statement)}
