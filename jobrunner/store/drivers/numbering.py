"""Ids that the database gives: none is given twice."""

from __future__ import annotations

from jobrunner.store.drivers.connection import Connection

# SQLite has a row here once a table has had one.
_BEGIN_IN_FILE = """
INSERT INTO sqlite_sequence (name, seq) SELECT :table, 0
WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = :table)
"""
_RAISE_IN_FILE = "UPDATE sqlite_sequence SET seq = max(seq, :top) WHERE name = :table"
_ON_SERVER = """
SELECT setval(sequence, top) FROM (
  SELECT CAST(pg_get_serial_sequence(%(table)s, 'id') AS regclass) AS sequence, %(top)s::bigint AS top
) AS given WHERE top > coalesce(pg_sequence_last_value(sequence), 0)
"""


def reserve(connection: Connection, table: str, top: int) -> None:
    """Give no new row of the table an id up to this. On PostgreSQL it is not rolled back."""
    if connection.database == "sqlite":
        for statement in (_BEGIN_IN_FILE, _RAISE_IN_FILE):
            connection.execute(statement, {"table": table, "top": top})
    elif top > 0:
        named = table if connection.schema is None else f'"{connection.schema}".{table}'
        connection.execute(_ON_SERVER, {"table": named, "top": top})
