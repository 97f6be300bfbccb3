"""Definitions as people ask for them: by name, all of them, one with its runs and its trail."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, RowMapping, Select, func, select

from jobrunner.errors import NotFoundError
from jobrunner.model import Definition
from jobrunner.store import obstacles
from jobrunner.store.dialect import now
from jobrunner.store.schedules import definition_of
from jobrunner.store.schema import job_attempts, job_definitions, job_events, job_runs
from jobrunner.text import iso_instant, nearest, storable

Row = dict[str, Any]
_OF_RUNS = (
    "id", "scheduled_for", "origin", "status", "run_at", "finished_at", "attempts", "error_type", "last_error",
    "created_at",
)  # fmt: skip


def lock(connection: Connection, name: str) -> RowMapping:
    """The row of a definition, held until the transaction ends, and the database's ``now`` from before that.

    Whatever was due by then has a smaller instant. Raises NotFoundError, also for a removed one.
    """
    return _found(connection, name, _named(name).with_for_update())


def current(connection: Connection, name: str) -> tuple[Definition, datetime, str | None]:
    """A definition, the database's now, and what it has for a problem. Raises NotFoundError, also for a removed one."""
    row = _found(connection, name, _named(name))
    found, at = definition_of(row), row["now"]
    return found, at, obstacles.problem_of(row, at, obstacles.former_runs(connection, found.id))


def _named(name: str) -> Select[Any]:
    return select(job_definitions, now().label("now")).where(job_definitions.c.name == name)


def _found(connection: Connection, name: str, statement: Select[Any], *, removed: bool = False) -> RowMapping:
    # A name that is not UTF-8 is nobody's, and no database could be asked for it.
    found = connection.execute(statement).mappings().one_or_none() if storable(name) == name else None
    if found is None:
        raise missing(connection, name)
    if found["removed_at"] is not None and not removed:
        raise NotFoundError(f"the schedule {name!r} was removed at {iso_instant(found['removed_at'])}; add it again")
    return found


def missing(connection: Connection, name: str) -> NotFoundError:
    """The error for a name that nobody has, with the nearest one that somebody has."""
    columns = job_definitions.c
    names = connection.execute(select(columns.name).where(columns.removed_at.is_(None))).scalars()
    near = nearest(name, names)
    return NotFoundError(
        f"there is no schedule named {name[:60]!r}"
        + ("; see: jobrunner schedule list" if near is None else f"; did you mean {near!r}?")
    )


def listed(connection: Connection, *, removed: bool = False) -> list[Row]:
    """The definitions by name, each with its ``problem``; the removed ones only if asked for."""
    columns = job_definitions.c
    statement = select(job_definitions, now().label("now")).order_by(columns.name)
    if not removed:
        statement = statement.where(columns.removed_at.is_(None))
    found = connection.execute(statement).mappings().all()
    former = obstacles.former_runs(connection) if found else {}
    return [_without_now(row) | {"problem": obstacles.problem_of(row, row["now"], former)} for row in found]


def _without_now(row: RowMapping) -> Row:
    return {name: value for name, value in row.items() if name != "now"}


def show(connection: Connection, name: str, newest: int) -> Row:
    """One definition, removed or not: its columns, its ``problem``, by whom it is paused, its newest runs and events.

    Raises NotFoundError.
    """
    found = _found(connection, name, _named(name), removed=True)
    return {
        **_without_now(found),
        "problem": obstacles.problem_of(found, found["now"], obstacles.former_runs(connection, found["id"])),
        "paused_by": _paused_by(connection, found["id"], found["paused_at"]),
        "runs": _runs(connection, found["id"], newest),
        "events": _events(connection, found["id"], newest),
    }


def _paused_by(connection: Connection, definition_id: int, paused_at: datetime | None) -> str | None:
    if paused_at is None:
        return None
    columns = job_events.c
    # Not before: it may have been paused by hand, after somebody else's pause was over.
    statement = (
        select(columns.actor)
        .where(columns.definition_id == definition_id, columns.action == "pause schedule", columns.at >= paused_at)
        .order_by(columns.id.desc())
        .limit(1)
    )
    return connection.execute(statement).scalar_one_or_none()


def _runs(connection: Connection, definition_id: int, newest: int) -> list[Row]:
    columns = job_runs.c
    first_start = select(func.min(job_attempts.c.started_at)).where(job_attempts.c.run_id == columns.id)
    statement = (
        select(
            *(columns[name] for name in _OF_RUNS),
            # That of the run is its newest attempt's.
            func.coalesce(first_start.scalar_subquery(), columns.started_at).label("first_started_at"),
        )
        .where(columns.definition_id == definition_id)
        .order_by(columns.id.desc())
        .limit(newest)
    )
    return [{**row, "late_seconds": _late(row)} for row in connection.execute(statement).mappings()]


def _late(row: RowMapping) -> float | None:
    began, due = row["first_started_at"], row["scheduled_for"] or row["created_at"]
    return None if began is None else max(0.0, (began - due).total_seconds())


def _events(connection: Connection, definition_id: int, newest: int) -> list[Row]:
    columns = job_events.c
    statement = (
        select(columns.at, columns.actor, columns.action, columns.run_id, columns.detail)
        .where(columns.definition_id == definition_id)
        .order_by(columns.id.desc())
        .limit(newest)
    )
    return [dict(row) for row in connection.execute(statement).mappings()]
