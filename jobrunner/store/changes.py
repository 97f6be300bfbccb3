"""What people change about definitions: add, edit, remove, pause, resume.

Every function is the body of one write transaction. It holds the definition's row, so that no tick expands it
meanwhile, and leaves an event that says who, when, from what and to what.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, RowMapping, case, literal, null, select, update

from jobrunner.errors import BadSchedule, JobrunnerError, RowRefused
from jobrunner.model import PLACES, Declaration, Definition
from jobrunner.recurrence import Recurrence, Slots
from jobrunner.store import definitions, expansion
from jobrunner.store.dialect import insert_or_skip, now
from jobrunner.store.obstacles import is_ahead
from jobrunner.store.schedules import Plan, definition_of, policy_columns
from jobrunner.store.schema import job_definitions
from jobrunner.store.trail import event, record

# What is changed by one of these was not to have slots before now.
_SAY_WHEN = frozenset({"schedule", "timezone", "ends_at", "max_runs"})
_NO_SLOTS = Slots(None, None, 0)


@dataclass(frozen=True, slots=True)
class Changed:
    """What became of a definition. ``fields`` holds what changed: name, from, to.

    ``passed`` are the slots that get no run; ``was_paused`` None: it was not paused. ``was_ahead``: until when slots to
    come had counted as looked at, None if none did.
    """

    name: str
    next_run_at: datetime | None
    fields: dict[str, tuple[Any, Any]]
    passed: Slots = _NO_SLOTS
    was_paused: datetime | None = None
    was_ahead: datetime | None = None


def add(connection: Connection, new: Declaration, plan: Plan, actor: str, *, paused: bool = False) -> Changed | None:
    """Create a definition, seen from now on: no slot before this moment is made up for.

    A removed one of the same name comes back with its watermark, which only ever rises, and none of its runs counts
    towards ``max_runs``. None: the name is taken.
    """
    at = connection.execute(select(now())).scalar_one()
    said = columns_of(new)
    values = {**said, "name": new.name, **owner_of(new), "removed_at": None, "runs_made": 0, "updated_at": at}
    columns = job_definitions.c
    if not insert_or_skip(connection, job_definitions, {**values, "last_slot_at": at, "created_at": at}):
        # The clock may have stepped back since.
        watermark = case(
            (columns.last_slot_at > at, columns.last_slot_at), else_=literal(at, columns.last_slot_at.type)
        )
        revived = connection.execute(
            update(job_definitions)
            .where(columns.name == new.name, columns.removed_at.is_not(None))
            .values({**values, "last_slot_at": watermark, "paused_at": null(), "last_error": null()})
        )
        if revived.rowcount == 0:
            return None
    row = definitions.lock(connection, new.name)
    next_run_at = _settle(connection, row["id"], plan, at)
    record(connection, [event(actor, "add schedule", row["id"], {"name": new.name, **said}, at)])
    if paused:
        _pause(connection, [row], actor)
    return Changed(new.name, next_run_at, {})


def edit(
    connection: Connection, name: str, change: Callable[[Declaration], Declaration], plan: Plan, actor: str
) -> Changed:
    """Declare a definition anew. What is due by then is expanded by the old declaration, and nothing of it twice.

    ``change`` gets the old declaration; what it raises leaves everything as it was. Raises NotFoundError.
    """
    row = definitions.lock(connection, name)
    return redeclare(connection, row, change(declaration_of(row)), plan, actor)


def redeclare(connection: Connection, row: RowMapping, new: Declaration, plan: Plan, actor: str) -> Changed:
    """As ``edit``, of a row that is locked, whoever says so. Its name stays."""
    name, changed = row["name"], differing(row, new)
    if not changed:
        return Changed(name, row["next_run_at"], {}, was_paused=row["paused_at"])
    at, passed, events = row["now"], _NO_SLOTS, []
    _expand_due(connection, row, plan)
    values: dict[str, Any] = {field: to for field, (_, to) in changed.items()}
    if _SAY_WHEN & changed.keys():
        # Of the row as the expansion left it. What is due still was paused, or could not be read.
        old = definition_of(_read(connection, row["id"]))
        passed = _passed_over(old, at)
        values["last_slot_at"] = max(old.last_slot_at, at)
        events += _passing(actor, old, passed, "paused" if old.paused_at else "edited", at)
    _write(connection, row["id"], values, at)
    next_run_at = _settle(connection, row["id"], plan, at)
    detail = {field: {"from": before, "to": after} for field, (before, after) in changed.items()}
    record(connection, [*events, event(actor, "edit schedule", row["id"], {"changed": detail}, at)])
    return Changed(name, next_run_at, changed, passed, row["paused_at"])


def bring_back(connection: Connection, row: RowMapping, new: Declaration, plan: Plan, actor: str) -> Changed:
    """As ``redeclare``, of a removed one, with its pause, its count of runs and its watermark, which only rises."""
    at, said = row["now"], {**columns_of(new), **owner_of(new)}
    watermark = max(row["last_slot_at"], at)
    _write(connection, row["id"], {**said, "removed_at": None, "last_slot_at": watermark}, at)
    next_run_at = _settle(connection, row["id"], plan, at)
    record(connection, [event(actor, "add schedule", row["id"], {"name": new.name, **said}, at)])
    return Changed(new.name, next_run_at, {})


def remove(connection: Connection, name: str, actor: str) -> None:
    """Mark a definition as removed; its runs and its history stay. Raises NotFoundError, and as ``check_not_kept``."""
    row = definitions.lock(connection, name)
    check_not_kept(declaration_of(row))
    mark_removed(connection, row, actor)


def mark_removed(connection: Connection, row: RowMapping, actor: str) -> None:
    """As ``remove``, of a row that is locked, whoever says so."""
    _write(connection, row["id"], {"removed_at": row["now"]}, row["now"])
    record(connection, [event(actor, "remove schedule", row["id"], {"name": row["name"]}, row["now"])])


def check_not_kept(declaration: Declaration) -> None:
    """Raises JobrunnerError where the code or the file says what the definition is: by hand it would not last."""
    place = PLACES.get(declaration.source)
    if place is not None:
        raise JobrunnerError(
            f"the schedule {declaration.name!r} is kept in {place}; change it there and run: jobrunner apply"
        )


def pause(connection: Connection, name: str, actor: str) -> Changed:
    """No slot makes a run from now on, until it is resumed. Runs that exist go on. Raises NotFoundError.

    Paused already: the answer says since when, and nothing is written.
    """
    row = definitions.lock(connection, name)
    if row["paused_at"] is None:
        _pause(connection, [row], actor)
    return Changed(name, None, {}, was_paused=row["paused_at"])


def pause_all(connection: Connection, actor: str) -> list[str]:
    """As ``pause``, all that are not paused; their names."""
    rows = [row for row in _lock_all(connection) if row["paused_at"] is None]
    _pause(connection, rows, actor)
    return [row["name"] for row in rows]


def _pause(connection: Connection, rows: Sequence[RowMapping], actor: str) -> None:
    for row in rows:
        _write(connection, row["id"], {"paused_at": row["now"]}, row["now"])
    record(connection, [event(actor, "pause schedule", row["id"], {}, row["now"]) for row in rows])


def resume(connection: Connection, name: str, plan: Plan, actor: str, *, missed: bool) -> Changed | None:
    """Let a paused definition go on, from now, or with what it ``missed``, on which the next tick decides.

    From now, slots to come that counted as looked at, since a clock was ahead, are looked at again. None: it is not
    paused, and there were none. Raises NotFoundError.
    """
    row = definitions.lock(connection, name)
    if row["paused_at"] is None and (missed or not is_ahead(row["last_slot_at"], row["now"])):
        return None
    return _resume(connection, [row], plan, actor, missed=missed)[0]


def resume_all(connection: Connection, plan: Plan, actor: str, *, missed: bool) -> list[Changed]:
    """As ``resume``, all that are paused; from now, the watermark of those that are not rises, too."""
    rows = [row for row in _lock_all(connection) if row["paused_at"] is not None or not missed]
    return _resume(connection, rows, plan, actor, missed=missed)


def _resume(
    connection: Connection, rows: Sequence[RowMapping], plan: Plan, actor: str, *, missed: bool
) -> list[Changed]:
    answers, events = [], []
    for row in rows:
        old, at = definition_of(row), row["now"]
        was_ahead = old.last_slot_at if not missed and is_ahead(old.last_slot_at, at) else None
        # It only ever rises, but for this: a slot that has its run is told from the others by that run.
        watermark = old.last_slot_at if missed else at if was_ahead else max(old.last_slot_at, at)
        passed = _passed_over(old, at)
        # Without a hint the next tick looks at it, and decides on what was missed.
        is_left = missed and passed.count > 0
        next_run_at = None if is_left else plan(replace(old, last_slot_at=watermark, paused_at=None), at).next_run_at
        _write(connection, old.id, {"paused_at": None, "last_slot_at": watermark, "next_run_at": next_run_at}, at)
        if not missed:
            events += _passing(actor, old, passed, "paused", at)
        moved = {"from": old.last_slot_at, "to": watermark}
        detail = {"from": "missed" if missed else "now", "paused_at": old.paused_at, "watermark": moved}
        events.append(event(actor, "resume schedule", old.id, detail, at))
        answers.append(Changed(old.name, next_run_at, {}, passed, old.paused_at, was_ahead))
    record(connection, events)
    return answers


def _lock_all(connection: Connection) -> Sequence[RowMapping]:
    columns = job_definitions.c
    # In id order, as all statements that lock several rows.
    statement = select(job_definitions, now().label("now")).where(columns.removed_at.is_(None)).order_by(columns.id)
    return connection.execute(statement.with_for_update()).mappings().all()


def _read(connection: Connection, definition_id: int) -> RowMapping:
    return connection.execute(select(job_definitions).where(job_definitions.c.id == definition_id)).mappings().one()


def _write(connection: Connection, definition_id: int, values: dict[str, Any], at: datetime) -> None:
    columns = job_definitions.c
    connection.execute(update(job_definitions).where(columns.id == definition_id).values(**values, updated_at=at))


def _expand_due(connection: Connection, row: RowMapping, plan: Plan) -> None:
    if row["next_run_at"] is not None and row["next_run_at"] > row["now"]:
        return
    try:
        # Undone by itself where the database refuses what somebody wrote by hand: then the edit is the remedy.
        with connection.begin_nested():
            expansion.expand(connection, row["id"], plan)
    except RowRefused:
        pass


def _settle(connection: Connection, definition_id: int, plan: Plan, at: datetime) -> datetime | None:
    """Write when the definition has its next slot, or why that cannot be said."""
    asked = plan(definition_of(_read(connection, definition_id)), at)
    # Without a hint the next tick looks at what is due still, since it could not be read until now.
    hint = asked.next_run_at if asked.watermark is None else None
    _write(connection, definition_id, {"next_run_at": hint, "last_error": asked.problem}, at)
    return asked.next_run_at


def _passed_over(definition: Definition, at: datetime) -> Slots:
    """The slots that are due and have not been looked at."""
    policy = definition.policy
    if policy.max_runs is not None and definition.runs_made >= policy.max_runs:
        return _NO_SLOTS
    try:
        recurrence = Recurrence.parse(definition.schedule, definition.timezone)
    except BadSchedule:
        return _NO_SLOTS
    return recurrence.latest(definition.last_slot_at, at if policy.ends_at is None else min(at, policy.ends_at))


def _passing(actor: str, definition: Definition, passed: Slots, reason: str, at: datetime) -> list[dict[str, Any]]:
    if not passed.count:
        return []
    detail = {"from": passed.first, "to": passed.last, "count": passed.count, "reason": reason}
    return [event(actor, "skip slots", definition.id, detail, at)]


def differing(row: RowMapping, new: Declaration) -> dict[str, tuple[Any, Any]]:
    """The fields of a definition that are declared otherwise: from, to. Its name aside."""
    said = {**columns_of(new), **owner_of(new)}
    return {field: (row[field], value) for field, value in said.items() if not _is_same(row[field], value)}


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_is_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_is_same, one, other))
    # Python takes True for 1, a handler does not.
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def columns_of(declaration: Declaration) -> dict[str, Any]:
    """What a declaration says, by column; its name and its owner aside."""
    return {
        "job_type": declaration.job_type,
        "schedule": declaration.schedule,
        "timezone": declaration.timezone,
        "payload": declaration.payload,
        "description": declaration.description,
        **policy_columns(declaration.policy),
    }


def owner_of(declaration: Declaration) -> dict[str, str]:
    """Who says it, by column."""
    return {"source": declaration.source, "application": declaration.application}


def declaration_of(row: RowMapping) -> Declaration:
    """What a row says that its definition should be."""
    found = definition_of(row)
    return Declaration(
        name=found.name,
        job_type=found.job_type,
        schedule=found.schedule,
        timezone=found.timezone,
        payload=found.payload,
        source=found.source,  # type: ignore[arg-type] # a hand may have written anything
        policy=found.policy,
        description=found.description,
        application=row["application"],
    )
