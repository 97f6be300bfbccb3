"""Definitions and the expansion of their slots.

Every function expects to be the body of one write transaction, the listings of any transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, case, exc, insert, literal, null, select, update

from jobrunner import faults
from jobrunner.errors import RowRefused
from jobrunner.model import Definition
from jobrunner.payload import encode_payload
from jobrunner.store import dialect, limits
from jobrunner.store.dialect import insert_or_skip, now
from jobrunner.store.insertion import NewRun
from jobrunner.store.limits import Room
from jobrunner.store.runs import insert_if_room
from jobrunner.store.schema import job_definitions, job_events, job_expandable
from jobrunner.text import one_line


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
    full: Room | None = None


Plan = Callable[[Definition, datetime], Expansion]


def expandable(connection: Connection, limit: int) -> list[int]:
    """The ids of definitions that may have a slot to expand, the longest due first."""
    columns = job_expandable.c
    statement = select(columns.id).order_by(columns.next_run_at, columns.id).limit(limit)
    return list(connection.execute(statement).scalars())


def expand(connection: Connection, definition_id: int, plan: Plan) -> Expanded | None:
    """Move the watermark of one definition and insert the run of its slot, in one transaction.

    ``plan`` gets the definition and the database's now. None: another tick has it at the moment, or had. With nothing
    written, raises LimitHeld where an application keeps the type's limit to itself, and RowRefused.
    """
    with rows_refused([definition_id]):
        return _expand(connection, definition_id, plan)


@contextmanager
def rows_refused(definition_ids: Sequence[int]) -> Iterator[None]:
    """Raises RowRefused for what the database says of a row that it does not take."""
    try:
        yield
    except (exc.IntegrityError, exc.DataError) as error:
        raise RowRefused(one_line(f"the database refuses it: {error.orig}"), definition_ids) from None


def _expand(connection: Connection, definition_id: int, plan: Plan) -> Expanded | None:
    # Locking the view makes PostgreSQL ask its condition again of a row that another tick just moved.
    locked = select(job_expandable.c.id).where(job_expandable.c.id == definition_id)
    if connection.execute(locked.with_for_update(skip_locked=True)).one_or_none() is None:
        return None
    columns = job_definitions.c
    row = (
        connection.execute(select(job_definitions, now().label("now")).where(columns.id == definition_id))
        .mappings()
        .one()
    )
    definition = definition_of(row)
    expansion = plan(definition, row["now"])
    if expansion.problem is not None:
        return record_problem(connection, definition, expansion.problem)
    watermark = definition.last_slot_at if expansion.slot is None else expansion.slot
    connection.execute(
        update(job_definitions)
        .where(columns.id == definition_id)
        .values(last_slot_at=watermark, next_run_at=expansion.next_run_at, last_error=null(), updated_at=row["now"])
    )
    if expansion.skipped is not None:
        _record_skipped(connection, definition_id, *expansion.skipped, reason="misfire")
    expanded = Expanded(definition, expansion, None)
    if expansion.slot is not None:
        with limits.not_for_long(connection):
            answer = insert_if_room(connection, run_of_slot(definition, expansion.slot))
        if isinstance(answer, Room):
            _record_skipped(connection, definition_id, expansion.slot, expansion.slot, 1, reason="max_waiting")
            expanded = replace(expanded, full=answer)
        else:
            expanded = replace(expanded, run_id=answer.id)
    faults.reach("expand.before_commit", cut=lambda: dialect.sever(connection))
    return expanded


def _record_skipped(
    connection: Connection, definition_id: int, first: datetime, last: datetime, count: int, *, reason: str
) -> None:
    _record(connection, "tick", "skip slots", definition_id, told_of_skipped(first, last, count, reason=reason))


def told_of_skipped(first: datetime, last: datetime, count: int, *, reason: str) -> dict[str, Any]:
    """What the audit trail says of a stretch of slots without runs."""
    return {"from": first.isoformat(), "to": last.isoformat(), "count": count, "reason": reason}


def run_of_slot(definition: Definition, slot: datetime) -> NewRun:
    """The run that this slot asks for."""
    return NewRun(
        job_type=definition.job_type,
        payload=encode_payload(definition.payload),
        run_at=slot,
        definition_id=definition.id,
        scheduled_for=slot,
    )


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
