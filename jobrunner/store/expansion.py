"""The expansion of definitions: watermarks move, and the runs of their slots are inserted, in one transaction.

Every function expects to be the body of one write transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import (
    Connection,
    Select,
    TableValuedAlias,
    Update,
    bindparam,
    exc,
    insert,
    literal,
    null,
    select,
    update,
)
from sqlalchemy.sql.dml import Insert, ReturningInsert

from jobrunner import faults
from jobrunner.errors import RowRefused
from jobrunner.model import Definition
from jobrunner.payload import encode_payload
from jobrunner.store import dialect, limits, schedules
from jobrunner.store.dialect import BigKey, now, rows
from jobrunner.store.insertion import NewRun, insertion, type_of
from jobrunner.store.limits import Occupancy
from jobrunner.store.runs import insert_if_room
from jobrunner.store.schedules import Expanded, Plan
from jobrunner.store.schema import job_definitions, job_events, job_expandable, job_runs, job_types
from jobrunner.text import one_line


@dataclass(frozen=True, slots=True)
class Batch:
    """What was written, and the definitions left as they were: of a type with a limit, to be expanded one by one."""

    expanded: list[Expanded]
    limited: list[Definition]

    @property
    def definition_ids(self) -> list[int]:
        """All that were looked at."""
        return [each.definition.id for each in self.expanded] + [each.id for each in self.limited]


def expand(connection: Connection, definition_id: int, plan: Plan) -> Expanded | None:
    """Expand one, of whose type no more runs may wait than its limit says.

    ``plan`` gets the definition and the database's now. None: another tick has it at the moment, or had. With nothing
    written, raises LimitHeld where an application keeps the type's limit to itself, and RowRefused.
    """
    with _rows_refused([definition_id]):
        return _expand_one(connection, definition_id, plan)


def expand_many(connection: Connection, limit: int, seen: Collection[int], plan: Plan) -> Batch:
    """Expand so many of those longest due, in one transaction; not those ``seen``, nor what another tick has.

    Raises RowRefused, with nothing written, where the database refuses a row: of which, only a smaller batch can tell.
    """
    given = {"given": [{"id": each} for each in seen], "limit": limit}
    definition_ids = list(connection.execute(_locking(), given).scalars())
    with _rows_refused(definition_ids):
        return _expand(connection, definition_ids, plan) if definition_ids else Batch([], [])


@contextmanager
def _rows_refused(definition_ids: Sequence[int]) -> Iterator[None]:
    """Raises RowRefused for what the database says of a row that it does not take."""
    try:
        yield
    except (exc.IntegrityError, exc.DataError) as error:
        raise RowRefused(one_line(f"the database refuses it: {error.orig}"), definition_ids) from None


def _expand_one(connection: Connection, definition_id: int, plan: Plan) -> Expanded | None:
    # Locking the view makes PostgreSQL ask its condition again of a row that another tick just moved.
    locked = select(job_expandable.c.id).where(job_expandable.c.id == definition_id)
    if connection.execute(locked.with_for_update(skip_locked=True)).one_or_none() is None:
        return None
    row = connection.execute(_reading(), {"given": [{"id": definition_id}]}).mappings().one()
    definition = schedules.definition_of(row)
    expanded = Expanded(definition, plan(definition, row["now"]), None)
    slot, problem = expanded.expansion.slot, expanded.expansion.problem
    if problem is not None:
        return schedules.record_problem(connection, definition, problem)
    _move(connection, [expanded])
    if slot is not None:
        with limits.not_for_long(connection):
            answer = insert_if_room(connection, _run_of_slot(definition, slot))
        if isinstance(answer, Occupancy):
            _tell_of_skipped(connection, [(definition_id, (slot, slot, 1))], reason="max_waiting")
            expanded = replace(expanded, full=answer)
        else:
            expanded = replace(expanded, run_id=answer.id)
    faults.reach("expand.before_commit", cut=lambda: dialect.sever(connection))
    return expanded


def _expand(connection: Connection, definition_ids: Sequence[int], plan: Plan) -> Batch:
    found = connection.execute(_reading(), {"given": [{"id": each} for each in definition_ids]}).mappings().all()
    types = [{"job_type": each} for each in {row["job_type"] for row in found}]
    limited_types = set(connection.execute(_limited_among(), {"given": types}).scalars())
    limited, planned = [], []
    for row in found:
        definition = schedules.definition_of(row)
        if definition.job_type in limited_types:
            limited.append(definition)
        else:
            planned.append(Expanded(definition, plan(definition, row["now"]), None))
    expanded = _write(connection, [each for each in planned if each.expansion.problem is None])
    for each in planned:
        if each.expansion.problem is not None:
            expanded.append(schedules.record_problem(connection, each.definition, each.expansion.problem))
    faults.reach("expand.before_commit", cut=lambda: dialect.sever(connection))
    return Batch(expanded, limited)


def _write(connection: Connection, planned: Sequence[Expanded]) -> list[Expanded]:
    if planned:
        _move(connection, planned)
    slots = [(each.definition, each.expansion.slot) for each in planned]
    runs = [_run_of_slot(definition, slot).columns() for definition, slot in slots if slot is not None]
    run_ids: dict[int, int] = {}
    if runs:
        run_ids = {row.definition_id: row.id for row in connection.execute(_inserting(), {"given": runs})}
    return [replace(each, run_id=run_ids.get(each.definition.id)) for each in planned]


def _move(connection: Connection, planned: Sequence[Expanded]) -> None:
    """Move the watermarks, and tell of what was passed over."""
    moved = [
        {
            "id": each.definition.id,
            "last_slot_at": each.expansion.slot or each.definition.last_slot_at,
            "next_run_at": each.expansion.next_run_at,
        }
        for each in planned
    ]
    connection.execute(_moving(), {"given": moved})
    skipped = [(each.definition.id, each.expansion.skipped) for each in planned if each.expansion.skipped is not None]
    if skipped:
        _tell_of_skipped(connection, skipped, reason="misfire")


def _tell_of_skipped(
    connection: Connection, stretches: Sequence[tuple[int, tuple[datetime, datetime, int]]], *, reason: str
) -> None:
    """Stretches of slots without runs: of which definition, the first, the last, how many."""
    skipped = [
        {
            "definition_id": definition_id,
            "detail": {"from": first.isoformat(), "to": last.isoformat(), "count": count, "reason": reason},
        }
        for definition_id, (first, last, count) in stretches
    ]
    connection.execute(_telling_of_skipped(), {"given": skipped})


def _run_of_slot(definition: Definition, slot: datetime) -> NewRun:
    """The run that this slot asks for."""
    return NewRun(
        job_type=definition.job_type,
        payload=encode_payload(definition.payload),
        run_at=slot,
        definition_id=definition.id,
        scheduled_for=slot,
    )


@cache
def _locking() -> Select[Any]:
    # Locking the view makes PostgreSQL ask its condition again of a row that another tick just moved. Whoever was seen
    # is excluded, and not who is meant listed: a join of the view to a list is planned for a handful of rows.
    given = _given("id")
    columns = job_expandable.c
    longest_due = select(columns.id).where(columns.id.not_in(select(given.c.id)))
    limit = bindparam("limit", type_=BigKey)
    return longest_due.order_by(columns.next_run_at, columns.id).limit(limit).with_for_update(skip_locked=True)


@cache
def _reading() -> Select[Any]:
    given = _given("id")
    columns = [job_definitions.c[name] for name in schedules.READ]
    return select(*columns, now().label("now")).where(job_definitions.c.id == given.c.id)


@cache
def _limited_among() -> Select[Any]:
    given = rows("given", {"job_type": job_types.c.job_type.type})
    return select(job_types.c.job_type).where(
        job_types.c.max_waiting.is_not(None), job_types.c.job_type.in_(select(given.c.job_type))
    )


@cache
def _moving() -> Update:
    given = _given("id", "last_slot_at", "next_run_at")
    moved = {"last_slot_at": given.c.last_slot_at, "next_run_at": given.c.next_run_at}
    values = {**moved, "last_error": null(), "updated_at": now()}
    return update(job_definitions).where(job_definitions.c.id == given.c.id).values(values)


@cache
def _inserting() -> ReturningInsert[Any]:
    names = ("definition_id", "job_type", "payload", "priority", "run_at", "scheduled_for")
    given = rows("given", {name: type_of(name) for name in names})
    return insertion({name: given.c[name] for name in names}).returning(job_runs.c.definition_id)


@cache
def _telling_of_skipped() -> Insert:
    given = rows("given", {name: job_events.c[name].type for name in ("definition_id", "detail")})
    source = select(now(), literal("tick"), literal("skip slots"), given.c.definition_id, given.c.detail)
    return insert(job_events).from_select(["at", "actor", "action", "definition_id", "detail"], source)


def _given(*names: str) -> TableValuedAlias:
    return rows("given", {name: job_definitions.c[name].type for name in names})
