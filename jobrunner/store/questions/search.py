"""Finds the runs of a selection, newest first, in a short time however many runs there are.

Every function expects a transaction.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Select,
    bindparam,
    func,
    literal_column,
    select,
    union_all,
)

from jobrunner import clock
from jobrunner.lifecycle import CLAIMABLE, FINISHED, Status
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.planner import read_by_indexes
from jobrunner.store.questions import definitions
from jobrunner.store.questions.selection import Selection, condition, instant
from jobrunner.store.schema import job_definitions, job_keys, job_runs, job_types, written
from jobrunner.store.sql.dialect.rows import rows
from jobrunner.store.statements.queue.backpressure import WAITING

SECONDS = 2.0
"""How long an operator waits for a search before it says how far it has come."""
_FEW = 5000
_SLICE = (500, 2000, 100_000)
_SLICE_SECONDS = 0.1
_LARGEST_ID = 2**63 - 1


@dataclass(frozen=True)
class Found:
    """The ids of selected runs, newest first.

    ``next_before`` continues the search: there may be more below this id. None means that there are no more.
    ``searched_back_to`` is set if the search ran out of time: when the run was created that it looked at last.
    """

    ids: list[int]
    next_before: int | None
    searched_back_to: datetime | None


def find(
    connection: Connection,
    selection: Selection,
    limit: int,
    *,
    before: int | None = None,
    seconds: float = SECONDS,
) -> Found:
    """Up to ``limit`` selected runs with ids below ``before``. Raises NotFoundError for an unknown schedule."""
    check_schedule(connection, selection)
    read_by_indexes(connection)
    wanted = condition(selection)
    below = _LARGEST_ID if before is None else before
    if selection.ids:
        few: list[int] | None = list(dict.fromkeys(selection.ids))
    else:
        few = _of_key(connection, selection.key) if selection.key is not None else None
        few = _few(connection, selection) if few is None else few
    if few is None:
        return _walk(connection, wanted, below, limit, seconds)
    return _page(_among(connection, wanted, [each for each in few if each < below])[: limit + 1], limit)


def check_schedule(connection: Connection, selection: Selection) -> None:
    """Raise NotFoundError if the selection names a schedule that does not exist."""
    name = selection.schedule
    if name is not None:
        named = select(job_definitions.c.id).where(job_definitions.c.name == name)
        if connection.execute(named).one_or_none() is None:
            raise definitions.missing(connection, name)


def _page(ids: list[int], limit: int) -> Found:
    return Found(ids[:limit], ids[limit - 1] if len(ids) > limit else None, None)


def _of_key(connection: Connection, key: str) -> list[int] | None:
    """The runs that have taken this key forever, so that no other run of their types has it. None: others may have it.

    The rows of keys are found by type and key, so each type that has keys is asked for.
    """
    keys, types = job_keys.c, job_types.c
    named = select(func.min(keys.job_type).label("job_type")).cte("named", recursive=True)
    following = select(func.min(keys.job_type)).where(keys.job_type > named.c.job_type).scalar_subquery()
    named = named.union_all(select(following).where(named.c.job_type.is_not(None)))
    statement = (
        select(keys.run_id, func.coalesce(types.key_scope, literal_column("'forever'")).label("key_scope"))
        .select_from(named)
        .join(job_keys, keys.job_type == named.c.job_type)
        .outerjoin(job_types, types.job_type == keys.job_type)
        .where(keys.idempotency_key == key)
    )
    found = connection.execute(statement).all()
    if not found or any(row.key_scope != "forever" for row in found):
        return None
    return [row.run_id for row in found if row.run_id is not None]


def _few(connection: Connection, selection: Selection) -> list[int] | None:
    """Few runs, among which the selected ones are, from an index. None means that there are too many."""
    if len(selection.possible_statuses) == len(Status) and selection.since is None:
        return None
    parts = list(_parts(selection))
    if not parts:
        return []
    each = [select(part.limit(_FEW + 1).subquery()) for part in parts]
    ids: list[int] = connection.execute(union_all(*each) if len(each) > 1 else each[0]).scalars()
    return None if len(ids) > _FEW else ids


def _among(connection: Connection, wanted: ColumnElement[bool], ids: list[int]) -> list[int]:
    columns, given = job_runs.c, rows("given", {"id": job_runs.c.id.type}, [{"id": each} for each in ids])
    found = select(columns.id).join_from(given, job_runs, columns.id == given.c.id).where(wanted)
    # Not sorted by the database: to have no sort it would read all runs in the order of their ids.
    return sorted(connection.execute(found).scalars(), reverse=True)


def _parts(selection: Selection) -> Iterator[Select[Any]]:
    """One range of an index for each status, or for both that wait. Together they contain what is selected."""
    columns, statuses = job_runs.c, selection.possible_statuses
    for status in FINISHED:
        if status in statuses:
            ended = select(columns.id).where(columns.status == written(status), columns.finished_at.is_not(None))
            if selection.since is not None:
                ended = ended.where(columns.finished_at >= instant(selection.since))
            # In the order of the index, so that the planner does not read the table, whatever its statistics say.
            yield ended.order_by(columns.finished_at.desc())
    if Status.RUNNING in statuses:
        running = select(columns.id).where(columns.status == written(Status.RUNNING))
        yield running.order_by(columns.host, columns.id)
    if not set(statuses).isdisjoint(CLAIMABLE):
        waiting = select(columns.id).where(WAITING)
        if selection.job_types:
            waiting = waiting.where(columns.job_type.in_(selection.job_types))
        yield waiting.order_by(columns.job_type, columns.gate, columns.turn_at, columns.run_at, columns.id)


def _walk(connection: Connection, wanted: ColumnElement[bool], below: int, limit: int, seconds: float) -> Found:
    columns = job_runs.c
    # With a value, as a statement with a list in an IN (...) must have for each parameter.
    low, high, most = (bindparam(name, 0, type_=BigInteger) for name in ("low", "high", "most"))
    newest = select(func.max(columns.id)).where(columns.id < high)
    of_slice = select(columns.id).where(columns.id >= low, columns.id < high, wanted)
    of_slice = of_slice.order_by(columns.id.desc()).limit(most)
    begin, found, (least, size, largest) = clock.elapsed(), list[int](), _SLICE
    # Each slice begins at a run that exists, so that a gap in the ids costs nothing.
    while (top := connection.execute(newest, {"high": below}).scalar_one()) is not None:
        slice_begin, low_id = clock.elapsed(), top + 1 - size
        values = {"low": low_id, "high": top + 1, "most": limit + 1 - len(found)}
        found += connection.execute(of_slice, values).scalars()
        if len(found) > limit:
            return _page(found, limit)
        below, now = low_id, clock.elapsed()
        size = max(least, size // 2) if now - slice_begin > _SLICE_SECONDS else min(largest, size * 2)
        if now - begin > seconds:
            return _out_of_time(connection, found, below)
    return Found(found, None, None)


def _out_of_time(connection: Connection, found: list[int], below: int) -> Found:
    columns = job_runs.c
    last = select(columns.created_at).where(columns.id >= below).order_by(columns.id).limit(1)
    older = connection.execute(select(func.max(columns.id)).where(columns.id < below)).scalar_one()
    if older is None:
        return Found(found, None, None)
    return Found(found, below, connection.execute(last).scalar_one())
