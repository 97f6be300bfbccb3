"""The rows that are locks. A database with one writer needs none."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Insert, Select, Update, bindparam, select, update

from jobrunner.store.schema import job_locks
from jobrunner.store.sql.dialect.statements import inserting
from jobrunner.store.sql.traits import databases

ONLY_ON = dict.fromkeys(("lock", "insert", "note_sole_owner"), databases(has_one_writer=False))
_NAME = bindparam("row_name", type_=job_locks.c.name.type)


def lock() -> Select[Any]:
    """Lock the row of a name; its ``sole_owner``."""
    return select(job_locks.c.sole_owner).where(job_locks.c.name == _NAME).with_for_update()


def note_sole_owner() -> Update:
    """Write the sole owner to the row of a name."""
    owner = bindparam("owner", type_=job_locks.c.sole_owner.type)
    return update(job_locks).where(job_locks.c.name == _NAME).values(sole_owner=owner)


def insert() -> Insert:
    """Insert the row of a name, unless it is there."""
    statement: Insert = inserting(job_locks).values(name=_NAME).on_conflict_do_nothing()
    return statement
