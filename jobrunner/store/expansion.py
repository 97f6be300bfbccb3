"""Expands definitions: moves their watermarks and inserts the runs of their slots, in one transaction.

Every function expects to be the body of one write transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
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
    case,
    exc,
    literal_column,
    not_,
    null,
    or_,
    select,
    update,
)

from jobrunner import failpoints
from jobrunner.errors import RowHeld, RowRefused
from jobrunner.model import Definition
from jobrunner.schedules.slot_plan import SlotRange, Unfinished
from jobrunner.store import audit, backpressure, failures, overlap, schedules, slot_runs
from jobrunner.store.backpressure import Occupancy
from jobrunner.store.dialect.connections import sever
from jobrunner.store.dialect.rows import rows
from jobrunner.store.dialect.values import BigKey, now
from jobrunner.store.holding import RUNNING
from jobrunner.store.schedules import Expanded, Plan
from jobrunner.store.schema import IS_UNFINISHED, job_definitions, job_runs, job_types
from jobrunner.store.views import job_expandable
from jobrunner.text import one_line


@dataclass(frozen=True, slots=True)
class Batch:
    """What was written. ``limited`` were not expanded, because their type has a limit: each must be expanded alone."""

    expanded: list[Expanded]
    limited: list[Definition]

    @property
    def definition_ids(self) -> list[int]:
        """All definitions of the batch."""
        return [each.definition.id for each in self.expanded] + [each.id for each in self.limited]


def expand(connection: Connection, definition_id: int, plan: Plan) -> Expanded | None:
    """Expand one definition, within the limit of its type.

    ``plan`` gets the definition and the database's time. None: another tick expands it, or has done so. Raises
    LimitHeld if another transaction holds the type's limit, and RowRefused. Then nothing is written.
    """
    with _rows_refused([definition_id]):
        return _expand_one(connection, definition_id, plan)


def expand_many(connection: Connection, limit: int, seen: Collection[int], plan: Plan) -> Batch:
    """Expand up to ``limit`` definitions, the longest due first. Leaves out those ``seen``, and those that are locked.

    Raises RowRefused if the database refuses a row, and RowHeld if another session holds one. Then nothing is written,
    and only a smaller batch can tell which definition it was.
    """
    given = {"given": [{"id": each} for each in seen], "limit": limit}
    definition_ids = list(connection.execute(_lock_statement(), given).scalars())
    with _rows_refused(definition_ids), _rows_held(definition_ids):
        return _expand(connection, definition_ids, plan) if definition_ids else Batch([], [])


@contextmanager
def _rows_refused(definition_ids: Sequence[int]) -> Iterator[None]:
    """Raises RowRefused if the database refuses a row."""
    try:
        yield
    except (exc.IntegrityError, exc.DataError) as error:
        # Only the first line. The others quote the row, so the problem would be a new one in each tick.
        reason = str(error.orig).partition("\n")[0]
        raise RowRefused(one_line(f"the database refuses it: {reason}"), definition_ids) from None


@contextmanager
def _rows_held(definition_ids: Sequence[int]) -> Iterator[None]:
    """Raises RowHeld if another session holds a row for too long."""
    try:
        yield
    except exc.DBAPIError as error:
        if failures.is_lock_timeout(error):
            raise RowHeld("another session holds a row that its slots need", definition_ids) from None
        raise


def _expand_one(connection: Connection, definition_id: int, plan: Plan) -> Expanded | None:
    # The lock on the view makes PostgreSQL check its condition again for a row that another tick has just expanded.
    locked = select(job_expandable.c.id).where(job_expandable.c.id == definition_id)
    if connection.execute(locked.with_for_update(skip_locked=True)).one_or_none() is None:
        return None
    row = connection.execute(_read_statement(), {"given": [{"id": definition_id}]}).mappings().one()
    planned = _planned(row, plan)
    if planned.expansion.problem is not None:
        return schedules.record_problem(connection, planned.definition, planned.expansion.problem, row["now"])
    if planned.expansion.slots:
        with backpressure.short_lock_waits(connection):
            occupancy = backpressure.lock_and_count(connection, planned.definition.job_type, None)
        if occupancy is not None:
            planned = _fitted(planned, occupancy)
    (expanded,) = _write(connection, [planned], row["now"])
    failpoints.hit("expand.before_commit", cut=lambda: sever(connection))
    return expanded


def _fitted(planned: Expanded, occupancy: Occupancy) -> Expanded:
    """The plan without the oldest slots that exceed the limit."""
    slots, free = planned.expansion.slots, occupancy.free
    if len(slots) <= free:
        return planned
    left_out = slots[: len(slots) - free]
    skipped = (*planned.expansion.skipped, SlotRange(left_out[0], left_out[-1], len(left_out), "max_waiting"))
    return replace(
        planned, full=occupancy, expansion=replace(planned.expansion, slots=slots[len(left_out) :], skipped=skipped)
    )


def _expand(connection: Connection, definition_ids: Sequence[int], plan: Plan) -> Batch:
    found = connection.execute(_read_statement(), {"given": [{"id": each} for each in definition_ids]}).mappings().all()
    types = [{"job_type": each} for each in {row["job_type"] for row in found}]
    limited_types = set(connection.execute(_limited_types_statement(), {"given": types}).scalars())
    limited = [schedules.definition_of(row) for row in found if row["job_type"] in limited_types]
    planned = [_planned(row, plan) for row in found if row["job_type"] not in limited_types]
    at = found[0]["now"]
    expanded = _write(connection, [each for each in planned if each.expansion.problem is None], at)
    for each in planned:
        if each.expansion.problem is not None:
            expanded.append(schedules.record_problem(connection, each.definition, each.expansion.problem, at))
    failpoints.hit("expand.before_commit", cut=lambda: sever(connection))
    return Batch(expanded, limited)


def _planned(row: Mapping[Any, Any], plan: Plan) -> Expanded:
    definition = schedules.definition_of(row)
    is_any = row["unfinished"] is not None
    unfinished = Unfinished(any=is_any, waiting=is_any and row["waiting"] is not None)
    return Expanded(definition, plan(definition, row["now"], unfinished))


def _write(connection: Connection, planned: Sequence[Expanded], at: datetime) -> list[Expanded]:
    if not planned:
        return []
    expanded = _with_runs(connection, planned)
    new_runs = [(each.definition.id, each.run_ids[-1]) for each in expanded if _replaces(each)]
    replaced = overlap.replace_older(connection, new_runs, at)
    if replaced:
        expanded = [replace(each, replaced=replaced.get(each.definition.id, ())) for each in expanded]
    connection.execute(_move_statement(), {"given": [_moved(each) for each in expanded]})
    audit.write(connection, [event for each in expanded for event in _events(each, at)])
    return expanded


def _with_runs(connection: Connection, planned: Sequence[Expanded]) -> list[Expanded]:
    runs = [run for each in planned for run in slot_runs.of_slots(each.definition, each.expansion.slots, "slot")]
    ids = slot_runs.insert(connection, runs)
    expanded = []
    for each in planned:
        slots = each.expansion.slots
        made = tuple(ids[key] for slot in slots if (key := (each.definition.id, slot)) in ids)
        expanded.append(replace(each, run_ids=made, already=len(slots) - len(made)))
    return expanded


def _replaces(expanded: Expanded) -> bool:
    return expanded.definition.policy.overlap == "replace" and bool(expanded.run_ids)


def _moved(expanded: Expanded) -> dict[str, Any]:
    plan, definition = expanded.expansion, expanded.definition
    return {
        "id": definition.id,
        "last_slot_at": plan.watermark or definition.last_slot_at,
        # With NULL the next tick looks at it again.
        "next_run_at": None if _is_short(expanded) else plan.next_run_at,
        "runs_made": len(expanded.run_ids),
    }


def _is_short(expanded: Expanded) -> bool:
    """Whether ``max_runs`` would be reached with these slots, but not every slot got a new run."""
    return expanded.expansion.ended == "max_runs" and (expanded.already > 0 or expanded.full is not None)


def _events(expanded: Expanded, at: datetime) -> Iterator[dict[str, Any]]:
    definition, plan = expanded.definition, expanded.expansion
    for each in plan.skipped:
        detail = {"from": each.first, "to": each.last, "count": each.count, "reason": each.reason}
        yield audit.event("tick", "skip slots", definition.id, detail, at)
    if plan.ended is not None and not _is_short(expanded):
        detail = {"reason": plan.ended, "runs_made": definition.runs_made + len(expanded.run_ids)}
        yield audit.event("tick", "schedule ended", definition.id, detail, at)


@cache
def _lock_statement() -> Select[Any]:
    # The lock on the view makes PostgreSQL check its condition again for a row that another tick has just expanded. The
    # list names the rows to leave out, not those to read: the planner would plan a join with a list for a few rows.
    given = _given("id")
    columns = job_expandable.c
    longest_due = select(columns.id).where(columns.id.not_in(select(given.c.id)))
    limit = bindparam("limit", type_=BigKey)
    return longest_due.order_by(columns.next_run_at, columns.id).limit(limit).with_for_update(skip_locked=True)


@cache
def _read_statement() -> Select[Any]:
    given = _given("id")
    columns = [job_definitions.c[name] for name in schedules.READ]
    # One row with LIMIT, not EXISTS. For EXISTS the planner would build a list of all unfinished runs.
    one = select(job_runs.c.id).where(job_runs.c.definition_id == job_definitions.c.id, IS_UNFINISHED).limit(1)
    unfinished = one.where(not_(overlap.waits_for_jitter(job_definitions.c.last_slot_at)))
    waiting = one.where(job_runs.c.status != RUNNING)
    # Each query only for the policies that use it, because most definitions use one of them.
    is_skip, is_queue = (job_definitions.c.overlap == literal_column(f"'{each}'") for each in ("skip", "queue"))
    queries = (
        case((or_(is_skip, is_queue), unfinished.scalar_subquery())).label("unfinished"),
        case((is_queue, waiting.scalar_subquery())).label("waiting"),
    )
    return select(*columns, *queries, now().label("now")).where(job_definitions.c.id == given.c.id)


@cache
def _limited_types_statement() -> Select[Any]:
    given = rows("given", {"job_type": job_types.c.job_type.type})
    return select(job_types.c.job_type).where(
        job_types.c.max_waiting.is_not(None), job_types.c.job_type.in_(select(given.c.job_type))
    )


@cache
def _move_statement() -> Update:
    given = _given("id", "last_slot_at", "next_run_at", "runs_made")
    moved: dict[str, Any] = {"last_slot_at": given.c.last_slot_at, "next_run_at": given.c.next_run_at}
    moved["runs_made"] = job_definitions.c.runs_made + given.c.runs_made
    values = {**moved, "last_error": null(), "updated_at": now()}
    return update(job_definitions).where(job_definitions.c.id == given.c.id).values(values)


def _given(*names: str) -> TableValuedAlias:
    return rows("given", {name: job_definitions.c[name].type for name in names})
