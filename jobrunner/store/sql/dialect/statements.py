"""Inserts that may conflict with existing rows."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Table
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert


def inserting(dialect_name: str, table: Table) -> Any:
    """An INSERT with ``on_conflict_do_nothing``, which SQLAlchemy Core has only for each database separately."""
    return (sqlite_insert if dialect_name == "sqlite" else postgresql_insert)(table)
