"""The audit trail."""

from __future__ import annotations

from typing import Any

import sqlalchemy
from sqlalchemy import Insert, Select, Text, bindparam, select

from jobrunner.store.schema import job_events
from jobrunner.store.sql.dialect.rows import rows


def insert() -> Insert:
    """Write events."""
    names = ("at", "actor", "action", "definition_id", "run_id", "detail")
    given = rows("given", {name: job_events.c[name].type for name in names})
    return sqlalchemy.insert(job_events).from_select(list(names), select(*(given.c[name] for name in names)))


def recorded() -> Select[Any]:
    """The events of an action since some time."""
    columns = job_events.c
    is_later = columns.at >= bindparam("since", type_=columns.at.type)
    return select(columns.at, columns.detail).where(columns.action == bindparam("name", type_=Text), is_later)
