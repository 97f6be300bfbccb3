"""Reads definitions for people: one by its name, all of them, or one with its runs and its events."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, func, select

from jobrunner.errors import NotFoundError
from jobrunner.model import Definition
from jobrunner.store import obstacles
from jobrunner.store.connection import Connection
from jobrunner.store.dialect.values import now
from jobrunner.store.records import DefinitionRow, ReadDefinition, columns_of, read
from jobrunner.store.schedules import definition_of
from jobrunner.store.schema import job_attempts, job_definitions, job_events, job_runs
from jobrunner.text import iso_instant, nearest, storable


@dataclass(frozen=True)
class ListedDefinition(DefinitionRow):
    """A definition, and why it makes no runs. ``problem`` None means no problem."""

    problem: str | None


@dataclass(frozen=True)
class ListedRun:
    """A run of a definition. ``late_seconds`` is from its slot, or its insertion, to its first start."""

    id: int
    scheduled_for: datetime | None
    origin: str | None
    status: str
    run_at: datetime
    finished_at: datetime | None
    attempts: int
    error_type: str | None
    last_error: str | None
    created_at: datetime
    first_started_at: datetime | None
    late_seconds: float | None


@dataclass(frozen=True)
class DefinitionEvent:
    """What a person or a tick did to a definition, or to a run of it."""

    at: datetime
    actor: str
    action: str
    run_id: int | None
    detail: Any


@dataclass(frozen=True)
class ShownDefinition(ListedDefinition):
    """A definition with who paused it, its newest runs, and its newest events."""

    paused_by: str | None
    runs: list[ListedRun]
    events: list[DefinitionEvent]


def lock(connection: Connection, name: str) -> ReadDefinition:
    """The row of a definition, locked until the transaction ends. Raises NotFoundError, also if it was removed."""
    return _found(connection, name, read_statement().where(job_definitions.c.name == name).with_for_update())


def current(connection: Connection, name: str) -> tuple[Definition, datetime, str | None]:
    """A definition, the database's time, and its problem. Raises NotFoundError, also if it was removed."""
    row = _found(connection, name, read_statement().where(job_definitions.c.name == name))
    return definition_of(vars(row)), row.now, _problem(connection, row)


def read_statement() -> Select[Any]:
    """Reads ``ReadDefinition``."""
    return select(job_definitions, now().label("now"))


def _found(connection: Connection, name: str, statement: Select[Any], *, removed: bool = False) -> ReadDefinition:
    # No definition has a name that is not UTF-8, and the databases accept no such text.
    found = read(connection, ReadDefinition, statement) if storable(name) == name else []
    if not found:
        raise missing(connection, name)
    if found[0].removed_at is not None and not removed:
        raise NotFoundError(f"the schedule {name!r} was removed at {iso_instant(found[0].removed_at)}; add it again")
    return found[0]


def missing(connection: Connection, name: str) -> NotFoundError:
    """The error for a name that no definition has. It proposes the most similar name."""
    columns = job_definitions.c
    names = connection.execute(select(columns.name).where(columns.removed_at.is_(None))).scalars()
    near = nearest(name, names)
    return NotFoundError(
        f"there is no schedule named {name[:60]!r}"
        + ("; see: jobrunner schedule list" if near is None else f"; did you mean {near!r}?")
    )


def listed(connection: Connection, *, removed: bool = False) -> list[ListedDefinition]:
    """The definitions by name. ``removed``: also those that were removed."""
    columns = job_definitions.c
    statement = read_statement().order_by(columns.name)
    if not removed:
        statement = statement.where(columns.removed_at.is_(None))
    found = read(connection, ReadDefinition, statement)
    former = obstacles.former_runs(connection) if found else {}
    return [ListedDefinition(**_columns(row), problem=obstacles.problem_of(row, former)) for row in found]


def _columns(row: ReadDefinition) -> dict[str, Any]:
    return {name: value for name, value in vars(row).items() if name != "now"}


def show(connection: Connection, name: str, newest: int) -> ShownDefinition:
    """One definition, also if it was removed, with up to ``newest`` runs and events. Raises NotFoundError."""
    found = _found(connection, name, read_statement().where(job_definitions.c.name == name), removed=True)
    return ShownDefinition(
        **_columns(found),
        problem=_problem(connection, found),
        paused_by=_paused_by(connection, found.id, found.paused_at),
        runs=_runs(connection, found.id, newest),
        events=_events(connection, found.id, newest),
    )


def _problem(connection: Connection, row: ReadDefinition) -> str | None:
    return obstacles.problem_of(row, obstacles.former_runs(connection, row.id))


def _paused_by(connection: Connection, definition_id: int, paused_at: datetime | None) -> str | None:
    if paused_at is None:
        return None
    columns = job_events.c
    # Not an earlier event: a person may have paused it by SQL, after an earlier pause had ended.
    statement = (
        select(columns.actor)
        .where(columns.definition_id == definition_id, columns.action == "pause schedule", columns.at >= paused_at)
        .order_by(columns.id.desc())
        .limit(1)
    )
    actor: str | None = connection.execute(statement).scalar_one_or_none()
    return actor


def _runs(connection: Connection, definition_id: int, newest: int) -> list[ListedRun]:
    columns = job_runs.c
    first_start = select(func.min(job_attempts.c.started_at)).where(job_attempts.c.run_id == columns.id)
    statement = (
        select(
            *columns_of(ListedRun, job_runs),
            # The run's own started_at is that of its newest attempt.
            func.coalesce(first_start.scalar_subquery(), columns.started_at).label("first_started_at"),
        )
        .where(columns.definition_id == definition_id)
        .order_by(columns.id.desc())
        .limit(newest)
    )
    found = connection.execute(statement)
    return [
        ListedRun(**row._asdict(), late_seconds=_late(row.first_started_at, row.scheduled_for or row.created_at))
        for row in found
    ]


def _late(started_at: datetime | None, due_at: datetime) -> float | None:
    return None if started_at is None else max(0.0, (started_at - due_at).total_seconds())


def _events(connection: Connection, definition_id: int, newest: int) -> list[DefinitionEvent]:
    columns = job_events.c
    statement = select(*columns_of(DefinitionEvent, job_events)).where(columns.definition_id == definition_id)
    return read(connection, DefinitionEvent, statement.order_by(columns.id.desc()).limit(newest))
