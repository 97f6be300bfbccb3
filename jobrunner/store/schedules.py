"""Definitions, and what their expansion asks and tells.

Every function expects to be the body of one write transaction, the listings of any transaction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, case, insert, literal, null, select, update

from jobrunner.model import Definition
from jobrunner.store.dialect import insert_or_skip, now
from jobrunner.store.limits import Occupancy
from jobrunner.store.schema import job_definitions, job_events, job_expandable


@dataclass(frozen=True, slots=True)
class Expansion:
    """What the slots since the watermark ask for. ``slot`` None: none was due, only the hint moves.

    ``skipped`` is the stretch of older slots that are not made up for: (first, last, count). ``problem`` is
    why the definition cannot be read; then nothing else is written.
    """

    slot: datetime | None = None
    skipped: tuple[datetime, datetime, int] | None = None
    next_run_at: datetime | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Expanded:
    """What one definition's expansion wrote. ``run_id`` None: no run; ``is_new_problem``: worth a log line.

    ``full``: the slot was due, but as many runs of the type wait as may.
    """

    definition: Definition
    expansion: Expansion
    run_id: int | None
    is_new_problem: bool = False
    full: Occupancy | None = None


Plan = Callable[[Definition, datetime], Expansion]


def expandable(connection: Connection, limit: int) -> list[int]:
    """The ids of definitions that may have a slot to expand, the longest due first."""
    columns = job_expandable.c
    statement = select(columns.id).order_by(columns.next_run_at, columns.id).limit(limit)
    return list(connection.execute(statement).scalars())


def note_refused(connection: Connection, definition_id: int, problem: str) -> Expanded:
    """As ``record_problem``, for a definition whose row the database refuses."""
    row = connection.execute(select(job_definitions).where(job_definitions.c.id == definition_id)).mappings().one()
    return record_problem(connection, definition_of(row), problem)


def record_problem(connection: Connection, definition: Definition, problem: str) -> Expanded:
    """Note why a definition cannot be expanded, once for each reason."""
    is_new = definition.last_error != problem
    if is_new:
        connection.execute(
            update(job_definitions)
            .where(job_definitions.c.id == definition.id)
            .values(last_error=problem, updated_at=now())
        )
        _record(connection, "tick", "cannot expand", definition.id, {"problem": problem})
    return Expanded(definition, Expansion(problem=problem), None, is_new_problem=is_new)


def add(connection: Connection, new: dict[str, Any], plan: Plan, actor: str) -> int | None:
    """Create a definition, seen from now on: no slot before this moment is made up for.

    A removed one of the same name comes back with its watermark, which only ever rises. None: the name is taken.
    """
    at = connection.execute(select(now())).scalar_one()
    values = {**new, "removed_at": None, "last_slot_at": at, "updated_at": at}
    columns = job_definitions.c
    if not insert_or_skip(connection, job_definitions, {**values, "created_at": at}):
        # The clock may have stepped back since.
        later_watermark = case(
            (columns.last_slot_at > at, columns.last_slot_at), else_=literal(at, columns.last_slot_at.type)
        )
        revived = connection.execute(
            update(job_definitions)
            .where(columns.name == new["name"], columns.removed_at.is_not(None))
            .values({**values, "last_slot_at": later_watermark, "paused_at": null(), "last_error": null()})
        )
        if revived.rowcount == 0:
            return None
    row = (
        connection.execute(select(job_definitions).where(columns.name == new["name"]).with_for_update())
        .mappings()
        .one()
    )
    next_run_at = plan(definition_of(row), at).next_run_at
    connection.execute(update(job_definitions).where(columns.id == row["id"]).values(next_run_at=next_run_at))
    detail = {name: new[name] for name in ("name", "job_type", "schedule", "timezone", "payload")}
    _record(connection, actor, "add schedule", row["id"], detail)
    return int(row["id"])


def remove(connection: Connection, name: str, actor: str) -> bool:
    """Mark a definition as removed; its runs and history stay. False: there is none of that name."""
    columns = job_definitions.c
    removed = connection.execute(
        update(job_definitions)
        .where(columns.name == name, columns.removed_at.is_(None))
        .values(removed_at=now(), updated_at=now())
        .returning(columns.id)
    ).scalar_one_or_none()
    if removed is None:
        return False
    _record(connection, actor, "remove schedule", removed, {"name": name})
    return True


def _record(connection: Connection, actor: str, action: str, definition_id: int, detail: dict[str, Any]) -> None:
    connection.execute(
        insert(job_events).values(at=now(), actor=actor, action=action, definition_id=definition_id, detail=detail)
    )


READ = ("id", "name", "job_type", "payload", "schedule", "timezone", "last_slot_at", "last_error")
"""The columns that ``definition_of`` reads."""


def definition_of(row: Any) -> Definition:
    """What the expansion knows of a definition."""
    return Definition(
        id=row["id"],
        name=row["name"],
        job_type=row["job_type"],
        payload=row["payload"],
        schedule=row["schedule"],
        timezone=row["timezone"],
        last_slot_at=row["last_slot_at"],
        last_error=row["last_error"],
    )
