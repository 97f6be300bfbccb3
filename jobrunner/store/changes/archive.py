"""Copies ended runs with their attempts for an archive, deletes what is in one, and puts them back."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import JSON, Column, Select, Table, Text, and_, bindparam, cast, or_, select

from jobrunner import failpoints
from jobrunner.lifecycle import Status
from jobrunner.model import Actor
from jobrunner.store.drivers import numbering
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.queue.ticks import audit, retention
from jobrunner.store.schema import job_attempts, job_definitions, job_events, job_keys, job_runs, job_state
from jobrunner.store.sql.dialect.rows import rows
from jobrunner.store.sql.dialect.statements import inserting
from jobrunner.store.sql.dialect.values import BigKey, UtcTime, now, stored_json
from jobrunner.store.statements.ticks.retention import is_slot_before

JSON_COLUMNS = frozenset(column.name for column in job_runs.columns if isinstance(column.type, JSON))
"""The columns of a run whose values are JSON texts here, so that no number is rounded on its way."""
INSTANTS = frozenset(
    column.name for table in (job_runs, job_attempts) for column in table.columns if isinstance(column.type, UtcTime)
)
# Computed by the database.
_COLUMNS = [column for column in job_runs.columns if column.computed is None]
COLUMNS = {
    table.name: {column.name: not column.nullable and column.server_default is None for column in columns}
    for table, columns in ((job_runs, _COLUMNS), (job_attempts, list(job_attempts.columns)))
}
"""The columns of a line of an archive, by the table, and whether each must be given."""


@dataclass(frozen=True)
class Archived:
    """A run and its attempts, each as its columns, and the name of its schedule. ``line`` is that of the file."""

    run: Mapping[str, Any]
    attempts: Sequence[Mapping[str, Any]]
    schedule: str | None
    line: int = 0


class CannotRestore(Exception):
    """What stands in this line of the file cannot be put into this database."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line


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
    schedules = {run["id"]: run.pop("schedule") for run in found}
    if not found:
        return Batch([], 0, None)
    given = {"given": [{"id": run["id"]} for run in found]}
    attempts: dict[int, list[Mapping[str, Any]]] = {run["id"]: [] for run in found}
    for attempt in connection.execute(_ATTEMPTS, given).mappings():
        attempts[attempt["run_id"]].append(attempt)
    counted_to = connection.execute(select(job_state.c.counted_to)).scalar_one()
    runs = [
        Archived(run, attempts[run["id"]], schedules[run["id"]])
        for run in found
        if all(attempt["id"] <= counted_to for attempt in attempts[run["id"]])
    ]
    return Batch(runs, len(found) - len(runs), Position(found[-1]["finished_at"], found[-1]["id"]))


