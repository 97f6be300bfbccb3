"""Attempts whose lease has expired, and what their owners hold."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Integer, Select, and_, bindparam, exists, literal_column, select

from jobrunner.store.schema import job_runs, job_ticks
from jobrunner.store.schema.views import job_recoverable
from jobrunner.store.sql.dialect.rows import rows
from jobrunner.store.statements.queue.holding import IS_AT_WORK, RUNNING
from jobrunner.store.statements.queue.hosts import ticks_of

_LAST_TICKS = literal_column("20", Integer())
"""Enough for a tick that was killed and holds no run: the next ones look for it."""
VARIANTS = {"locked": [(False,), (True,)]}


def expired() -> Select[Any]:
    """The runs whose lease has expired."""
    columns = job_recoverable.c
    return select(columns.id, columns.host, columns.locked_by)


def held_by() -> Select[Any]:
    """The runs that a list of owners holds."""
    columns, given = job_runs.c, rows("given", {"locked_by": job_runs.c.locked_by.type})
    return select(columns.id).where(columns.status == RUNNING, columns.locked_by.in_(select(given.c.locked_by)))


def is_tick() -> Select[Any]:
    """Whether a tick of this host and this name is among its last ones in this database."""
    columns = job_ticks.c
    host, worker = (bindparam(name, type_=columns[name].type) for name in ("host", "worker"))
    last = ticks_of(host).limit(_LAST_TICKS).subquery("last")
    return select(exists(select(columns.id).where(columns.id.in_(select(last.c.id)), columns.worker == worker)))


def locked_of() -> Select[Any]:
    """Lock the runs of the list ``given`` that the owner ``owner`` holds, also those whose lease goes on."""
    columns, given = job_runs.c, rows("given", {"id": job_runs.c.id.type})
    is_held = and_(IS_AT_WORK, columns.locked_by == bindparam("owner", type_=columns.locked_by.type))
    found = select(columns.id).join_from(given, job_runs, columns.id == given.c.id).where(is_held)
    return found.with_for_update(of=job_runs, skip_locked=True, key_share=True)


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
