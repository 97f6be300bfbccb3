"""Attempts whose lease has expired, and what their owners hold."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Integer, Select, bindparam, select

from jobrunner.store.dialect.rows import rows
from jobrunner.store.schema import job_runs
from jobrunner.store.statements.holding import RUNNING
from jobrunner.store.views import job_recoverable

VARIANTS = {"locked": [(False,), (True,)]}


def expired() -> Select[Any]:
    """The runs whose lease has expired."""
    columns = job_recoverable.c
    return select(columns.id, columns.host, columns.locked_by)


def held_by() -> Select[Any]:
    """The runs that a list of owners holds."""
    columns, given = job_runs.c, rows("given", {"locked_by": job_runs.c.locked_by.type})
    return select(columns.id).where(columns.status == RUNNING, columns.locked_by.in_(select(given.c.locked_by)))


def locked(some: bool) -> Select[Any]:
    """Lock runs whose lease has expired; ``some``: of the list ``given``.

    The lock on the view makes PostgreSQL check its whole condition again for a row that has changed meanwhile. So a
    lease that is renewed at this moment does not expire.
    """
    columns = job_recoverable.c
    expired = select(columns.id).order_by(columns.host, columns.id).limit(bindparam("limit", type_=Integer))
    expired = expired.with_for_update(skip_locked=True, key_share=True)
    if not some:
        return expired
    given = rows("given", {"id": columns.id.type})
    return expired.where(columns.id.in_(select(given.c.id)))
