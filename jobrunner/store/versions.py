"""Which schema this code serves."""

from __future__ import annotations

SCHEMA_REVISION = 1
"""What this code writes and reads. A database below it must be migrated first."""
CODE_LEVEL = 1
"""Compared with the oldest code level that the database says it serves."""
VERSION_TABLE = "job_schema_version"
