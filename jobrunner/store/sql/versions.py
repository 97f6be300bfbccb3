"""The schema that this code needs."""

from __future__ import annotations

OLDEST_CODE_OF = {
    1: 1,
    2: 1,
}
"""For each schema, the oldest code that works with it: see docs/howto/upgrade.md.

Code has the number of the newest schema that it knows. Only a migration that takes away what older code uses raises the
number. ``migrate`` and ``downgrade`` write it into ``job_state``, where a program that is too old finds it.
"""
SCHEMA_REVISION = max(OLDEST_CODE_OF)
"""The schema that this code reads and writes, and so the number of this code. An older database must be migrated."""
MOVED_CODE = 2_000_000_000
"""The oldest code of a database whose rows are in another one, or are not all there yet: no code works with it."""
VERSION_TABLE = "job_schema_version"
RUNNING_KEY = "job_runs_key_running"
"""The unique index that keeps two runs with one concurrency key from being at work at once."""

UNTOLD = "CASE WHEN status = 'dead' AND (told_at IS NULL OR told_at < finished_at) THEN 1 END = 1"
"""The condition of the index of the dead runs of which no hook was told. A CASE, so that no other index serves it."""
