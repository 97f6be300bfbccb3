"""The newest ticks and the newest events, for an operator to look through. Expects a read transaction."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Float, Table, literal, select

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.reading import columns_of, read
from jobrunner.store.questions.state import Tick
from jobrunner.store.schema import job_events, job_ticks
from jobrunner.store.sql.dialect.values import later
from jobrunner.store.statements.questions.findings import NEWEST_TICKS

T = TypeVar("T")


@dataclass(frozen=True)
class PastTick(Tick):
    """A tick with its id, by which the list goes on."""

    id: int


@dataclass(frozen=True)
class LeftBehind:
    """The due runs that a tick left when it ended, by their types. ``at_least``: there were more than it counted."""

    at: datetime
    runs: dict[str, int]
    at_least: bool

    @property
    def total(self) -> int:
        """How many they are."""
        return sum(self.runs.values())


@dataclass(frozen=True)
class PastEvent:
    """What an operator or a tick did, and to what."""

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
    found = select(*columns_of(PastTick, job_ticks)).where(columns.id.in_(NEWEST_TICKS))
    return read(connection, PastTick, found.order_by(columns.host))


def newest_ticks(connection: Connection, limit: int, before: int, host: str | None = None) -> list[PastTick]:
    """The newest ticks with ids below ``before``, of all hosts or of one."""
    of_host = () if host is None else (job_ticks.c.host == host,)
    return _newest(connection, PastTick, job_ticks, limit, job_ticks.c.id < before, *of_host)


def newest_events(connection: Connection, limit: int, before: int) -> list[PastEvent]:
    """The newest events with ids below ``before``."""
    return _newest(connection, PastEvent, job_events, limit, job_events.c.id < before)


def _newest(connection: Connection, kind: type[T], table: Table, limit: int, *wanted: ColumnElement[bool]) -> list[T]:
    found = select(*columns_of(kind, table)).where(*wanted)
    return read(connection, kind, found.order_by(table.c.id.desc()).limit(limit))


def left_behind(connection: Connection, period: timedelta, limit: int) -> list[LeftBehind]:
    """What the ticks that began in the last ``period`` left behind, of the newest so many that left anything."""
    columns = job_ticks.c
    found = select(columns.finished_at, columns.left_due).where(
        columns.started_at >= later(literal(-period.total_seconds(), Float)),
        columns.left_due.is_not(None),
        columns.finished_at.is_not(None),
    )
    rows = connection.execute(found.order_by(columns.started_at.desc()).limit(limit))
    return [each for row in rows if (each := _left(row.finished_at, row.left_due)) is not None]


def _left(at: datetime, found: Any) -> LeftBehind | None:
    """None: the row is not as a tick writes it."""
    runs = found.get("runs") if isinstance(found, dict) else None
    if not isinstance(runs, dict) or not all(isinstance(count, int) for count in runs.values()):
        return None
    return LeftBehind(at, runs, bool(found.get("at_least")))
