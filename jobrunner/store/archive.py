"""Copies ended runs with their attempts for an archive, deletes what is in one, and puts them back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import JSON, Column, Select, Table, Text, and_, cast, or_, select

from jobrunner import failpoints
from jobrunner.lifecycle import Status
from jobrunner.store import retention
from jobrunner.store.connection import Connection
from jobrunner.store.dialect.rows import rows
from jobrunner.store.dialect.statements import inserting
from jobrunner.store.dialect.values import BigKey, UtcTime, stored_json
from jobrunner.store.schema import job_attempts, job_definitions, job_runs, job_state

JSON_COLUMNS = frozenset(column.name for column in job_runs.columns if isinstance(column.type, JSON))
"""The columns of a run whose values are JSON texts here, so that no number is rounded on its way."""
INSTANTS = frozenset(
    column.name for table in (job_runs, job_attempts) for column in table.columns if isinstance(column.type, UtcTime)
)
# Computed by the database.
_COLUMNS = [column for column in job_runs.columns if column.computed is None]
_HIGHEST_ID = """
SELECT setval(sequence, top) FROM (
  SELECT CAST(pg_get_serial_sequence(%(table)s, 'id') AS regclass) AS sequence, %(top)s::bigint AS top
) AS given WHERE top > coalesce(pg_sequence_last_value(sequence), 0)
"""


@dataclass(frozen=True)
class Archived:
    """A run and its attempts, each as its columns."""

    run: Mapping[str, Any]
    attempts: Sequence[Mapping[str, Any]]


class Position(NamedTuple):
    """Where the reading of a status goes on."""

    finished_at: datetime
    id: int


class Batch(NamedTuple):
    """Some runs, how many others were left out, and where the reading goes on; None: there are no more."""

    runs: Sequence[Archived]
    left_out: int
    after: Position | None


class Ended(NamedTuple):
    """What must still be true of a run for its deletion."""

    id: int
    status: str
    finished_at: datetime


def read(
    connection: Connection,
    status: Status,
    before: datetime,
    job_types: Sequence[str],
    after: Position | None,
    limit: int,
) -> Batch:
    """The next runs that ended before an instant, in that order.

    A run is left out while its attempts are not in the tallies yet: put back, it would be counted twice.
    """
    found = [dict(row) for row in connection.execute(_ended(status, before, job_types, after, limit)).mappings()]
    if not found:
        return Batch([], 0, None)
    given = {"given": [{"id": run["id"]} for run in found]}
    attempts: dict[int, list[Mapping[str, Any]]] = {run["id"]: [] for run in found}
    for attempt in connection.execute(_ATTEMPTS, given).mappings():
        attempts[attempt["run_id"]].append(attempt)
    counted_to = connection.execute(select(job_state.c.counted_to)).scalar_one()
    runs = [
        Archived(run, attempts[run["id"]])
        for run in found
        if all(attempt["id"] <= counted_to for attempt in attempts[run["id"]])
    ]
    return Batch(runs, len(found) - len(runs), Position(found[-1]["finished_at"], found[-1]["id"]))


def _ended(
    status: Status, before: datetime, job_types: Sequence[str], after: Position | None, limit: int
) -> Select[Any]:
    columns = job_runs.c
    listed = [cast(each, Text).label(each.name) if each.name in JSON_COLUMNS else each for each in _COLUMNS]
    statement = select(*listed).where(
        columns.status == status.value, columns.finished_at.is_not(None), columns.finished_at < before
    )
    if job_types:
        statement = statement.where(columns.job_type.in_(job_types))
    if after is not None:
        is_later = and_(columns.finished_at == after.finished_at, columns.id > after.id)
        statement = statement.where(
            columns.finished_at >= after.finished_at, or_(columns.finished_at > after.finished_at, is_later)
        )
    return statement.order_by(columns.finished_at, columns.id).limit(limit)


_GIVEN = rows("given", {"id": BigKey})
_ATTEMPTS = (
    select(job_attempts)
    .where(job_attempts.c.run_id.in_(select(_GIVEN.c.id)))
    .order_by(job_attempts.c.run_id, job_attempts.c.sequence)
)
_ENDED = rows("given", {"id": BigKey, "status": Text(), "finished_at": UtcTime()})
_UNCHANGED = (
    select(job_runs.c.id)
    .join(_ENDED, and_(_ENDED.c.id == job_runs.c.id, _ENDED.c.status == job_runs.c.status))
    .where(_ENDED.c.finished_at == job_runs.c.finished_at)
    .with_for_update(of=job_runs, skip_locked=True)
)


def delete(connection: Connection, ended: Sequence[Ended]) -> tuple[int, str | None]:
    """Delete these runs, but for those that have changed since; how many, and why one could not be deleted."""
    ids = connection.execute(_UNCHANGED, {"given": [each._asdict() for each in ended]}).scalars()
    kept, why = retention.delete_runs(connection, ids)
    failpoints.hit("archive.before_commit", cut=connection.sever)
    return len(ids) - len(kept), why


def restore(connection: Connection, archived: Sequence[Archived]) -> int:
    """Insert the runs that are not there, with their attempts; how many. Their ids are the old ones."""
    inserted = connection.execute(
        _inserting(connection, job_runs, _COLUMNS), {"given": [each.run for each in archived]}
    ).scalars()
    present = set(inserted)
    attempts = [attempt for each in archived if each.run["id"] in present for attempt in each.attempts]
    if attempts:
        connection.execute(_inserting(connection, job_attempts, list(job_attempts.columns)), {"given": attempts})
    if connection.database == "postgresql":
        # Otherwise a later run would get an id that is taken. SQLite does this itself.
        for name, listed in (("job_runs", [each.run for each in archived]), ("job_attempts", attempts)):
            if listed:
                top = max(each["id"] for each in listed)
                connection.execute(_HIGHEST_ID, {"table": _named(connection, name), "top": top})
    return len(present)


def _named(connection: Connection, name: str) -> str:
    return name if connection.schema is None else f'"{connection.schema}".{name}'


def _inserting(connection: Connection, table: Table, columns: Sequence[Column[Any]]) -> Any:
    given = rows("given", {each.name: Text() if each.name in JSON_COLUMNS else each.type for each in columns})
    values = []
    for column in columns:
        value: Any = given.c[column.name]
        if column.name == "definition_id":
            # In another database there may be no such definition.
            value = select(job_definitions.c.id).where(job_definitions.c.id == value).scalar_subquery()
        elif column.name in JSON_COLUMNS:
            value = stored_json(value)
        values.append(value)
    # SQLite would take ON CONFLICT for a part of a join without a WHERE.
    source = select(*values).where(given.c.id.is_not(None))
    insert = inserting(connection.database, table).from_select([each.name for each in columns], source)
    return insert.on_conflict_do_nothing().returning(table.c.id)
