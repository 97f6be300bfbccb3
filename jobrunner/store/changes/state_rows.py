"""What a database holds besides runs, for another database: schedules, pauses, set limits, keys, effects, the audit
trail.

Rows are known by their names and not by their numbers, which another database gives anew. Only the ids of runs stay:
keys, effects and events name runs by them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import JSON, Column, ColumnElement, Table, Text, and_, case, cast, exists, func, select, tuple_

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.schema import (
    job_definitions,
    job_effects,
    job_events,
    job_keys,
    job_pauses,
    job_runs,
    job_set_limits,
)
from jobrunner.store.sql.dialect.rows import rows
from jobrunner.store.sql.dialect.statements import inserting
from jobrunner.store.sql.dialect.values import UtcTime, now, stored_json

TABLES = {
    "schedule": job_definitions,
    "pause": job_pauses,
    "limit": job_set_limits,
    "key": job_keys,
    "effect": job_effects,
    "event": job_events,
}
"""By the word for a row of each, in the order in which they are restored."""
_NUMBERS = ("id", "definition_id")
_BATCH = 500


@dataclass(frozen=True)
class Shape:
    """The columns of a row in a file. ``schedule_name`` stands for the number of a definition."""

    columns: Sequence[Column[Any]]
    json_columns: frozenset[str]
    instants: frozenset[str]
    needed: frozenset[str]
    has_schedule: bool


@cache
def shape(kind: str) -> Shape:
    """The columns of this kind of row."""
    table = TABLES[kind]
    columns = [each for each in table.columns if each.name not in _NUMBERS]
    return Shape(
        columns,
        frozenset(each.name for each in columns if isinstance(each.type, JSON)),
        frozenset(each.name for each in columns if isinstance(each.type, UtcTime)),
        frozenset(each.name for each in columns if not each.nullable and each.server_default is None),
        "definition_id" in table.columns,
    )


def read(connection: Connection) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """All rows, in batches of one kind. A key without a run, which a failed enqueue has left, is no key."""
    for kind, table in TABLES.items():
        key = list(table.primary_key)
        after: tuple[Any, ...] | None = None
        while found := _batch(connection, kind, table, key, after):
            after = tuple(found[-1][f"key_{each.name}"] for each in key)
            names = {each.name for each in shape(kind).columns} | {"schedule_name"}
            yield kind, [{name: value for name, value in row.items() if name in names} for row in found]


def _batch(
    connection: Connection, kind: str, table: Table, key: Sequence[Column[Any]], after: tuple[Any, ...] | None
) -> list[dict[str, Any]]:
    of_kind = shape(kind)
    listed: list[Any] = [
        cast(each, Text).label(each.name) if each.name in of_kind.json_columns else each for each in of_kind.columns
    ]
    listed += [each.label(f"key_{each.name}") for each in key]
    statement = select(*listed)
    if of_kind.has_schedule:
        join = job_definitions.c.id == table.c.definition_id
        statement = statement.add_columns(job_definitions.c.name.label("schedule_name"))
        statement = statement.outerjoin_from(table, job_definitions, join)
    if table is job_keys:
        statement = statement.where(job_keys.c.run_id.is_not(None))
    if after is not None:
        statement = statement.where(tuple_(*key) > tuple_(*after))
    return [dict(row) for row in connection.execute(statement.order_by(*key).limit(_BATCH)).mappings()]


def highest_run(connection: Connection) -> int:
    """The highest id of a run that any row names: another database must give none of these to another run."""
    columns = (job_runs.c.id, job_keys.c.run_id, job_effects.c.run_id, job_events.c.run_id)
    found = (connection.execute(select(func.max(column))).scalar_one() for column in columns)
    return max(each or 0 for each in found)


def has_runs(connection: Connection) -> bool:
    """Whether there is any run."""
    return bool(connection.execute(select(job_runs.c.id).limit(1)).all())


def newest_event(connection: Connection) -> int:
    """The highest number of an event."""
    return connection.execute(select(func.coalesce(func.max(job_events.c.id), 0))).scalar_one()  # type: ignore[no-any-return]  # an int


def insert(connection: Connection, kind: str, given: Sequence[Mapping[str, Any]], newest: int) -> int:
    """Insert the rows that are not there; how many.

    ``newest`` is the newest event from before the restore: what somebody did to many schedules at once is many events
    of one instant, and those of an earlier call of this function must not hide the others.
    """
    table, of_kind = TABLES[kind], shape(kind)
    types: dict[str, Any] = {
        each.name: Text() if each.name in of_kind.json_columns else each.type for each in of_kind.columns
    }
    source = rows("given", {**types, "schedule_name": Text()})
    values: dict[str, Any] = {
        name: stored_json(source.c[name]) if name in of_kind.json_columns else source.c[name] for name in types
    }
    if of_kind.has_schedule:
        named = job_definitions.c.name == source.c.schedule_name
        values["definition_id"] = select(job_definitions.c.id).where(named).scalar_subquery()
    if table is job_definitions:
        # Its host has had no tick here, and is not gone for that.
        values["updated_at"] = case((source.c.host.is_not(None), now()), else_=values["updated_at"])
    # It is never NULL; SQLite would take ON CONFLICT for a part of a join without a WHERE.
    is_new: ColumnElement[bool] = source.c[next(iter(sorted(of_kind.needed)))].is_not(None)
    if table is job_events:
        columns = (job_events.c.at, job_events.c.actor, job_events.c.action)
        same = and_(*(each == source.c[each.name] for each in columns))
        of_run = job_events.c.run_id.is_not_distinct_from(source.c.run_id)
        is_new = and_(is_new, ~exists().where(same, of_run, job_events.c.id <= newest))
    chosen = select(*values.values()).select_from(source).where(is_new)
    statement = inserting(table).from_select(list(values), chosen)
    return connection.execute(statement.on_conflict_do_nothing(), {"given": given}).rowcount
