"""Reads all rows of a database in slices, as they are, and writes them into another one with the same ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import JSON, Column, Table, Text, case, cast, func, insert, literal, select, tuple_, update

from jobrunner.store.changes.closing import TABLES
from jobrunner.store.changes.state_rows import highest_run
from jobrunner.store.drivers import numbering
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.schema import IS_UNFINISHED, job_limits, job_runs, job_state
from jobrunner.store.sql.dialect.rows import rows
from jobrunner.store.sql.dialect.values import stored_json
from jobrunner.store.statements.queue.backpressure import WAITING
from jobrunner.store.statements.queue.limits import gate_of

_OF_STATE = ("pruned_at", "counted_to")
"""The columns of ``job_state`` that belong to the history. The others belong to a server or to an installation."""


class Slice(NamedTuple):
    """Rows of a table, in the order of its key, and the key of the last one."""

    rows: Sequence[Mapping[str, Any]]
    after: tuple[Any, ...]


@cache
def _columns(table: Table) -> tuple[Column[Any], ...]:
    return tuple(column for column in table.columns if column.computed is None)


def json_columns(table: Table) -> frozenset[str]:
    """The names of the columns that are read as the text of JSON."""
    return frozenset(column.name for column in _columns(table) if isinstance(column.type, JSON))


def count(connection: Connection, table: Table) -> int:
    """How many rows there are."""
    return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


def has_rows(connection: Connection, table: Table) -> bool:
    """Whether there is any row."""
    return bool(connection.execute(select(*table.primary_key).limit(1)).all())


def read_slice(connection: Connection, table: Table, after: tuple[Any, ...], limit: int) -> Slice:
    """The next rows after those with this key; () is the beginning. JSON is read as its text."""
    key = list(table.primary_key)
    listed = [_text_of(column) for column in _columns(table)]
    statement = select(*listed).order_by(*key).limit(limit)
    if after:
        statement = statement.where(tuple_(*key) > tuple_(*after))
    found = [dict(row) for row in connection.execute(statement).mappings()]
    return Slice(found, tuple(found[-1][column.name] for column in key) if found else after)


def write_slice(connection: Connection, table: Table, found: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Insert these rows, and read them again, in any order."""
    types: dict[str, Any] = {
        column.name: Text() if isinstance(column.type, JSON) else column.type for column in _columns(table)
    }
    source = rows("given", types)
    values = {
        column.name: stored_json(source.c[column.name]) if isinstance(column.type, JSON) else source.c[column.name]
        for column in _columns(table)
    }
    given = {"given": found}
    connection.execute(insert(table).from_select(list(values), select(*values.values()).select_from(source)), given)
    if table is job_runs:
        # A run of a fair type that no claim has put behind its gate yet: the trigger of the enqueue has done so.
        its_gate = update(job_runs).values(gate=source.c.gate)
        is_other = (job_runs.c.id == source.c.id, job_runs.c.gate != source.c.gate)
        connection.execute(its_gate.where(*is_other), given)
    key = list(table.primary_key)
    joined = source.join(table, tuple_(*key) == tuple_(*(source.c[column.name] for column in key)))
    listed = select(*(_text_of(column) for column in _columns(table))).select_from(joined)
    return [dict(row) for row in connection.execute(listed, given).mappings()]


def correct_gates(connection: Connection) -> None:
    """Let no run stay behind the gate of a key that this database writes in another way.

    Each writes objects, and keys of several values, in its own way. Such a key would have two gates, and a limit for
    each. What waits is put behind its gate by the next claim.
    """
    limits, columns = job_limits.c, job_runs.c
    keyed = select(limits.job_type, limits.concurrency_key).where(limits.concurrency_key.is_not(None))
    for row in connection.execute(keyed).all():
        gate = gate_of(*map(literal, row.concurrency_key.split(",")))
        is_other = (columns.gate.not_in(("", "after")), columns.gate != gate)
        corrected = update(job_runs).where(columns.job_type == row.job_type, IS_UNFINISHED, *is_other)
        values = {"gate": case((WAITING, literal("")), else_=gate)}
        connection.execute(corrected.values(values), {"key": row.concurrency_key})


def _text_of(column: Column[Any]) -> Any:
    return cast(column, Text).label(column.name) if isinstance(column.type, JSON) else column


def highest_ids(connection: Connection) -> Mapping[str, int]:
    """The highest id of each table that numbers its rows."""
    numbered = [table for table in TABLES if "id" in table.columns and table.c.id.identity is not None]
    tops = {table.name: connection.execute(select(func.max(table.c.id))).scalar_one() for table in numbered}
    # Keys, effects and events name runs that are deleted, too.
    return {name: top or 0 for name, top in tops.items()} | {"job_runs": highest_run(connection)}


def reserve_ids(connection: Connection, tops: Mapping[str, int]) -> None:
    """Give no new row an id that a moved one has. On PostgreSQL it is not rolled back."""
    for name, top in tops.items():
        numbering.reserve(connection, name, top)


def state_of(connection: Connection) -> Mapping[str, Any]:
    """What ``job_state`` says of the history."""
    return dict(connection.execute(select(*(job_state.c[name] for name in _OF_STATE))).mappings()[0])


def set_state(connection: Connection, state: Mapping[str, Any]) -> None:
    """Write what ``state_of`` has read. Nothing is being counted there."""
    values = {**state, "counting_to": state["counted_to"], "counting_after": None, "server": None}
    connection.execute(job_state.update().values(**values))
