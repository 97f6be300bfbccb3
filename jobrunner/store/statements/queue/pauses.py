"""What an operator has paused. The views leave out the paused types; only a claim knows its host."""

from __future__ import annotations

from typing import Any, cast

from sqlalchemy import (
    ColumnElement,
    Executable,
    Integer,
    Select,
    bindparam,
    delete,
    exists,
    func,
    literal_column,
    or_,
    select,
    true,
)
from sqlalchemy.sql.dml import ReturningDelete

from jobrunner.store.schema import job_pauses, job_runs, job_ticks
from jobrunner.store.sql.dialect.statements import inserting
from jobrunner.store.sql.dialect.values import now
from jobrunner.store.statements.queue.backpressure import WAITING
from jobrunner.store.statements.queue.holding import RUNNING

VARIANTS: dict[str, list[tuple[Any, ...]]] = {
    "waiting": [("all",), ("type",)],
    "running": [("all",), ("type",), ("host",)],
}
_COLUMNS = job_pauses.c
_NAME: ColumnElement[str] = bindparam("name", type_=_COLUMNS.name.type)
_HOST: ColumnElement[str] = literal_column("'host'")


def is_host_paused() -> ColumnElement[bool]:
    """Whether the host of the parameter ``host`` is paused."""
    return exists(select(_COLUMNS.kind).where(_COLUMNS.kind == _HOST, _is_host()))


def is_type_paused(job_type: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether a type is paused. Asked of the type before its runs: a condition of each run reads the whole queue."""
    return job_type.in_(select(_COLUMNS.name).where(_COLUMNS.kind == literal_column("'type'")))


def for_host(more: list[ColumnElement[Any]]) -> Select[Any]:
    """The pauses that the host of the parameter ``host`` must honour: their kinds, their names, and ``more``."""
    return select(_COLUMNS.kind, _COLUMNS.name, *more).where(or_(_COLUMNS.kind != _HOST, _is_host()))


def _is_host() -> ColumnElement[bool]:
    return _COLUMNS.name == bindparam("host", type_=_COLUMNS.name.type)


# What people ask and do.


def listed() -> Select[Any]:
    """What is paused."""
    found = select(_COLUMNS.kind, _COLUMNS.name, _COLUMNS.reason, _COLUMNS.actor, _COLUMNS.paused_at)
    return found.order_by(_COLUMNS.paused_at, _COLUMNS.kind, _COLUMNS.name)


def add() -> Executable:
    """Pause something. Returns since when, and no row if it is paused already."""
    given = {name: bindparam(name, type_=_COLUMNS[name].type) for name in ("kind", "name", "actor", "reason")}
    insert = inserting(job_pauses).values(**given, paused_at=now()).on_conflict_do_nothing()
    return cast(Executable, insert.returning(_COLUMNS.paused_at))


def remove() -> ReturningDelete[Any]:
    """End a pause. Returns since when it was, and the database's time."""
    is_meant = (_COLUMNS.kind == bindparam("kind", type_=_COLUMNS.kind.type), _COLUMNS.name == _NAME)
    return delete(job_pauses).where(*is_meant).returning(_COLUMNS.paused_at, now().label("now"))


def waiting(kind: str) -> Select[Any]:
    """The number of waiting runs that a pause concerns, up to a limit."""
    return _count(WAITING, _concerns(kind))


def running(kind: str) -> Select[Any]:
    """The number of running ones."""
    return _count(job_runs.c.status == RUNNING, _concerns(kind))


def ticked() -> Select[Any]:
    """Whether a host has ticked: no row, if not."""
    return select(job_ticks.c.id).where(job_ticks.c.host == _NAME).limit(1)


def _concerns(kind: str) -> ColumnElement[bool]:
    # The names of a type and of a host are those of the columns.
    return true() if kind == "all" else {"type": job_runs.c.job_type, "host": job_runs.c.host}[kind] == _NAME


def _count(*conditions: ColumnElement[bool]) -> Select[Any]:
    found = select(job_runs.c.id).where(*conditions).limit(bindparam("most", type_=Integer)).subquery()
    return select(func.count().label("runs")).select_from(found)
