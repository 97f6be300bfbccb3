"""The schema of PostgreSQL that holds our tables (JOBRUNNER_SCHEMA), as it stands before their names in SQL.

A compiled statement has ``MARK`` before each name. It is replaced once per process, when the statement is first used:
by the schema, or by nothing, and then the server finds the names by its search path (docs/adr/0031-neighbours.md).
"""

from __future__ import annotations

MARK = "jobrunner_schema"


def qualifier(schema: str | None) -> str:
    """What stands before a name of ours. ``names.check_schema`` has checked the schema."""
    return "" if schema is None else f'"{schema}".'


def qualified(text: str, schema: str | None) -> str:
    """The text with the schema in the place of each mark."""
    return text.replace(f"{MARK}.", qualifier(schema))
