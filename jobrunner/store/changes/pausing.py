"""Pauses of definitions: no slot of a paused definition gets a run until it is resumed.

Like in ``edits``, every function is the body of one write transaction, locks the rows, and writes events.
"""

from __future__ import annotations

from collections.abc import Sequence

from jobrunner.model import Actor
from jobrunner.store.changes.due_slots import Changed, skip_events, unhandled_slots, write
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.reading import read
from jobrunner.store.questions import definitions
from jobrunner.store.questions.obstacles import is_ahead
from jobrunner.store.queue.ticks.audit import event, record
from jobrunner.store.schema import job_definitions
from jobrunner.store.statements.timetable.definitions import reading
from jobrunner.store.timetable.records import ReadDefinition
from jobrunner.store.timetable.schedules import Plan, definition_of


def pause(connection: Connection, name: str, actor: Actor) -> Changed:
    """Pause a definition. Runs that exist go on. Raises NotFoundError.

    If it is paused already, nothing is written, and ``was_paused`` says since when.
    """
    row = definitions.lock(connection, name)
    if row.paused_at is None:
        own = definitions.lock_of_hosts(connection, [row])
        mark_paused(connection, [row, *(each for each in own if each.paused_at is None)], actor)
    return Changed(name, None, {}, was_paused=row.paused_at)


def pause_all(connection: Connection, actor: Actor) -> list[str]:
    """Pause all definitions that are not paused, and return their names."""
    rows = [row for row in _lock_all(connection) if row.paused_at is None]
    mark_paused(connection, rows, actor)
    return [row.name for row in rows]


def mark_paused(connection: Connection, rows: Sequence[ReadDefinition], actor: Actor) -> None:
    """Like ``pause``, for rows that are locked already."""
    for row in rows:
        write(connection, row.id, {"paused_at": row.now}, row.now)
    record(connection, [event(actor, "pause schedule", row.id, {}, row.now) for row in rows])


def resume(connection: Connection, name: str, plan: Plan, actor: Actor, *, missed: bool) -> Changed | None:
    """End a pause. With ``missed`` the next tick decides on the missed slots; otherwise they get no runs.

    Without ``missed``, future slots that count as handled, because a clock was ahead, get runs again. None: nothing to
    do, because it is not paused and no such slots exist. Raises NotFoundError.
    """
    row = definitions.lock(connection, name)
    if row.paused_at is None and (missed or not is_ahead(row.last_slot_at, row.now)):
        return None
    own = definitions.lock_of_hosts(connection, [row])
    return _resume(connection, [row, *own], plan, actor, missed=missed)[0]


def resume_all(connection: Connection, plan: Plan, actor: Actor, *, missed: bool) -> list[Changed]:
    """Like ``resume``, for all definitions. Without ``missed``, those that are not paused count from now, too."""
    rows = [row for row in _lock_all(connection) if row.paused_at is not None or not missed]
    return _resume(connection, rows, plan, actor, missed=missed)


def _resume(
    connection: Connection, rows: Sequence[ReadDefinition], plan: Plan, actor: Actor, *, missed: bool
) -> list[Changed]:
    answers, events = [], []
    for row in rows:
        old, at = definition_of(vars(row)), row.now
        was_ahead = old.last_slot_at if not missed and is_ahead(old.last_slot_at, at) else None
        # The only case in which a watermark decreases. A slot that has its run gets no second one: its index is unique.
        watermark = old.last_slot_at if missed else at if was_ahead else max(old.last_slot_at, at)
        skipped = unhandled_slots(old, at)
        # With NULL the next tick looks at the definition, and decides on the missed slots.
        has_missed = missed and skipped.count > 0
        next_run_at = None if has_missed else plan(old._replace(last_slot_at=watermark, paused_at=None), at).next_run_at
        write(connection, old.id, {"paused_at": None, "last_slot_at": watermark, "next_run_at": next_run_at}, at)
        if not missed:
            events += skip_events(actor, old, skipped, "paused", at)
        moved = {"from": old.last_slot_at, "to": watermark}
        detail = {"from": "missed" if missed else "now", "paused_at": old.paused_at, "watermark": moved}
        events.append(event(actor, "resume schedule", old.id, detail, at))
        answers.append(Changed(old.name, next_run_at, {}, skipped, old.paused_at, was_ahead, old.is_template))
    record(connection, events)
    return answers


def _lock_all(connection: Connection) -> Sequence[ReadDefinition]:
    columns = job_definitions.c
    # In the order of ids, so that two transactions cannot wait for each other's rows.
    statement = reading([columns.removed_at.is_(None)]).order_by(columns.id)
    return read(connection, ReadDefinition, statement.with_for_update())
