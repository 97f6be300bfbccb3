"""The audit trail."""

from __future__ import annotations

import sqlalchemy
from sqlalchemy import Insert, select

from jobrunner.store.schema import job_events
from jobrunner.store.sql.dialect.rows import rows


def insert() -> Insert:
    """Write events."""
    names = ("at", "actor", "action", "definition_id", "run_id", "detail")
    given = rows("given", {name: job_events.c[name].type for name in names})
    return sqlalchemy.insert(job_events).from_select(list(names), select(*(given.c[name] for name in names)))
