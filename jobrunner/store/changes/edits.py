"""Changes of definitions by people: add, edit, remove. ``pausing`` has pause and resume.

Every function is the body of one write transaction. It locks the definition's row, so that no tick expands it at the
same time, and writes an event that says who changed what, and when.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Table, case, literal, null, select, update

from jobrunner.errors import JobrunnerError
from jobrunner.model import SOURCE_NAMES, Actor, Declaration
from jobrunner.store.changes.due_slots import Changed, Skipped, expand_due, expand_or_skip, read, write
from jobrunner.store.changes.pausing import mark_paused
from jobrunner.store.drivers.connection import Connection, DriverError
from jobrunner.store.questions import definitions
from jobrunner.store.queue.ticks.audit import event, record
from jobrunner.store.schema import job_definitions
from jobrunner.store.sql.dialect.rows import rows
from jobrunner.store.sql.dialect.statements import inserting
from jobrunner.store.sql.dialect.values import now
from jobrunner.store.timetable.host_schedules import SOURCE, follow, name_of
from jobrunner.store.timetable.records import ReadDefinition
from jobrunner.store.timetable.schedules import Plan, definition_of, policy_columns

_DECLARED = ("job_type", "schedule", "timezone", "payload", "description")
# After a change of one of these, the definition has no slots before now.
_TIMING = frozenset({"schedule", "timezone", "ends_at", "max_runs"})


def add(connection: Connection, new: Declaration, plan: Plan, actor: Actor, *, paused: bool = False) -> Changed | None:
    """Create a definition that has slots from now on.

    A removed definition of the same name is restored: its watermark never decreases, and its old runs do not count for
    ``max_runs``. None: the name is taken.
    """
    at = connection.execute(select(now())).scalar_one()
    declared = columns_of(new)
    values = {**declared, "name": new.name, **owner_of(new), "removed_at": None, "runs_made": 0, "updated_at": at}
    columns = job_definitions.c
    if not _insert_or_skip(connection, job_definitions, {**values, "last_slot_at": at, "created_at": at}):
        # The clock may have stepped back since it was removed.
        watermark = case(
            (columns.last_slot_at > at, columns.last_slot_at), else_=literal(at, columns.last_slot_at.type)
        )
        restored = connection.execute(
            update(job_definitions)
            .where(columns.name == new.name, columns.removed_at.is_not(None))
            .values({**values, "last_slot_at": watermark, "paused_at": null(), "last_error": null()})
        )
        if restored.rowcount == 0:
            return None
    row = definitions.lock(connection, new.name)
    next_run_at = _write_next_slot(connection, row.id, plan, at)
    record(connection, [event(actor, "add schedule", row.id, {"name": new.name, **declared}, at)])
    if paused:
        mark_paused(connection, [row], actor)
    _follow(connection, new)
    return Changed(new.name, next_run_at, {}, is_template=new.policy.is_on_every_host)


def edit(
    connection: Connection, name: str, change: Callable[[Declaration], Declaration], plan: Plan, actor: Actor
) -> Changed:
    """Change a declaration. Slots that are due now are expanded by the old one, and none of them twice.

    ``change`` gets the old declaration and returns the new one. If it raises, nothing is changed. Raises NotFoundError.
    """
    row = definitions.lock(connection, name)
    if row.host is not None:
        raise JobrunnerError(
            f"the schedule {name!r} is that of the host {row.host}, made of {row.template!r}; change that one"
        )
    return redeclare(connection, row, change(declaration_of(row)), plan, actor)


def redeclare(connection: Connection, row: ReadDefinition, new: Declaration, plan: Plan, actor: Actor) -> Changed:
    """Like ``edit``, for a row that is locked already. Raises JobrunnerError if the new name is taken."""
    changed = differences(row, new)
    if not changed:
        return Changed(new.name, row.next_run_at, {}, was_paused=row.paused_at, is_template=new.policy.is_on_every_host)
    at, skipped = row.now, Skipped()
    values: dict[str, Any] = {column: to for column, (_, to) in changed.items()}
    if _TIMING & changed.keys():
        skipped = expand_or_skip(connection, row, plan, actor, "edited")
    else:
        expand_due(connection, row, plan)
    try:
        write(connection, row.id, {**values, **skipped.columns}, at)
    except DriverError as error:
        if "name" not in changed or not error.is_a("IntegrityError"):
            raise
        raise JobrunnerError(
            f"there is a schedule named {new.name!r} already, perhaps a removed one (jobrunner schedule list --all);"
            " choose another name"
        ) from None
    next_run_at = _write_next_slot(connection, row.id, plan, at)
    detail = {column: {"from": before, "to": after} for column, (before, after) in changed.items()}
    record(connection, [*skipped.events, event(actor, "edit schedule", row.id, {"changed": detail}, at)])
    if row.host is None:
        _redeclare_on_hosts(connection, row, new, plan, actor)
    return Changed(
        new.name, next_run_at, changed, skipped.slots, row.paused_at, is_template=new.policy.is_on_every_host
    )


def _redeclare_on_hosts(
    connection: Connection, row: ReadDefinition, new: Declaration, plan: Plan, actor: Actor
) -> None:
    """Change what the hosts have of a template in the same way, or end it if the schedule is no template any more."""
    own = definitions.lock_of_hosts(connection, [row])
    if not new.policy.is_on_every_host:
        mark_removed(connection, own, plan, actor)
        return
    for each in own:
        assert each.host is not None
        declared = new._replace(name=name_of(new.name, each.host), source=SOURCE)
        redeclare(connection, each, declared, plan, actor)
        if each.template != new.name:
            write(connection, each.id, {"template": new.name}, each.now)
    _follow(connection, new)


def _follow(connection: Connection, new: Declaration) -> None:
    if new.policy.is_on_every_host:
        follow(connection, declared_again=new.name)


def restore(connection: Connection, row: ReadDefinition, new: Declaration, plan: Plan, actor: Actor) -> Changed:
    """Declare a removed definition again. It keeps its pause, its count of runs and its watermark, at least now."""
    at, declared = row.now, {**columns_of(new), **owner_of(new)}
    watermark = max(row.last_slot_at, at)
    write(connection, row.id, {**declared, "removed_at": None, "last_slot_at": watermark}, at)
    next_run_at = _write_next_slot(connection, row.id, plan, at)
    record(connection, [event(actor, "add schedule", row.id, {"name": new.name, **declared}, at)])
    _follow(connection, new)
    return Changed(new.name, next_run_at, {}, is_template=new.policy.is_on_every_host)


def remove(connection: Connection, name: str, plan: Plan, actor: Actor) -> None:
    """Mark a definition as removed. Its runs and its history stay. Due slots are expanded, or an event says why not:
    those of a host would make runs that wait for a host that may be gone.

    Raises NotFoundError, and the error of ``check_made_by_command``.
    """
    row = definitions.lock(connection, name)
    check_made_by_command(declaration_of(row))
    mark_removed(connection, [row], plan, actor)


def mark_removed(connection: Connection, removed: Sequence[ReadDefinition], plan: Plan, actor: Actor) -> None:
    """Like ``remove``, for rows that are locked already, of any source."""
    if not removed:
        return
    removed = [*removed, *definitions.lock_of_hosts(connection, removed)]
    at = removed[0].now
    events: list[dict[str, Any]] = []
    for row in removed:
        if row.paused_at is not None or row.next_run_at is None or row.next_run_at <= at:
            skipped = expand_or_skip(connection, row, plan, actor, "removed", expands=row.host is None)
            write(connection, row.id, skipped.columns, at)
            events += skipped.events
        events.append(event(actor, "remove schedule", row.id, {"name": row.name}, at))
    given = rows("given", {"id": job_definitions.c.id.type})
    statement = update(job_definitions).where(job_definitions.c.id.in_(select(given.c.id)))
    given_ids = [{"id": row.id} for row in removed]
    connection.execute(statement.values(removed_at=at, updated_at=at), {"given": given_ids})
    record(connection, events)


def check_made_by_command(declaration: Declaration) -> None:
    """Raises JobrunnerError for a definition of the code or the file: the next ``apply`` would undo the change."""
    source = SOURCE_NAMES.get(declaration.source)
    if source is not None:
        raise JobrunnerError(
            f"the schedule {declaration.name!r} is kept in {source}; change it there and run: jobrunner apply"
        )


def _write_next_slot(connection: Connection, definition_id: int, plan: Plan, at: datetime) -> datetime | None:
    """Write the time of the definition's next slot, or the problem that prevents it."""
    planned = plan(read(connection, definition_id), at)
    # Slots may be due that could not be expanded before. With NULL the next tick looks at them.
    next_run_at = planned.next_run_at if planned.watermark is None else None
    write(connection, definition_id, {"next_run_at": next_run_at, "last_error": planned.problem}, at)
    return planned.next_run_at


