"""Expands definitions: moves their watermarks and inserts the runs of their slots, in one transaction.

Every function expects to be the body of one write transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from jobrunner import failpoints
from jobrunner.errors import RowHeld, RowRefused
from jobrunner.model import OVERLAPS, TICK, Definition
from jobrunner.schedules.slot_plan import SlotRange, Unfinished
from jobrunner.store.drivers import failures
from jobrunner.store.drivers.connection import Connection, DriverError
from jobrunner.store.queue import backpressure
from jobrunner.store.queue.backpressure import Occupancy
from jobrunner.store.queue.ticks import audit
from jobrunner.store.sql.statement import Prepared
from jobrunner.store.timetable import overlap, schedules, slot_runs
from jobrunner.store.timetable.schedules import Expanded, Plan
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


def expand_many(
    connection: Connection, limit: int, seen: Collection[int], plan: Plan, host: str | None = None
) -> Batch:
    """Expand up to ``limit`` definitions, the longest due first. Leaves out those ``seen``, and those that are locked.

    After those of any host come those of this ``host``.

    Raises RowRefused if the database refuses a row, and RowHeld if another session holds one. Then nothing is written,
    and only a smaller batch can tell which definition it was.
    """
    given = {"given": [{"id": each} for each in seen], "limit": limit}
    definition_ids = list(connection.execute(Prepared("expansion.lock"), given).scalars())
    if host is not None and len(definition_ids) < limit:
        given |= {"limit": limit - len(definition_ids), "host": host}
        definition_ids += connection.execute(Prepared("expansion.lock_of_host"), given).scalars()
    with _rows_refused(definition_ids), _rows_held(definition_ids):
        return _expand(connection, definition_ids, plan) if definition_ids else Batch([], [])


@contextmanager
def _rows_refused(definition_ids: Sequence[int]) -> Iterator[None]:
    """Raises RowRefused if the database refuses a row."""
    try:
        yield
    except DriverError as error:
        if not error.is_a("IntegrityError", "DataError"):
            raise
        # Only the first line. The others quote the row, so the problem would be a new one in each tick.
        reason = str(error.orig).partition("\n")[0]
        raise RowRefused(one_line(f"the database refuses it: {reason}"), definition_ids) from None


@contextmanager
def _rows_held(definition_ids: Sequence[int]) -> Iterator[None]:
    """Raises RowHeld if another session holds a row for too long."""
    try:
        yield
    except DriverError as error:
        if failures.is_lock_timeout(error):
            raise RowHeld("another session holds a row that its slots need", definition_ids) from None
        raise


def _expand_one(connection: Connection, definition_id: int, plan: Plan) -> Expanded | None:
    # The lock on the view makes PostgreSQL check its condition again for a row that another tick has just expanded.
    if connection.execute(Prepared("expansion.lock_one"), {"definition_id": definition_id}).one_or_none() is None:
        return None
    (row,) = connection.execute(Prepared("expansion.read"), {"given": [{"id": definition_id}]}).mappings()
    planned = _planned(row, plan)
    if planned.expansion.problem is not None:
        return schedules.record_problem(connection, planned.definition, planned.expansion.problem, row["now"])
    if planned.expansion.slots:
        with backpressure.short_lock_waits(connection):
            occupancy = backpressure.lock_and_count(connection, planned.definition.job_type, None)
        if occupancy is not None:
            planned = _fitted(planned, occupancy)
    (expanded,) = _write(connection, [planned], row["now"])
    failpoints.hit("expand.before_commit", cut=connection.sever)
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
    given = {"given": [{"id": each} for each in definition_ids]}
    found = connection.execute(Prepared("expansion.read"), given).mappings()
    types = [{"job_type": each} for each in {row["job_type"] for row in found}]
    limited_types = set(connection.execute(Prepared("expansion.limited_types"), {"given": types}).scalars())
    limited = [schedules.definition_of(row) for row in found if row["job_type"] in limited_types]
    planned = [_planned(row, plan) for row in found if row["job_type"] not in limited_types]
    at = found[0]["now"]
    expanded = _write(connection, [each for each in planned if each.expansion.problem is None], at)
    for each in planned:
        if each.expansion.problem is not None:
            expanded.append(schedules.record_problem(connection, each.definition, each.expansion.problem, at))
    failpoints.hit("expand.before_commit", cut=connection.sever)
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
    connection.execute(Prepared("expansion.move"), {"given": [_moved(each) for each in expanded]})
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
    return OVERLAPS[expanded.definition.policy.overlap].replaces and bool(expanded.run_ids)


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
        yield audit.event(TICK, "skip slots", definition.id, detail, at)
    if plan.ended is not None and not _is_short(expanded):
        detail = {"reason": plan.ended, "runs_made": definition.runs_made + len(expanded.run_ids)}
        yield audit.event(TICK, "schedule ended", definition.id, detail, at)
