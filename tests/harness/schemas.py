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
# Every command that needs the tables, with words that suffice.
WITH_A_SCHEMA = [
    ["tick"],
    ["status"],
    ["runs"],
    ["errors"],
    ["stats"],
    ["health"],
    ["metrics"],
    ["explain", "1"],
    ["status", "--json"],
    ["enqueue", "echo"],
    ["show", "1"],
    ["logs", "1"],
    ["history"],
    ["retry", "1"],
    ["cancel", "1"],
    # Now it has ended.
    ["watch", "1"],
    ["cancel", "--all", "--dry-run"],
    ["reschedule", "1", "--run-at", "+1m"],
    ["priority", "1", "1"],
    ["run", "echo"],
    ["discard", "1", "--reason", "x"],
    ["effects", "list"],
    ["effects", "settle", "k", "--applied"],
    ["schedule", "list"],
    ["schedule", "add", "n", "--type", "echo", "--cron", "@daily"],
    ["schedule", "remove", "n"],
    ["schedule", "show", "n"],
    ["schedule", "edit", "n", "--cron", "@hourly"],
    ["schedule", "pause", "n"],
    ["schedule", "resume", "n"],
    ["schedule", "trigger", "n"],
    ["schedule", "backfill", "n", "--since", "2026-01-01T00:00Z", "--until", "2026-01-02T00:00Z"],
    ["schedule", "next", "n"],
    ["apply"],
    ["prune"],
    ["archive", "--until", "1d", "/nowhere/runs.jsonl"],
    ["pause", "--all"],
    ["pauses"],
    ["resume", "--all"],
]


def schema(database: Database) -> str:
    """The whole schema, word by word."""
    if isinstance(database, SQLiteDatabase):
        rows = database.query("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name")
        return "\n".join(" ".join(str(value).split()) for row in rows for value in row.values())
    command = [str(find_binaries() / "pg_dump"), "--schema-only", "--no-owner", database.url]
    dump = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert dump.returncode == 0, dump.stderr
    # Newer versions write a random word against injection.
    return "\n".join(line for line in dump.stdout.splitlines() if line and not line.startswith(("--", "\\")))


def objects(database: Database) -> set[str]:
    """Every table, index, view, sequence, type and function, by kind and name."""
    statement = SQLITE_OBJECTS if isinstance(database, SQLiteDatabase) else POSTGRESQL_OBJECTS
    return {row["name"] for row in database.query(statement)}
