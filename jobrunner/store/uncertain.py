"""What a person does about effects of which it is not known whether they were applied."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from sqlalchemy import Select, delete, func, literal_column, select, update

from jobrunner.model import Actor
from jobrunner.store import audit
from jobrunner.store.connection import Connection
from jobrunner.store.dialect.values import now
from jobrunner.store.records import columns_of, read
from jobrunner.store.schema import job_effects
from jobrunner.store.statements.effects import IS_OPEN, is_in_progress


@dataclass(frozen=True)
class OpenEffect:
    """An effect whose call did not end, or ended with an error."""

    key: str
    run_id: int
    job_type: str
    attempt: int
    intended_at: datetime


class Settled(Enum):
    """The answer to a request to settle an effect, as text for a person. Only ``DONE`` has changed anything."""

    DONE = "settled"
    UNKNOWN = "there is no effect with the key"
    APPLIED = "it is applied already"
    IN_PROGRESS = "its call is still in progress"


def listed(connection: Connection, newest: int | None = None) -> list[OpenEffect]:
    """The uncertain effects, the oldest first."""
    return read(connection, OpenEffect, _uncertain(*columns_of(OpenEffect, job_effects)).limit(newest))


def count(connection: Connection) -> int:
    """How many effects are uncertain."""
    found: int = connection.execute(
        select(func.count()).select_from(_uncertain(job_effects.c.key).order_by(None).subquery())
    ).scalar_one()
    return found


def _uncertain(*columns: Any) -> Select[Any]:
    found = select(*columns).where(IS_OPEN, ~is_in_progress())
    return found.order_by(job_effects.c.intended_at, job_effects.c.key)


def settle(connection: Connection, key: str, actor: Actor, *, applied: bool, outcome: Any = None) -> Settled:
    """Settle an uncertain effect. If it was not applied, its key can be used again."""
    columns = job_effects.c
    statement: Select[Any] = (
        select(columns.state, columns.run_id, is_in_progress().label("in_progress"), now().label("now"))
        .where(columns.key == key)
        .with_for_update(of=job_effects)
    )
    row = connection.execute(statement).one_or_none()
    if row is None:
        return Settled.UNKNOWN
    if row.state == "applied":
        return Settled.APPLIED
    if row.in_progress:
        return Settled.IN_PROGRESS
    if applied:
        values = {"state": literal_column("'applied'"), "settled_at": row.now, "outcome": outcome}
        connection.execute(update(job_effects).where(columns.key == key).values(**values))
    else:
        connection.execute(delete(job_effects).where(columns.key == key))
    detail = {"key": key, "applied": applied}
    audit.write(connection, [audit.event(actor, "settle effect", None, detail, row.now, row.run_id)])
    return Settled.DONE
