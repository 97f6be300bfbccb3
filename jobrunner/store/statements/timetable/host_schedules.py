"""The definitions that hosts have of schedules whose slots get a run on every host."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Executable, Float, Select, and_, bindparam, case, literal_column, null, or_, select, update
from sqlalchemy.sql.dml import ReturningUpdate

from jobrunner.store.schema import job_definitions, job_hosts, job_ticks
from jobrunner.store.sql.dialect.rows import rows
from jobrunner.store.sql.dialect.statements import inserting
from jobrunner.store.sql.dialect.values import later, now
from jobrunner.store.statements.queue.hosts import IS_ON_EVERY_HOST, KEPT, ticks_of
from jobrunner.store.statements.queue.hosts import templates as templates_with

_COLUMNS = job_definitions.c
_OWN = {"id", "name", "source", "host", "template", "runs_made", "last_slot_at", "next_run_at", "last_error"}
_OWN |= {"removed_at", "created_at", "updated_at"}
COPIED = [column.name for column in _COLUMNS if column.name not in _OWN]
"""What the definition of a host has from its template."""


def templates() -> Select[Any]:
    """The schedules whose slots get a run on every host."""
    names = (_COLUMNS.name, _COLUMNS.job_type, _COLUMNS.last_error, now().label("now"))
    return templates_with(names).where(_COLUMNS.schedule.is_not(None)).order_by(_COLUMNS.name)


def of_hosts() -> Select[Any]:
    """The definitions that hosts have, also those that were removed."""
    return select(_COLUMNS.template, _COLUMNS.host, _COLUMNS.removed_at).where(_COLUMNS.host.is_not(None))


def hosts() -> Select[Any]:
    """What hosts can run that have had a tick since an instant, and when their newest tick began."""
    columns = job_hosts.c
    newest = ticks_of(columns.host).limit(literal_column("1")).correlate(job_hosts).scalar_subquery()
    found = select(columns.host, columns.can_run, job_ticks.c.started_at.label("seen_at"))
    found = found.join_from(job_hosts, job_ticks, job_ticks.c.id == newest)
    return found.where(job_ticks.c.started_at > later(bindparam("since", type_=Float))).order_by(columns.host)


def add() -> Executable:
    """Give hosts their definitions of templates. What was removed comes back, and has slots from now on."""
    given = rows("given", {name: _COLUMNS[name].type for name in ("template", "host", "name")})
    copied = [_COLUMNS[name] for name in COPIED]
    own = [given.c.name, given.c.host, given.c.template, literal_column("'host'"), now(), now(), now()]
    names = [*COPIED, "name", "host", "template", "source", "last_slot_at", "created_at", "updated_at"]
    source = select(*copied, *own).join_from(given, job_definitions, _COLUMNS.name == given.c.template)
    # WHERE, because without one SQLite reads the ON of ON CONFLICT as part of a join.
    insert = inserting(job_definitions).from_select(names, source.where(IS_ON_EVERY_HOST))
    new = insert.excluded
    # The clock may have stepped back since it was removed.
    watermark = case((_COLUMNS.last_slot_at > new.last_slot_at, _COLUMNS.last_slot_at), else_=new.last_slot_at)
    changed: dict[str, Any] = {name: new[name] for name in COPIED}
    changed |= {"last_slot_at": watermark, "next_run_at": null(), "removed_at": null(), "last_error": null()}
    changed |= {"updated_at": new.updated_at}
    is_own = and_(_COLUMNS.host == new.host, _COLUMNS.template == new.template)
    statement: Executable = insert.on_conflict_do_update(
        index_elements=[_COLUMNS.name], set_=changed, where=is_own
    ).returning(_COLUMNS.id, _COLUMNS.name)
    return statement


def end_gone() -> ReturningUpdate[Any]:
    """End the definitions of hosts of which no tick and no report is left."""
    reported = select(job_hosts.c.host).where(job_hosts.c.host == _COLUMNS.host).exists()
    ticked = ticks_of(_COLUMNS.host).limit(literal_column("1")).correlate(job_definitions).scalar_subquery()
    # What was restored from an archive waits as long for the first tick of its host in this database.
    is_old = _COLUMNS.updated_at < later(literal_column(f"{-KEPT.total_seconds()}", Float()))
    is_gone = and_(_COLUMNS.host.is_not(None), _COLUMNS.removed_at.is_(None), ~or_(reported, ticked.is_not(None)))
    return (
        update(job_definitions)
        .where(is_gone, is_old)
        .values(removed_at=now(), updated_at=now())
        .returning(_COLUMNS.id, _COLUMNS.name)
    )
