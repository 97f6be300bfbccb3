"""What people change about definitions: add, edit, remove. To pause and resume is in ``pausing``.

Every function is the body of one write transaction. It holds the definition's row, so that no tick expands it
meanwhile, and leaves an event that says who, when, from what and to what.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, RowMapping, case, literal, null, select, update
from sqlalchemy.exc import IntegrityError

from jobrunner.errors import JobrunnerError
from jobrunner.model import SOURCE_NAMES, Declaration
from jobrunner.store import definitions
from jobrunner.store.audit import event, record
from jobrunner.store.dialect import insert_or_skip, now, rows
from jobrunner.store.due_slots import Changed, Passed, expand_due, pass_over, read, write
from jobrunner.store.pausing import mark_paused
from jobrunner.store.schedules import Plan, definition_of, policy_columns
from jobrunner.store.schema import job_definitions

_SAID = ("job_type", "schedule", "timezone", "payload", "description")
# What is changed by one of these was not to have slots before now.
_SAY_WHEN = frozenset({"schedule", "timezone", "ends_at", "max_runs"})


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
        mark_paused(connection, [row], actor)
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
    """As ``edit``, of a row that is locked, whoever says so. Raises JobrunnerError where its new name is taken."""
    changed = differing(row, new)
    if not changed:
        return Changed(new.name, row["next_run_at"], {}, was_paused=row["paused_at"])
    at, passed = row["now"], Passed()
    values: dict[str, Any] = {column: to for column, (_, to) in changed.items()}
    if _SAY_WHEN & changed.keys():
        passed = pass_over(connection, row, plan, actor, "edited")
    else:
        expand_due(connection, row, plan)
    try:
        write(connection, row["id"], {**values, **passed.moved}, at)
    except IntegrityError:
        if "name" not in changed:
            raise
        raise JobrunnerError(
            f"there is a schedule named {new.name!r} already, perhaps a removed one (jobrunner schedule list --all);"
            " choose another name"
        ) from None
    next_run_at = _settle(connection, row["id"], plan, at)
    detail = {column: {"from": before, "to": after} for column, (before, after) in changed.items()}
    record(connection, [*passed.told, event(actor, "edit schedule", row["id"], {"changed": detail}, at)])
    return Changed(new.name, next_run_at, changed, passed.slots, row["paused_at"])


def bring_back(connection: Connection, row: RowMapping, new: Declaration, plan: Plan, actor: str) -> Changed:
    """As ``redeclare``, of a removed one, with its pause, its count of runs and its watermark, which only rises."""
    at, said = row["now"], {**columns_of(new), **owner_of(new)}
    watermark = max(row["last_slot_at"], at)
    write(connection, row["id"], {**said, "removed_at": None, "last_slot_at": watermark}, at)
    next_run_at = _settle(connection, row["id"], plan, at)
    record(connection, [event(actor, "add schedule", row["id"], {"name": new.name, **said}, at)])
    return Changed(new.name, next_run_at, {})


def remove(connection: Connection, name: str, plan: Plan, actor: str) -> None:
    """Mark a definition as removed; its runs and its history stay, and what is due by then is expanded, or told.

    Raises NotFoundError, and as ``check_not_kept``.
    """
    row = definitions.lock(connection, name)
    check_not_kept(declaration_of(row))
    mark_removed(connection, [row], plan, actor)


def mark_removed(connection: Connection, gone: Sequence[RowMapping], plan: Plan, actor: str) -> None:
    """As ``remove``, of rows that are locked, whoever says so."""
    if not gone:
        return
    at = gone[0]["now"]
    told: list[dict[str, Any]] = []
    for row in gone:
        if row["paused_at"] is not None or row["next_run_at"] is None or row["next_run_at"] <= at:
            passed = pass_over(connection, row, plan, actor, "removed")
            write(connection, row["id"], passed.moved, at)
            told += passed.told
        told.append(event(actor, "remove schedule", row["id"], {"name": row["name"]}, at))
    given = rows("given", {"id": job_definitions.c.id.type})
    removing = update(job_definitions).where(job_definitions.c.id.in_(select(given.c.id)))
    connection.execute(removing.values(removed_at=at, updated_at=at), {"given": [{"id": row["id"]} for row in gone]})
    record(connection, told)


def check_not_kept(declaration: Declaration) -> None:
    """Raises JobrunnerError where the code or the file says what the definition is: by hand it would not last."""
    place = SOURCE_NAMES.get(declaration.source)
    if place is not None:
        raise JobrunnerError(
            f"the schedule {declaration.name!r} is kept in {place}; change it there and run: jobrunner apply"
        )


def _settle(connection: Connection, definition_id: int, plan: Plan, at: datetime) -> datetime | None:
    """Write when the definition has its next slot, or why that cannot be said."""
    asked = plan(definition_of(read(connection, definition_id)), at)
    # Without a hint the next tick looks at what is due still, since it could not be read until now.
    hint = asked.next_run_at if asked.watermark is None else None
    write(connection, definition_id, {"next_run_at": hint, "last_error": asked.problem}, at)
    return asked.next_run_at


def differing(row: RowMapping, new: Declaration) -> dict[str, tuple[Any, Any]]:
    """The fields of a definition that are declared otherwise: from, to."""
    said = {"name": new.name, **columns_of(new), **owner_of(new)}
    return {column: (row[column], value) for column, value in said.items() if not _is_same(row[column], value)}


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_is_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_is_same, one, other))
    # Python takes True for 1, a handler does not.
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def columns_of(declaration: Declaration) -> dict[str, Any]:
    """What a declaration says, by column; its name and its owner aside."""
    return {name: getattr(declaration, name) for name in _SAID} | policy_columns(declaration.policy)


def owner_of(declaration: Declaration) -> dict[str, str]:
    """Who says it, by column."""
    return {"source": declaration.source, "application": declaration.application}


def declaration_of(row: RowMapping) -> Declaration:
    """What a row says that its definition should be."""
    found = definition_of(row)
    same = {name: getattr(found, name) for name in (*_SAID, "name", "source", "policy")}
    return Declaration(**same, application=row["application"])
