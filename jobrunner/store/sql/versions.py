"""The schema that this code needs."""

from __future__ import annotations

SCHEMA_REVISION = 1
"""The schema that this code reads and writes. An older database must be migrated first."""
CODE_LEVEL = 1
"""The level of this code. The database stores the oldest level that its schema fits."""
OLDEST_CODE = 1
"""The oldest level of code that fits the newest schema. A migration that raises it also updates ``job_state``."""
VERSION_TABLE = "job_schema_version"
RUNNING_KEY = "job_runs_key_running"
"""The unique index that keeps two runs with one concurrency key from being at work at once."""

UNTOLD = "CASE WHEN status = 'dead' AND (told_at IS NULL OR told_at < finished_at) THEN 1 END = 1"
"""The condition of the index of the dead runs of which no hook was told. A CASE, so that no other index serves it."""
