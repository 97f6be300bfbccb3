"""What the commands of people read of definitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Integer, Select, bindparam, func, literal_column, select

from jobrunner.model import OVERLAPS
from jobrunner.store.schema import IS_UNFINISHED, job_attempts, job_definitions, job_events, job_runs, job_ticks
from jobrunner.store.sql.dialect.rows import rows
from jobrunner.store.sql.dialect.values import now
from jobrunner.store.statements.queue.holding import RUNNING
from jobrunner.store.statements.queue.hosts import ticks_of

VARIANTS: dict[str, list[tuple[Any, ...]]] = {
    "named": [(False,), (True,)],
    "listed": [(False,), (True,)],
    "former_runs": [(False,), (True,)],
}
_COLUMNS = job_definitions.c
_MOST = bindparam("most", type_=Integer)


def reading(conditions: Sequence[ColumnElement[bool]]) -> Select[Any]:
    """Reads the records ``ReadDefinition`` of the definitions that meet these conditions."""
    return select(job_definitions, now().label("now")).where(*conditions)


def named(for_update: bool) -> Select[Any]:
    """The definition of a name; with a lock, also from those that were removed."""
    found = reading([_COLUMNS.name == bindparam("name", type_=_COLUMNS.name.type)])
    return found.with_for_update() if for_update else found


def of_templates() -> Select[Any]:
    """The definitions that hosts have of the templates of a list, with a lock."""
    given = rows("given", {"name": _COLUMNS.name.type})
    found = reading([_COLUMNS.template.in_(select(given.c.name)), _COLUMNS.removed_at.is_(None)])
    return found.order_by(_COLUMNS.id).with_for_update(of=job_definitions)


def names_of_hosts() -> Select[Any]:
    """The names of the definitions that hosts have of one template."""
    is_meant = _COLUMNS.template == bindparam("template", type_=_COLUMNS.template.type)
    return select(_COLUMNS.name).where(is_meant, _COLUMNS.removed_at.is_(None)).order_by(_COLUMNS.name)


def on_hosts() -> Select[Any]:
    """What the hosts have of one template, with the newest run of each, and with the newest tick of its host."""
    is_meant = _COLUMNS.template == bindparam("template", type_=_COLUMNS.template.type)
    ticks = ticks_of(_COLUMNS.host).limit(literal_column("1")).correlate(job_definitions).scalar_subquery()
    newest = select(func.max(job_runs.c.id)).where(job_runs.c.definition_id == _COLUMNS.id)
    names = ("name", "host", "last_slot_at", "next_run_at", "paused_at", "last_error")
    found = select(
        *(_COLUMNS[name] for name in names),
        select(job_ticks.c.started_at).where(job_ticks.c.id == ticks).scalar_subquery().label("ticked_at"),
        job_runs.c.id.label("run_id"),
        job_runs.c.status.label("run_status"),
        job_runs.c.scheduled_for.label("run_slot"),
    ).select_from(
        job_definitions.outerjoin(job_runs, job_runs.c.id == newest.correlate(job_definitions).scalar_subquery())
    )
    return found.where(is_meant, _COLUMNS.removed_at.is_(None)).order_by(_COLUMNS.host)


def listed(removed: bool) -> Select[Any]:
    """The definitions by name. ``removed``: also those that were removed."""
    return reading([] if removed else [_COLUMNS.removed_at.is_(None)]).order_by(_COLUMNS.name)


def names() -> Select[Any]:
    """The names that definitions have."""
    return select(_COLUMNS.name).where(_COLUMNS.removed_at.is_(None))


def former_runs(of_one: bool) -> Select[Any]:
    """The oldest waiting run of its former type of each definition that has one, or only of one definition."""
    runs = job_runs.c
    oldest = (
        select(func.min(runs.id))
        .join(job_definitions, _COLUMNS.id == runs.definition_id)
        .where(
            IS_UNFINISHED,
            runs.definition_id.is_not(None),
            runs.status != RUNNING,
            runs.job_type != _COLUMNS.job_type,
            # With the other policies a new run starts beside it, or replaces it.
            _COLUMNS.overlap.in_([literal_column(f"'{name}'") for name, each in OVERLAPS.items() if each.waits_for]),
            _COLUMNS.removed_at.is_(None),
        )
        .group_by(runs.definition_id)
    )
    if of_one:
        oldest = oldest.where(runs.definition_id == _definition())
    found = select(runs.definition_id, _COLUMNS.name, runs.id, runs.job_type, _COLUMNS.job_type.label("type_today"))
    return found.where(runs.id.in_(oldest), _COLUMNS.id == runs.definition_id)


def paused_by() -> Select[Any]:
    """Who paused a definition, since an instant."""
    columns = job_events.c
    # Not an earlier event: an operator may have paused it by SQL, after an earlier pause had ended.
    return (
        select(columns.actor)
        .where(
            columns.definition_id == _definition(),
            columns.action == literal_column("'pause schedule'"),
            columns.at >= bindparam("since", type_=columns.at.type),
        )
        .order_by(columns.id.desc())
        .limit(1)
    )


def runs() -> Select[Any]:
    """The newest runs of a definition."""
    columns = job_runs.c
    names = (
        "id", "scheduled_for", "origin", "status", "run_at", "finished_at", "attempts", "error_type", "last_error",
        "created_at",
    )  # fmt: skip
    first_start = select(func.min(job_attempts.c.started_at)).where(job_attempts.c.run_id == columns.id)
    return (
        select(
            *(columns[name] for name in names),
            # The run's own started_at is that of its newest attempt.
            func.coalesce(first_start.scalar_subquery(), columns.started_at).label("first_started_at"),
        )
        .where(columns.definition_id == _definition())
        .order_by(columns.id.desc())
        .limit(_MOST)
    )


def events() -> Select[Any]:
    """The newest events of a definition."""
    columns = job_events.c
    found = select(columns.at, columns.actor, columns.action, columns.run_id, columns.detail)
    return found.where(columns.definition_id == _definition()).order_by(columns.id.desc()).limit(_MOST)


def _definition() -> ColumnElement[int]:
    return bindparam("definition", type_=job_runs.c.definition_id.type)
