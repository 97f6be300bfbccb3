"""What ``apply`` asks of the database and writes: the definitions that code and the file have a say in, many at once.

Every function expects the transaction of one apply.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from sqlalchemy import Connection, RowMapping, or_, select

from jobrunner.model import Declaration
from jobrunner.store import audit, edits
from jobrunner.store.dialect import inserting, lock_named_row, now, rows
from jobrunner.store.schedules import Plan, definition_of
from jobrunner.store.schema import job_definitions, job_locks


def hold(connection: Connection) -> None:
    """Until the transaction ends nobody else applies anything: two versions of an application take their turns."""
    lock_named_row(connection, job_locks, "declarations")


def definitions(connection: Connection, names: Iterable[str], *, lock: bool) -> Sequence[RowMapping]:
    """Those of the names, the removed ones, too, and all that code or the file has declared; with the database's now.

    In id order, as all statements that lock several rows.
    """
    columns = job_definitions.c
    given = rows("given", {"name": columns.name.type})
    statement = (
        select(job_definitions, now().label("now"))
        .where(or_(columns.name.in_(select(given.c.name)), columns.source.in_(["code", "file"])))
        .order_by(columns.id)
    )
    if lock:
        statement = statement.with_for_update()
    return connection.execute(statement, {"given": [{"name": name} for name in names]}).mappings().all()


def add(connection: Connection, new: Sequence[Declaration], plan: Plan, actor: str) -> Collection[str]:
    """As ``changes.add``, many that nobody has had so far. The names of those that somebody has taken meanwhile."""
    if not new:
        return ()
    at = connection.execute(select(now())).scalar_one()
    times = dict.fromkeys(("last_slot_at", "created_at", "updated_at"), at)
    unseen = {"id": 0, "runs_made": 0, "paused_at": None, "last_error": None}
    added = []
    for each in new:
        values = {**edits.columns_of(each), "name": each.name, **edits.owner_of(each), **times}
        asked = plan(definition_of({**unseen, **values}), at)
        added.append({**values, "next_run_at": asked.next_run_at, "last_error": asked.problem})
    columns = job_definitions.c
    statement = inserting(connection.dialect.name, job_definitions).on_conflict_do_nothing()
    found = connection.execute(statement.returning(columns.id, columns.name), added)
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
