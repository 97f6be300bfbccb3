"""What the commands of people show about limits over all hosts: why a run waits for them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, and_, func, select

from jobrunner.store.connection import Connection
from jobrunner.store.dialect.values import now
from jobrunner.store.schema import job_gates, job_limits, job_runs
from jobrunner.store.statements.limits import is_at_work
from jobrunner.text import iso_instant


def reason(connection: Connection, job_type: str, gate: str) -> str | None:
    """Why a run of this type waits behind its gate. None: it is claimed when its turn comes."""
    limits = connection.execute(select(job_limits, now().label("now")).where(job_limits.c.job_type == job_type)).first()
    if limits is None:
        return None
    of_type = and_(job_runs.c.job_type == job_type, is_at_work())
    running = _count(connection, of_type)
    if limits.max_running is not None and running >= limits.max_running:
        return f"max_running {limits.max_running}: {running} of its type are running"
    if limits.opens_at is not None and limits.opens_at > limits.now:
        return f"rate {limits.rate}: it allows the next run at {iso_instant(limits.opens_at)}"
    running = _count(connection, and_(of_type, job_runs.c.gate == gate))
    if limits.max_running_per_key is not None and running >= limits.max_running_per_key:
        key = f"{limits.concurrency_key} {gate}"
        return f"max_running_per_key {limits.max_running_per_key}: {running} with {key} are running"
    columns = job_gates.c
    found = select(columns.opens_at).where(columns.job_type == job_type, columns.gate == gate)
    opens_at = connection.execute(found.where(columns.opens_at > limits.now)).scalar_one_or_none()
    if opens_at is not None:
        return f"rate_per_key {limits.rate_per_key}: it allows the next run with {gate} at {iso_instant(opens_at)}"
    return None


def _count(connection: Connection, condition: ColumnElement[bool]) -> int:
    count: Any = connection.execute(select(func.count()).select_from(job_runs).where(condition)).scalar_one()
    return int(count)