def differences(row: ReadDefinition, new: Declaration) -> dict[str, tuple[Any, Any]]:
    """The columns that the new declaration changes, each with its old and its new value."""
    old, declared = vars(row), {"name": new.name, **columns_of(new), **owner_of(new)}
    return {name: (old[name], value) for name, value in declared.items() if not _is_same(old[name], value)}


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_is_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_is_same, one, other))
    # In Python True equals 1. For a handler they differ.
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def columns_of(declaration: Declaration) -> dict[str, Any]:
    """The values of a declaration by column, without its name and its owner."""
    return {name: getattr(declaration, name) for name in _DECLARED} | policy_columns(declaration.policy)


def owner_of(declaration: Declaration) -> dict[str, str]:
    """The source and the application of a declaration, by column."""
    return {"source": declaration.source, "application": declaration.application}


def declaration_of(row: ReadDefinition) -> Declaration:
    """The declaration that a row stores."""
    found = definition_of(vars(row))
    values = {name: getattr(found, name) for name in (*_DECLARED, "name", "source", "policy")}
    return Declaration(**values, application=row.application)


def _insert_or_skip(connection: Connection, table: Table, values: dict[str, Any]) -> bool:
    """Insert a row unless one of its unique keys exists. Returns whether it was inserted.

    PostgreSQL waits for another transaction that inserts the same key.
    """
    key = next(iter(table.primary_key))
    statement = inserting(table).values(**values)
    return connection.execute(statement.on_conflict_do_nothing().returning(key)).one_or_none() is not None
