"""The rows that are locks. Only PostgreSQL needs them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Insert, Select, bindparam, select

from jobrunner.store.schema import job_locks
from jobrunner.store.sql.dialect.statements import inserting

ONLY_ON = dict.fromkeys(("lock", "insert"), "postgresql")
_NAME = bindparam("row_name", type_=job_locks.c.name.type)


def lock() -> Select[Any]:
    """Lock the row of a name."""
    return select(job_locks.c.name).where(job_locks.c.name == _NAME).with_for_update()


def insert() -> Insert:
    """Insert the row of a name, unless it is there."""
    statement: Insert = inserting("postgresql", job_locks).values(name=_NAME).on_conflict_do_nothing()
    return statement
