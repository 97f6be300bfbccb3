"""The rows of hosts: what their ticks can run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Delete,
    Executable,
    Float,
    ScalarSelect,
    Select,
    String,
    bindparam,
    case,
    delete,
    exists,
    literal_column,
    or_,
    select,
)

from jobrunner.store.schema import job_definitions, job_hosts, job_ticks
from jobrunner.store.sql.dialect.rows import rows
from jobrunner.store.sql.dialect.statements import inserting
from jobrunner.store.sql.dialect.values import later, now

IS_ON_EVERY_HOST = job_definitions.c.on == literal_column("'every-host'")
"""Whether a slot of a schedule gets a run on each host."""
_REPORTED_EVERY = timedelta(days=1)
KEPT = timedelta(days=30)
"""So long the report of a host is kept."""
# Not the names of the columns, because SQLAlchemy reserves those.
_ID = bindparam("host_id", type_=String)


def digest_of_host() -> ScalarSelect[Any]:
    """The digest of the last report of a host. NULL: there is none, or it must be written again because of its age.

    It must be, too, if there is a later schedule whose slots get a run on every host.
    """
    columns = job_hosts.c
    is_fresh = columns.reported_at > later(bindparam("reported_before", -_REPORTED_EVERY.total_seconds(), type_=Float))
    # Its next tick then gives it its own definition of such a schedule.
    is_older = exists(templates([]).where(job_definitions.c.updated_at >= columns.reported_at).correlate(job_hosts))
    return select(columns.digest).where(columns.id == _ID, is_fresh, ~is_older).scalar_subquery()


def templates(more: Sequence[ColumnElement[Any]]) -> Select[Any]:
    """The schedules whose slots get a run on every host: their ids, and ``more``."""
    columns = job_definitions.c
    return select(columns.id, *more).where(IS_ON_EVERY_HOST, columns.host.is_(None), columns.removed_at.is_(None))


def write() -> Executable:
    """Insert or replace the row of a host. A machine that comes back after another one is noted."""
    columns = job_hosts.c
    names = ("host", "application", "types", "digest", "can_run", "settings", "database", "boot")
    values: dict[str, Any] = {name: bindparam(f"its_{name}", type_=columns[name].type) for name in names}
    insert = inserting(job_hosts).values(
        id=_ID, last_boot=bindparam("its_boot", type_=columns.boot.type), reported_at=now(), **values
    )
    new = insert.excluded
    has_come_back = (new.boot != columns.boot) & (new.boot == columns.last_boot)
    replaced = {name: new[name] for name in names}
    statement: Executable = insert.on_conflict_do_update(
        index_elements=[columns.id],
        set_={
            **replaced,
            "last_boot": case((new.boot == columns.boot, columns.last_boot), else_=columns.boot),
            "is_twin_at": case((has_come_back, now()), else_=columns.is_twin_at),
            "reported_at": now(),
        },
    )
    return statement


def reported() -> Select[Any]:
    """What the ticks of some hosts can run, by their reports. The newest report of a host comes last."""
    columns, given = job_hosts.c, rows("given", {"host": job_hosts.c.host.type})
    found = select(columns.host, columns.can_run).where(columns.host.in_(select(given.c.host)))
    return found.order_by(columns.reported_at, columns.id)


def forget() -> Delete:
    """Remove the rows of hosts that reported nothing for long: containers have ever new names."""
    earlier = later(bindparam("before", -KEPT.total_seconds(), type_=Float))
    # A time in the future was written before the clock stepped back.
    ahead = later(bindparam("after", KEPT.total_seconds(), type_=Float))
    return delete(job_hosts).where(or_(job_hosts.c.reported_at <= earlier, job_hosts.c.reported_at > ahead))


def ticks_of(host: ColumnElement[str]) -> Select[Any]:
    """The ids of the ticks of a host, the newest first.

    The host is asked for as a range and comes first in the order, so that only the index of hosts has this order: a
    planner that knows that most ticks are of few hosts would walk back through the ticks of all to one that is gone.
    """
    columns = job_ticks.c
    of_host = select(columns.id).where(columns.host >= host, columns.host <= host)
    return of_host.order_by(columns.host.desc(), columns.id.desc())
