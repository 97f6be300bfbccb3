"""What the planner of PostgreSQL is told where its statistics may mislead it."""

from __future__ import annotations

from jobrunner.store.drivers.connection import Connection

_BY_INDEXES = "SELECT " + ", ".join(
    f"set_config('enable_{name}', 'off', true)" for name in ("seqscan", "bitmapscan", "sort")
)


def read_by_indexes(connection: Connection) -> None:
    """Let the planner read indexes in their order until the transaction ends.

    A planner that expects few rows would read a whole range of an index, and sort it. On SQLite this does nothing.
    """
    if connection.database == "postgresql":
        connection.execute(_BY_INDEXES)
