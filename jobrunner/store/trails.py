"""The newest ticks and the newest events, for a person to look through. Expects a read transaction."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select

from jobrunner.store.connection import Connection
from jobrunner.store.overview import Tick
from jobrunner.store.records import columns_of, read
from jobrunner.store.schema import job_events, job_ticks


@dataclass(frozen=True)
class PastTick(Tick):
    """A tick with its id, by which the list goes on."""

    id: int


@dataclass(frozen=True)
class PastEvent:
    """What a person or a tick did, and to what."""

    id: int
    at: datetime
    actor: str
    action: str
    run_id: int | None
    definition_id: int | None
    detail: Any


def last_ticks(connection: Connection) -> list[PastTick]:
    """The last tick of each host."""
    columns = job_ticks.c
    last = select(func.max(columns.id)).group_by(columns.host)
    found = select(*columns_of(PastTick, job_ticks)).where(columns.id.in_(last))
    return read(connection, PastTick, found.order_by(columns.host))


def ticks(connection: Connection, limit: int, before: int) -> list[PastTick]:
    """The newest ticks with ids below ``before``."""
    columns = job_ticks.c
    found = select(*columns_of(PastTick, job_ticks)).where(columns.id < before)
    return read(connection, PastTick, found.order_by(columns.id.desc()).limit(limit))


def events(connection: Connection, limit: int, before: int) -> list[PastEvent]:
    """The newest events with ids below ``before``."""
    columns = job_events.c
    found = select(*columns_of(PastEvent, job_events)).where(columns.id < before)
    return read(connection, PastEvent, found.order_by(columns.id.desc()).limit(limit))
