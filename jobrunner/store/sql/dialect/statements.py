"""Inserts that may conflict with existing rows."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Table
from sqlalchemy.dialects.postgresql import insert


def inserting(table: Table) -> Any:
    """An INSERT with ``on_conflict_do_nothing`` and ``on_conflict_do_update``, which SQLAlchemy Core does not have.

    Its dialect of SQLite compiles that of PostgreSQL, too.
    """
    return insert(table)
