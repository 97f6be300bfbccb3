"""Definitions, as the expansion reads and writes them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Integer, Select, Update, bindparam, select, update

from jobrunner.store.schema import job_definitions
from jobrunner.store.schema.views import job_expandable
from jobrunner.store.sql.dialect.values import now

_IS_MEANT = job_definitions.c.id == bindparam("definition_id", type_=job_definitions.c.id.type)


def expandable() -> Select[Any]:
    """The definitions that may have a slot to expand, the longest due first."""
    columns = job_expandable.c
    return select(columns.id).order_by(columns.next_run_at, columns.id).limit(bindparam("limit", type_=Integer))


def definition() -> Select[Any]:
    """One definition."""
    return select(job_definitions, now().label("now")).where(_IS_MEANT)


def set_problem() -> Update:
    """Store why a definition cannot be expanded."""
    columns = job_definitions.c
    values = {
        "last_error": bindparam("problem", type_=columns.last_error.type),
        "updated_at": bindparam("at", type_=columns.updated_at.type),
    }
    return update(job_definitions).where(_IS_MEANT).values(values)
