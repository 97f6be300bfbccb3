"""Pauses of definitions: nothing of a paused one becomes a run until it is resumed.

Every function is the body of one write transaction, holds the rows, and leaves an event, as those of ``changes``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection, RowMapping, select

from jobrunner.store import definitions
from jobrunner.store.audit import event, record
from jobrunner.store.dialect import now
from jobrunner.store.due_slots import Changed, passed_over, told_of, write
from jobrunner.store.obstacles import is_ahead
from jobrunner.store.schedules import Plan, definition_of
from jobrunner.store.schema import job_definitions


def pause(connection: Connection, name: str, actor: str) -> Changed:
    """No slot makes a run from now on, until it is resumed. Runs that exist go on. Raises NotFoundError.

    Paused already: the answer says since when, and nothing is written.
    """
    row = definitions.lock(connection, name)
    if row["paused_at"] is None:
        mark_paused(connection, [row], actor)
    return Changed(name, None, {}, was_paused=row["paused_at"])


def pause_all(connection: Connection, actor: str) -> list[str]:
    """As ``pause``, all that are not paused; their names."""
    rows = [row for row in _lock_all(connection) if row["paused_at"] is None]
    mark_paused(connection, rows, actor)
    return [row["name"] for row in rows]


def mark_paused(connection: Connection, rows: Sequence[RowMapping], actor: str) -> None:
    """As ``pause``, of rows that are locked."""
    for row in rows:
        write(connection, row["id"], {"paused_at": row["now"]}, row["now"])
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
        passed = passed_over(old, at)
        # Without a hint the next tick looks at it, and decides on what was missed.
        is_left = missed and passed.count > 0
        next_run_at = None if is_left else plan(replace(old, last_slot_at=watermark, paused_at=None), at).next_run_at
        write(connection, old.id, {"paused_at": None, "last_slot_at": watermark, "next_run_at": next_run_at}, at)
        if not missed:
            events += told_of(actor, old, passed, "paused", at)
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
