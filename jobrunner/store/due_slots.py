"""What becomes of the slots of a definition that are due when a person changes it: none is lost without a word.

Every function expects a write transaction that holds the definition's row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, RowMapping, select, update

from jobrunner.errors import BadSchedule, RowRefused
from jobrunner.model import Definition
from jobrunner.schedules.recurrence import Recurrence, Slots
from jobrunner.store import expansion
from jobrunner.store.audit import event
from jobrunner.store.schedules import Plan, definition_of
from jobrunner.store.schema import job_definitions

NO_SLOTS = Slots(None, None, 0)


@dataclass(frozen=True, slots=True)
class Changed:
    """What became of a definition. ``fields`` holds what changed: name, from, to.

    ``passed`` are the slots that get no run; ``was_paused`` None: it was not paused. ``was_ahead``: until when slots to
    come had counted as looked at, None if none did.
    """

    name: str
    next_run_at: datetime | None
    fields: dict[str, tuple[Any, Any]]
    passed: Slots = NO_SLOTS
    was_paused: datetime | None = None
    was_ahead: datetime | None = None


@dataclass(frozen=True, slots=True)
class Passed:
    """Slots that get no run any more: what is written of them into the definition's row, and into the trail."""

    slots: Slots = NO_SLOTS
    moved: dict[str, Any] = field(default_factory=dict)
    told: Sequence[dict[str, Any]] = ()


def pass_over(connection: Connection, row: RowMapping, plan: Plan, actor: str, reason: str) -> Passed:
    """Expand what is due. What is due still was paused, or could not be read, and gets no run."""
    expand_due(connection, row, plan)
    old, at = definition_of(read(connection, row["id"])), row["now"]
    slots = passed_over(old, at)
    told = told_of(actor, old, slots, "paused" if old.paused_at else reason, at)
    return Passed(slots, {"last_slot_at": max(old.last_slot_at, at)}, told)


def expand_due(connection: Connection, row: RowMapping, plan: Plan) -> None:
    """Expand the slots that are due by what the row says, if it can be read."""
    if row["next_run_at"] is not None and row["next_run_at"] > row["now"]:
        return
    try:
        # Undone by itself where the database refuses what somebody wrote by hand: then the edit is the remedy.
        with connection.begin_nested():
            expansion.expand(connection, row["id"], plan)
    except RowRefused:
        pass


def passed_over(definition: Definition, at: datetime) -> Slots:
    """The slots that are due and have not been looked at."""
    policy = definition.policy
    if policy.max_runs is not None and definition.runs_made >= policy.max_runs:
        return NO_SLOTS
    try:
        recurrence = Recurrence.parse(definition.schedule, definition.timezone)
    except BadSchedule:
        return NO_SLOTS
    return recurrence.latest(definition.last_slot_at, at if policy.ends_at is None else min(at, policy.ends_at))


def told_of(actor: str, definition: Definition, passed: Slots, reason: str, at: datetime) -> list[dict[str, Any]]:
    """The event that tells of slots that get no run, if there are any."""
    if not passed.count:
        return []
    detail = {"from": passed.first, "to": passed.last, "count": passed.count, "reason": reason}
    return [event(actor, "skip slots", definition.id, detail, at)]


def read(connection: Connection, definition_id: int) -> RowMapping:
    """The row of a definition as it is by now."""
    return connection.execute(select(job_definitions).where(job_definitions.c.id == definition_id)).mappings().one()


def write(connection: Connection, definition_id: int, values: dict[str, Any], at: datetime) -> None:
    """Write these columns of a definition."""
    columns = job_definitions.c
    connection.execute(update(job_definitions).where(columns.id == definition_id).values(**values, updated_at=at))
