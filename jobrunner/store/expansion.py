"""The expansion of many definitions in one transaction: what ``schedules.expand`` does to each, in a few statements."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import (
    Connection,
    Select,
    TableValuedAlias,
    Update,
    bindparam,
    insert,
    literal,
    null,
    select,
    update,
)
from sqlalchemy.sql.dml import Insert, ReturningInsert

from jobrunner import faults
from jobrunner.model import Definition
from jobrunner.store import dialect, schedules
from jobrunner.store.dialect import BigKey, now, rows
from jobrunner.store.insertion import insertion, type_of
from jobrunner.store.schedules import Expanded, Plan
from jobrunner.store.schema import job_definitions, job_events, job_expandable, job_runs, job_types


@dataclass(frozen=True, slots=True)
class Batch:
    """What was written, and the definitions left as they were: of a type with a limit, to be expanded one by one."""

    expanded: list[Expanded]
    limited: list[Definition]

    @property
    def definition_ids(self) -> list[int]:
        """All that were looked at."""
        return [each.definition.id for each in self.expanded] + [each.id for each in self.limited]


def expand_many(connection: Connection, limit: int, seen: Collection[int], plan: Plan) -> Batch:
    """Expand so many of those longest due, in one transaction; not those ``seen``, nor what another tick has.

    Raises RowRefused, with nothing written, where the database refuses a row: of which, only a smaller batch can tell.
    """
    given = {"given": [{"id": each} for each in seen], "limit": limit}
    definition_ids = list(connection.execute(_locking(), given).scalars())
    with schedules.rows_refused(definition_ids):
        return _expand(connection, definition_ids, plan) if definition_ids else Batch([], [])


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
    moved, runs, skipped = [], [], []
    for each in planned:
        definition, expansion = each.definition, each.expansion
        watermark = expansion.slot or definition.last_slot_at
        moved.append({"id": definition.id, "last_slot_at": watermark, "next_run_at": expansion.next_run_at})
        if expansion.slot is not None:
            runs.append(schedules.run_of_slot(definition, expansion.slot).columns())
        if expansion.skipped is not None:
            detail = schedules.told_of_skipped(*expansion.skipped, reason="misfire")
            skipped.append({"definition_id": definition.id, "detail": detail})
    run_ids: dict[int, int] = {}
    if moved:
        connection.execute(_moving(), {"given": moved})
    if skipped:
        connection.execute(_telling_of_skipped(), {"given": skipped})
    if runs:
        run_ids = {row.definition_id: row.id for row in connection.execute(_inserting(), {"given": runs})}
    return [Expanded(each.definition, each.expansion, run_ids.get(each.definition.id)) for each in planned]


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
