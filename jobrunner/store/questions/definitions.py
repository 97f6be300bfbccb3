"""Reads definitions for people: one by its name, all of them, or one with its runs and its events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import MAXYEAR, datetime
from typing import Any, ClassVar

from jobrunner.errors import NotFoundError
from jobrunner.model import Definition
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.reading import read
from jobrunner.store.questions import obstacles
from jobrunner.store.sql.statement import Prepared
from jobrunner.store.timetable.records import DefinitionRow, ReadDefinition
from jobrunner.store.timetable.schedules import definition_of
from jobrunner.text import iso_instant, nearest, storable

ON_HOSTS = "on its hosts"
"""Instead of the next slot of a schedule that each host has for itself."""


@dataclass(frozen=True)
class ListedDefinition(DefinitionRow):
    """A definition, and why it makes no runs. ``problem`` None means no problem."""

    problem: str | None
    COLUMNS: ClassVar = "name, type=job_type, schedule, time zone=timezone, next slot=next_slot, problem"
    next_slot = property(
        lambda self: ON_HOSTS if self.has_hosts else next_slot(self.next_run_at, self.paused_at, self.removed_at)
    )
    has_hosts = property(lambda self: self.is_template and self.removed_at is None)


def next_slot(
    at: datetime | None, paused_at: datetime | None, removed_at: datetime | None = None
) -> datetime | str | None:
    """When a definition has its next slot, or why it has none."""
    if removed_at is not None:
        return "removed"
    if paused_at is not None:
        return "paused"
    # This year means that no slot will ever come.
    return "never again" if at is not None and at.year == MAXYEAR else at


@dataclass(frozen=True)
class HostSchedule:
    """What one host has of a schedule whose slots get a run on every host: a schedule of its own, and its newest run.

    ``ticked_at`` is when the newest tick of the host began, null if none is kept.
    """

    name: str
    host: str
    last_slot_at: datetime
    next_run_at: datetime | None
    paused_at: datetime | None
    last_error: str | None
    ticked_at: datetime | None
    run_id: int | None
    run_status: str | None
    run_slot: datetime | None
    COLUMNS: ClassVar = (
        "host, next slot=next_slot, newest tick=ticked_at, newest run=run_id, its slot=run_slot, status=run_status,"
        " schedule=name"
    )
    next_slot = property(lambda self: next_slot(self.next_run_at, self.paused_at))


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
    """What an operator or a tick did to a definition, or to a run of it."""

    at: datetime
    actor: str
    action: str
    run_id: int | None
    detail: Any


@dataclass(frozen=True)
class ShownDefinition(ListedDefinition):
    """A definition with who paused it, its newest runs, its newest events, and what hosts have of it (``on_hosts``)."""

    paused_by: str | None
    runs: list[ListedRun]
    events: list[DefinitionEvent]
    on_hosts: list[HostSchedule]


def lock(connection: Connection, name: str) -> ReadDefinition:
    """The row of a definition, locked until the transaction ends. Raises NotFoundError, also if it was removed."""
    return _found(connection, name, for_update=True)


def lock_of_hosts(connection: Connection, templates: Sequence[ReadDefinition]) -> Sequence[ReadDefinition]:
    """The rows that hosts have of these definitions, locked, without removed ones. Most definitions have none."""
    names = [{"name": each.name} for each in templates if each.is_template]
    return read(connection, ReadDefinition, Prepared("definitions.of_templates"), {"given": names}) if names else []


def current(connection: Connection, name: str) -> tuple[Definition, datetime, str | None]:
    """A definition, the database's time, and its problem. Raises NotFoundError, also if it was removed."""
    row = _found(connection, name)
    return definition_of(vars(row)), row.now, _problem(connection, row)


def _found(connection: Connection, name: str, *, for_update: bool = False, removed: bool = False) -> ReadDefinition:
    statement = Prepared("definitions.named", (for_update,))
    # No definition has a name that is not UTF-8, and the databases accept no such text.
    found = read(connection, ReadDefinition, statement, {"name": name}) if storable(name) == name else []
    if not found:
        raise missing(connection, name)
    if found[0].removed_at is not None and not removed:
        raise NotFoundError(f"the schedule {name!r} was removed at {iso_instant(found[0].removed_at)}; add it again")
    return found[0]


def missing(connection: Connection, name: str) -> NotFoundError:
    """The error for a name that no definition has. It proposes the most similar name."""
    near = nearest(name, connection.execute(Prepared("definitions.names")).scalars())
    return NotFoundError(
        f"there is no schedule named {name[:60]!r}"
        + ("; see: jobrunner schedule list" if near is None else f"; did you mean {near!r}?")
    )


def listed(connection: Connection, *, removed: bool = False) -> list[ListedDefinition]:
    """The definitions by name. ``removed``: also those that were removed."""
    found = read(connection, ReadDefinition, Prepared("definitions.listed", (removed,)))
    former = obstacles.former_runs(connection) if found else {}
    return [ListedDefinition(**_columns(row), problem=obstacles.problem_of(row, former)) for row in found]


def _columns(row: ReadDefinition) -> dict[str, Any]:
    return {name: value for name, value in vars(row).items() if name != "now"}


def show(connection: Connection, name: str, newest: int) -> ShownDefinition:
    """One definition, also if it was removed, with up to ``newest`` runs and events. Raises NotFoundError."""
    found = _found(connection, name, removed=True)
    return ShownDefinition(
        **_columns(found),
        problem=_problem(connection, found),
        paused_by=_paused_by(connection, found.id, found.paused_at),
        runs=_runs(connection, found.id, newest),
        events=_events(connection, found.id, newest),
        on_hosts=on_hosts(connection, found.name) if found.is_template else [],
    )


def on_hosts(connection: Connection, template: str) -> list[HostSchedule]:
    """What the hosts have of a definition whose slots get a run on every host."""
    return read(connection, HostSchedule, Prepared("definitions.on_hosts"), {"template": template})


def _problem(connection: Connection, row: ReadDefinition) -> str | None:
    return obstacles.problem_of(row, obstacles.former_runs(connection, row.id))


def _paused_by(connection: Connection, definition_id: int, paused_at: datetime | None) -> str | None:
    if paused_at is None:
        return None
    values = {"definition": definition_id, "since": paused_at}
    actor: str | None = connection.execute(Prepared("definitions.paused_by"), values).scalar_one_or_none()
    return actor


def _runs(connection: Connection, definition_id: int, newest: int) -> list[ListedRun]:
    found = connection.execute(Prepared("definitions.runs"), {"definition": definition_id, "most": newest})
    return [
        ListedRun(**row._asdict(), late_seconds=_late(row.first_started_at, row.scheduled_for or row.created_at))
        for row in found
    ]


def _late(started_at: datetime | None, due_at: datetime) -> float | None:
    return None if started_at is None else max(0.0, (started_at - due_at).total_seconds())


def _events(connection: Connection, definition_id: int, newest: int) -> list[DefinitionEvent]:
    values = {"definition": definition_id, "most": newest}
    return read(connection, DefinitionEvent, Prepared("definitions.events"), values)
