"""Pauses of a job type, a host or everything: no run of it is claimed until it is resumed.

The views, which every claim reads, leave out what is paused. Runs at work go on, and so do schedules, recovery,
deadlines and cancellations. Every function that writes is the body of one write transaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from sqlalchemy import ColumnElement, delete, func, literal_column, select, true

from jobrunner.model import Actor
from jobrunner.store import audit
from jobrunner.store.connection import Connection
from jobrunner.store.dialect.statements import inserting
from jobrunner.store.dialect.values import now
from jobrunner.store.records import columns_of, read
from jobrunner.store.schema import job_pauses, job_runs, job_ticks
from jobrunner.store.statements.backpressure import WAITING
from jobrunner.text import one_line

Kind: TypeAlias = Literal["all", "type", "host"]
MOST_COUNTED = 100_000
_COLUMNS = job_pauses.c


@dataclass(frozen=True)
class Pause:
    """Something that is paused. ``name`` is the job type or the host, and "" for everything."""

    kind: str
    name: str
    reason: str | None
    actor: str
    paused_at: datetime


@dataclass(frozen=True)
class Concerned:
    """How many runs a pause concerns, each up to ``MOST_COUNTED``. ``is_known``: this type or host was ever seen."""

    waiting: int
    running: int
    is_known: bool


def listed(connection: Connection) -> list[Pause]:
    """What is paused. Expects any transaction."""
    found = select(*columns_of(Pause, job_pauses)).order_by(_COLUMNS.paused_at, _COLUMNS.kind, _COLUMNS.name)
    return read(connection, Pause, found)


def pause(connection: Connection, kind: Kind, name: str, actor: Actor) -> Pause | None:
    """Pause it. If it is paused already, nothing is written, and that pause is returned."""
    at = connection.execute(select(now())).scalar_one()
    row = {"kind": kind, "name": name, "actor": actor.name, "reason": actor.reason and one_line(actor.reason)}
    insert = inserting(connection.database, job_pauses).values(**row, paused_at=at).on_conflict_do_nothing()
    if connection.execute(insert.returning(_COLUMNS.kind)).one_or_none() is None:
        return next(each for each in listed(connection) if (each.kind, each.name) == (kind, name))
    audit.record(connection, [audit.event(actor, f"pause {kind}", None, {"name": name}, at)])
    return None


def resume(connection: Connection, kind: Kind, name: str, actor: Actor) -> datetime | None:
    """End this pause, and return since when it was. None: it is not paused. Other pauses stay."""
    at = connection.execute(select(now())).scalar_one()
    gone = delete(job_pauses).where(_COLUMNS.kind == kind, _COLUMNS.name == name)
    since: datetime | None = connection.execute(gone.returning(_COLUMNS.paused_at)).scalar_one_or_none()
    if since is not None:
        detail = {"name": name, "paused_at": since}
        audit.record(connection, [audit.event(actor, f"resume {kind}", None, detail, at)])
    return since


def concerned(connection: Connection, kind: Kind, name: str) -> Concerned:
    """The runs that a pause concerns. Expects any transaction."""
    of_kind = {"all": true(), "type": job_runs.c.job_type == name, "host": job_runs.c.host == name}[kind]
    # A run waits for no host.
    waiting = 0 if kind == "host" else _count(connection, WAITING, of_kind)
    running = _count(connection, job_runs.c.status == literal_column("'running'"), of_kind)
    ticks = select(job_ticks.c.id).where(job_ticks.c.host == name).limit(1)
    is_known = kind != "host" or running > 0 or connection.execute(ticks).first() is not None
    return Concerned(waiting, running, is_known)


def _count(connection: Connection, *conditions: ColumnElement[bool]) -> int:
    found = select(job_runs.c.id).where(*conditions).limit(MOST_COUNTED).subquery()
    count: int = connection.execute(select(func.count()).select_from(found)).scalar_one()
    return count
