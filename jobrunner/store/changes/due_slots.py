"""The due slots of a definition that an operator changes: each gets its run, or an event says why it gets none.

Every function expects a write transaction that has locked the definition's row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import select, update

from jobrunner.errors import BadSchedule, RowRefused
from jobrunner.model import Actor, Definition
from jobrunner.schedules.recurrence import Recurrence, Slots
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.queue.ticks.audit import event
from jobrunner.store.schema import job_definitions
from jobrunner.store.timetable import expansion
from jobrunner.store.timetable.records import ReadDefinition
from jobrunner.store.timetable.schedules import Plan, definition_of

NO_SLOTS = Slots(None, None, 0)


@dataclass(frozen=True, slots=True)
class Changed:
    """The result of a change. ``fields`` maps the name of each changed column to its old and its new value.

    ``skipped`` are the slots that get no run. ``was_paused`` is since when it was paused, None if it was not.
    ``was_ahead`` is until when future slots had counted as handled, None if none had. ``is_template``: each host has
    slots of its own.
    """

    name: str
    next_run_at: datetime | None
    fields: dict[str, tuple[Any, Any]]
    skipped: Slots = NO_SLOTS
    was_paused: datetime | None = None
    was_ahead: datetime | None = None
    is_template: bool = False


@dataclass(frozen=True, slots=True)
class Skipped:
    """Slots that get no run: what must be written into the definition's row for them, and into the audit trail."""

    slots: Slots = NO_SLOTS
    columns: dict[str, Any] = field(default_factory=dict)
    events: Sequence[dict[str, Any]] = ()


def expand_or_skip(
    connection: Connection, row: ReadDefinition, plan: Plan, actor: Actor, reason: str, *, expands: bool = True
) -> Skipped:
    """Expand the due slots. If the definition is paused or cannot be read, or ``expands`` is False, they get no run."""
    if expands:
        expand_due(connection, row, plan)
    old, at = read(connection, row.id), row.now
    slots = unhandled_slots(old, at)
    events = skip_events(actor, old, slots, "paused" if old.paused_at else reason, at)
    return Skipped(slots, {"last_slot_at": max(old.last_slot_at, at)}, events)


def expand_due(connection: Connection, row: ReadDefinition, plan: Plan) -> None:
    """Expand the due slots of the definition as it was before the change, if it can be read."""
    if row.next_run_at is not None and row.next_run_at > row.now:
        return
    try:
        # In a savepoint: the database may refuse a row that an operator wrote by hand, and the edit must still work.
        with connection.savepoint():
            expansion.expand(connection, row.id, plan)
    except RowRefused:
        pass


def unhandled_slots(definition: Definition, at: datetime) -> Slots:
    """The due slots after the watermark."""
    policy = definition.policy
    if definition.is_template:
        return NO_SLOTS
    if policy.max_runs is not None and definition.runs_made >= policy.max_runs:
        return NO_SLOTS
    try:
        recurrence = Recurrence.parse(definition.schedule, definition.timezone)
    except BadSchedule:
        return NO_SLOTS
    return recurrence.latest(definition.last_slot_at, at if policy.ends_at is None else min(at, policy.ends_at))


def skip_events(
    actor: Actor, definition: Definition, skipped: Slots, reason: str, at: datetime
) -> list[dict[str, Any]]:
    """The event that says which slots get no run and why, if there are any."""
    if not skipped.count:
        return []
    detail = {"from": skipped.first, "to": skipped.last, "count": skipped.count, "reason": reason}
    return [event(actor, "skip slots", definition.id, detail, at)]


def read(connection: Connection, definition_id: int) -> Definition:
    """A definition as it is stored now."""
    statement = select(job_definitions).where(job_definitions.c.id == definition_id)
    (row,) = connection.execute(statement).mappings()
    return definition_of(row)


def write(connection: Connection, definition_id: int, values: dict[str, Any], at: datetime) -> None:
    """Write these columns of a definition."""
    columns = job_definitions.c
    connection.execute(update(job_definitions).where(columns.id == definition_id).values(**values, updated_at=at))
