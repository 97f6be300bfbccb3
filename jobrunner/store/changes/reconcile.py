"""What ``apply`` reads and writes: many definitions at once, those of the code and the file.

Every function expects the transaction of one apply.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from sqlalchemy import Executable, literal_column, or_, select, true

from jobrunner.model import Actor, Declaration
from jobrunner.store.changes import edits
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.locks import lock_named_row
from jobrunner.store.drivers.reading import read
from jobrunner.store.queue.ticks import audit
from jobrunner.store.schema import job_definitions
from jobrunner.store.sql.dialect.rows import rows
from jobrunner.store.sql.dialect.statements import inserting
from jobrunner.store.sql.dialect.values import now
from jobrunner.store.statements.timetable.definitions import reading
from jobrunner.store.timetable.records import ReadDefinition
from jobrunner.store.timetable.schedules import Plan, definition_of


def hold(connection: Connection) -> None:
    """Let only one ``apply`` run at a time: two versions of an application may be deployed at once."""
    lock_named_row(connection, "declarations")


def definitions(connection: Connection, names: Iterable[str], *, lock: bool) -> Sequence[ReadDefinition]:
    """The definitions of these names, also removed ones, and all definitions of the code and the file.

    In the order of ids, so that two transactions cannot wait for each other's rows.
    """
    columns = job_definitions.c
    given = rows("given", {"name": columns.name.type})
    wanted = or_(
        columns.name.in_(select(given.c.name)),
        columns.source.in_([literal_column(f"'{each}'") for each in ("code", "file")]),
    )
    statement = reading([wanted]).order_by(columns.id)
    if lock:
        statement = statement.with_for_update()
    return read(connection, ReadDefinition, statement, {"given": [{"name": name} for name in names]})


def add(connection: Connection, new: Sequence[Declaration], plan: Plan, actor: Actor) -> Collection[str]:
    """Like ``edits.add``, for many new names. Returns those that another transaction has inserted meanwhile."""
    if not new:
        return ()
    at = connection.execute(select(now())).scalar_one()
    times = dict.fromkeys(("last_slot_at", "created_at", "updated_at"), at)
    unseen = {"id": 0, "runs_made": 0, "paused_at": None, "last_error": None, "host": None}
    added = []
    for each in new:
        values = {**edits.columns_of(each), "name": each.name, **edits.owner_of(each), **times}
        planned = plan(definition_of({**unseen, **values}), at)
        added.append({**values, "next_run_at": planned.next_run_at, "last_error": planned.problem})
    found = connection.execute(_insert_statement(tuple(added[0])), {"given": added})
    ids = {row.name: row.id for row in found}
    audit.record(
        connection,
        [
            audit.event(actor, "add schedule", ids[each.name], {"name": each.name, **edits.columns_of(each)}, at)
            for each in new
            if each.name in ids
        ],
    )
    return [each.name for each in new if each.name not in ids]


def _insert_statement(names: tuple[str, ...]) -> Executable:
    columns = job_definitions.c
    given = rows("given", {name: columns[name].type for name in names})
    # WHERE true, because without a WHERE SQLite reads the ON of ON CONFLICT as part of a join.
    source = select(*(given.c[name] for name in names)).where(true())
    inserted = inserting(job_definitions).from_select(list(names), source).on_conflict_do_nothing()
    statement: Executable = inserted.returning(columns.id, columns.name)
    return statement
