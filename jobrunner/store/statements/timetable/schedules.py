"""Definitions, as the expansion reads and writes them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Select, Update, bindparam, select, update

from jobrunner.store.schema import job_definitions
from jobrunner.store.sql.dialect.values import now
from jobrunner.store.statements.ticks.ticks import is_any_expandable as is_any_due

_IS_MEANT = job_definitions.c.id == bindparam("definition_id", type_=job_definitions.c.id.type)


def is_any_expandable() -> Select[Any]:
    """Whether a tick of the host of the parameter ``host`` may have a slot to expand."""
    return select(is_any_due().label("is_any_expandable"))


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