def _ended(
    status: Status, before: datetime, job_types: Sequence[str], after: Position | None, limit: int
) -> Select[Any]:
    columns = job_runs.c
    listed = [cast(each, Text).label(each.name) if each.name in JSON_COLUMNS else each for each in _COLUMNS]
    named = select(*listed, job_definitions.c.name.label("schedule")).outerjoin_from(job_runs, job_definitions)
    statement = named.where(
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
_PRESENT = select(job_runs.c.id, job_runs.c.job_type, job_runs.c.created_at).where(
    job_runs.c.id.in_(select(_GIVEN.c.id))
)
_ENDED = rows("given", {"id": BigKey, "status": Text(), "finished_at": UtcTime()})
_DELETABLE = (
    select(job_runs.c.id)
    .join(_ENDED, and_(_ENDED.c.id == job_runs.c.id, _ENDED.c.status == job_runs.c.status))
    .where(_ENDED.c.finished_at == job_runs.c.finished_at)
    # The rule of retention. The instant of the archive may lie ahead.
    .where(is_slot_before(bindparam("before", type_=UtcTime())), is_slot_before(now()))
    .with_for_update(of=job_runs, skip_locked=True)
)

_SO_CALLED = select(job_definitions.c.name).where(
    job_definitions.c.name.in_(select(rows("given", {"name": Text()}).c.name))
)
_RENAMED = (
    select(job_events.c.detail, job_definitions.c.name)
    .join(job_definitions, job_definitions.c.id == job_events.c.definition_id)
    .where(job_events.c.action == "edit schedule")
    .order_by(job_events.c.at, job_events.c.id)
)


def note(connection: Connection, actor: Actor, action: str, file: Path, before: datetime | None) -> None:
    """Write into the audit trail that somebody deletes or puts back what is in a file: runs that ended before this."""
    at = connection.execute(select(now())).scalar_one()
    detail = {"file": str(file.absolute())} | ({} if before is None else {"before": before})
    audit.write(connection, [audit.event(actor, action, None, detail, at)])


def delete(connection: Connection, ended: Sequence[Ended], before: datetime) -> tuple[int, str | None]:
    """Delete these runs, but for those that have changed since; how many, and why one could not be deleted.

    ``before`` is the instant of the archive. A run stays whose slot is after it, or to come: see ``retention``.
    """
    given = [each._asdict() for each in ended]
    ids = connection.execute(_DELETABLE, {"given": given, "before": before}).scalars()
    kept, why = retention.delete_runs(connection, ids)
    failpoints.hit("archive.before_commit", cut=connection.sever)
    return len(ids) - len(kept), why


def restore(connection: Connection, archived: Sequence[Archived], *, is_trial: bool = False) -> int:
    """Insert the runs that are not there, with their attempts and keys; how many. Their ids are the old ones.

    Raises CannotRestore if another run is in the place of one. ``is_trial``: the caller rolls it all back.
    """
    today = _names_of_today(connection, {each.schedule for each in archived} - {None})
    runs = [{**each.run, "schedule": today.get(each.schedule, each.schedule)} for each in archived]
    present = set(connection.execute(_inserting(job_runs, _COLUMNS), {"given": runs}).scalars())
    _check_others(connection, [each for each in archived if each.run["id"] not in present])
    attempts = {attempt["id"]: each for each in archived if each.run["id"] in present for attempt in each.attempts}
    if attempts:
        given = [attempt for each in archived if each.run["id"] in present for attempt in each.attempts]
        insert_attempts = _inserting(job_attempts, list(job_attempts.columns))
        inserted = connection.execute(insert_attempts, {"given": given}).scalars()
        for attempt_id in sorted(set(attempts) - set(inserted)):
            raise CannotRestore(
                attempts[attempt_id].line, f"another attempt in the database has the id {attempt_id}, or its number"
            )
    _restore_keys(connection, archived)
    if not is_trial:
        # Otherwise a later run would get an id that is taken.
        for name, ids in (("job_runs", [each.run["id"] for each in archived]), ("job_attempts", list(attempts))):
            numbering.reserve(connection, name, max(ids, default=0))
    return len(present)


def _names_of_today(connection: Connection, names: Collection[str | None]) -> Mapping[str | None, str]:
    """What schedules are called now that had these names and were renamed, as the audit trail has it."""
    given = {"given": [{"name": name} for name in names]}
    gone = {*names} - {*connection.execute(_SO_CALLED, given).scalars()} if names else set()
    renamed = connection.execute(_RENAMED) if gone else ()
    changed = ((row.detail.get("changed", {}).get("name", {}).get("from"), row.name) for row in renamed)
    # Of several that had one name, the last one.
    return {former: name for former, name in changed if former in gone}


def _check_others(connection: Connection, archived: Sequence[Archived]) -> None:
    """Raise CannotRestore unless these runs, which were not inserted, are there already."""
    if not archived:
        return
    found = {row.id: row for row in connection.execute(_PRESENT, {"given": [{"id": e.run["id"]} for e in archived]})}
    for each in archived:
        there = found.get(each.run["id"])
        if there is None:
            raise CannotRestore(
                each.line, f"the slot of run {each.run['id']} is that of another run of {each.schedule}"
            )
        if (there.job_type, there.created_at) != (each.run["job_type"], each.run["created_at"]):
            raise CannotRestore(each.line, f"another run in the database has the id {each.run['id']}")


def _restore_keys(connection: Connection, archived: Sequence[Archived]) -> None:
    """Let the newest run of each key have it, so that what is to be done once is not done again in this database."""
    newest: dict[tuple[str, str], Mapping[str, Any]] = {}
    for run in (each.run for each in archived if each.run["idempotency_key"] is not None):
        key = run["job_type"], run["idempotency_key"]
        if key not in newest or newest[key]["id"] < run["id"]:
            newest[key] = run
    if not newest:
        return
    names = ("job_type", "idempotency_key", "created_at")
    given = [{**{name: run[name] for name in names}, "run_id": run["id"]} for run in newest.values()]
    insert = _inserting_any(job_keys, list(job_keys.columns), key="job_type")
    statement = insert.on_conflict_do_update(
        index_elements=["job_type", "idempotency_key"],
        set_={"run_id": insert.excluded.run_id, "created_at": insert.excluded.created_at},
        where=or_(job_keys.c.run_id.is_(None), job_keys.c.run_id < insert.excluded.run_id),
    )
    connection.execute(statement, {"given": given})


def _inserting(table: Table, columns: Sequence[Column[Any]]) -> Any:
    insert = _inserting_any(table, columns, key="id")
    return insert.on_conflict_do_nothing().returning(table.c.id)


def _inserting_any(table: Table, columns: Sequence[Column[Any]], *, key: str) -> Any:
    """An INSERT of the rows of a list. ``key`` is a column that is never NULL."""
    types = {each.name: Text() if each.name in JSON_COLUMNS else each.type for each in columns}
    given = rows("given", {**types, "schedule": Text()})
    values = []
    for column in columns:
        value: Any = given.c[column.name]
        if column.name == "definition_id":
            # In another database the schedule of that name has another id, or there is none.
            value = select(job_definitions.c.id).where(job_definitions.c.name == given.c.schedule).scalar_subquery()
        elif column.name in JSON_COLUMNS:
            value = stored_json(value)
        values.append(value)
    # SQLite would take ON CONFLICT for a part of a join without a WHERE.
    source = select(*values).where(given.c[key].is_not(None))
    return inserting(table).from_select([each.name for each in columns], source)
