"""The rows of ticks, and the questions what is due."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Float,
    Insert,
    Integer,
    MetaData,
    ScalarSelect,
    Select,
    String,
    Table,
    Update,
    and_,
    bindparam,
    exists,
    func,
    insert,
    literal_column,
    or_,
    select,
    union_all,
    update,
)
from sqlalchemy.sql.dml import ReturningUpdate

from jobrunner.lifecycle import CLAIMABLE, QUARANTINE_AFTER_EXPIRIES
from jobrunner.store.schema import ANY_RELEASES, job_runs, job_state, job_ticks
from jobrunner.store.schema.views import (
    job_claimable,
    job_claimable_by_host,
    job_expandable,
    job_expandable_by_host,
    job_gated,
    job_gates_due,
    job_overdue,
    job_ready_gates,
    job_recoverable,
    job_ungated_due,
)
from jobrunner.store.sql.dialect.rows import rows
from jobrunner.store.sql.dialect.values import later, now, promoted
from jobrunner.store.sql.traits import EACH_DATABASE
from jobrunner.store.sql.versions import VERSION_TABLE
from jobrunner.store.statements.queue.dependants import is_any_ended
from jobrunner.store.statements.queue.due import MOST_OF_ALL, columns_of, due_of
from jobrunner.store.statements.queue.hosts import digest_of_host, templates
from jobrunner.store.statements.queue.own_runs import HOST, due_for, is_any_quarantined
from jobrunner.store.statements.queue.pauses import is_host_paused, is_type_paused

VARIANTS = {"claimable": EACH_DATABASE}
_PRUNE_EVERY = timedelta(minutes=10)
# Alembic creates it.
_VERSION = Table(VERSION_TABLE, MetaData(), Column("version_num", String))


def schema() -> Select[Any]:
    """The version of the schema, and the oldest level of the code that it fits."""
    oldest = select(job_state.c.oldest_code).scalar_subquery().label("oldest_code")
    released = select(job_state.c.released).scalar_subquery().label("released")
    return select(_VERSION.c.version_num, oldest, released)


def open() -> Insert:  # noqa: A001 - the name of the statement
    """Insert the row of a tick that begins."""
    # Not the names of the columns, here and below, because SQLAlchemy reserves those.
    names = ("host", "worker", "version", "application", "types")
    values = {name: bindparam(f"its_{name}", type_=job_ticks.c[name].type) for name in names}
    reported = digest_of_host().label("reported")
    server = select(job_state.c.server).scalar_subquery().label("server")
    is_promoted = promoted().is_not(None).label("is_promoted")
    has_templates = exists(templates([])).label("has_templates")
    inserted = insert(job_ticks).values(**values, started_at=now())
    return inserted.returning(job_ticks.c.id, reported, server, is_promoted, has_templates)


def close() -> ReturningUpdate[Any]:
    """Close the row of a tick, if it is its own."""
    columns = job_ticks.c
    names = ("counts", "error", "ended_by", "left_due")
    values = {name: bindparam(f"its_{name}", type_=columns[name].type) for name in names}
    return update(job_ticks).where(is_own_row()).values(finished_at=now(), **values).returning(columns.id)


def is_own_row() -> ColumnElement[bool]:
    """Whether the row ``tick_id`` is that of the tick ``own_worker`` of ``own_host``.

    After an asynchronous promotion it may be lost, and another tick may have got its number.
    """
    columns = job_ticks.c
    own = {columns.host: "own_host", columns.worker: "own_worker"}
    of_tick = columns.id == bindparam("tick_id", type_=columns.id.type)
    return and_(of_tick, *(column == bindparam(name, type_=column.type) for column, name in own.items()))


def left() -> Select[Any]:
    """How many runs of each type are due, the oldest ones up to a limit."""
    columns = job_runs.c
    # In the order and with the conditions of their index.
    oldest = (
        select(columns.job_type)
        .where(
            columns.status.in_([literal_column(f"'{status}'") for status in CLAIMABLE]),
            columns.run_at <= now(),
            columns.gate == literal_column("''"),
            ANY_RELEASES,
        )
        .order_by(columns.run_at)
        .limit(bindparam("limit", type_=Integer))
        .subquery()
    )
    return select(oldest.c.job_type, func.count().label("runs")).group_by(oldest.c.job_type)


def is_due() -> Select[Any]:
    """Whether there is anything to recover, end, expand or, on the host of the parameter ``host``, to claim."""
    others = [is_any_expandable(), exists(select(job_recoverable.c.id))]
    behind_gates = select(job_gates_due.c.is_due).scalar_subquery()
    is_any = or_(is_ungated_due(), exists(due_for(HOST)), behind_gates)
    is_claimable = and_(is_any, ~is_host_paused())
    return select(or_(is_claimable, earliest_overdue().is_not(None), is_any_ended(), *others).label("is_due"))


def is_any_expandable() -> ColumnElement[bool]:
    """Whether a tick of the host of the parameter ``host`` may have a slot to expand."""
    own = job_expandable_by_host.c
    of_host = select(own.id).where(own.host == bindparam("host", type_=own.host.type))
    return or_(exists(select(job_expandable.c.id)), exists(of_host))


def is_any_gate_ready() -> ColumnElement[bool]:
    """Whether a run that waits behind a gate can be claimed."""
    return exists(select(job_ready_gates.c.gate))


def first_overdue() -> Select[Any]:
    """The start deadline that passed first."""
    return select(earliest_overdue().label("start_deadline_at"))


def is_ungated_due() -> ScalarSelect[Any]:
    """Whether a run behind no gate can be claimed, by any host."""
    return select(job_ungated_due.c.is_due).scalar_subquery()


def earliest_overdue() -> ScalarSelect[Any]:
    """The start deadline that passed first. NULL means none.

    A question for any such run would be slow: the planner would scan all runs and expect to find one soon.
    """
    return select(func.min(job_overdue.c.start_deadline_at)).scalar_subquery()


def claimable(database: str) -> Select[Any]:
    """The due runs of the types of a list, up to a limit for each and for all, and those for the host alone."""
    types = rows("types", columns_of(database))
    due = due_of(types, database, ~is_type_paused(types.c.job_type)).subquery("due")
    own = due_for(HOST).join_from(types, job_claimable_by_host, job_claimable_by_host.c.job_type == types.c.job_type)
    found = union_all(select(due.c.id), own).subquery("found")
    return select(found.c.id).limit(MOST_OF_ALL)


def is_quarantined_due() -> Select[Any]:
    """Whether a quarantined run is due for the host of the parameter ``host``, also one that waits behind a gate."""
    # A literal, as in the index of the quarantined runs.
    most: ColumnElement[int] = literal_column(str(QUARANTINE_AFTER_EXPIRIES))
    found = [exists(select(view.c.id).where(view.c.lease_expiries >= most)) for view in (job_claimable, job_gated)]
    return select(or_(*found, is_any_quarantined()).label("is_due"))


def free_prune_turn() -> Select[Any]:
    """Lock the turn to prune, if it is time and nobody else has it."""
    earlier = later(bindparam("before", -_PRUNE_EVERY.total_seconds(), type_=Float))
    # A time in the future was written before the clock stepped back.
    ahead = later(bindparam("after", _PRUNE_EVERY.total_seconds(), type_=Float))
    last = job_state.c.pruned_at
    # If another transaction has locked the row, that one prunes. A tick does not wait for it.
    return (
        select(job_state.c.id)
        .where(last.is_(None) | (last <= earlier) | (last > ahead))
        .with_for_update(skip_locked=True)
    )


def take_prune_turn() -> ReturningUpdate[Any]:
    """Take the turn to prune. Returns the time, and the server that the last one who had it has seen."""
    return update(job_state).values(pruned_at=now()).returning(job_state.c.pruned_at, job_state.c.server)


def prune_again() -> Update:
    """Have the turn to prune come after a time, as if it had been taken so much earlier than now."""
    after = bindparam("after", type_=Float) - literal_column(f"{_PRUNE_EVERY.total_seconds()}", Float())
    return update(job_state).values(pruned_at=later(after.self_group()))


def lock_server() -> Select[Any]:
    """The server that was noted, locked, the one that was promoted since, if one was, and the time."""
    columns = (job_state.c.server, promoted().label("promoted"), now().label("now"))
    return select(*columns).with_for_update(of=job_state)


def note_server() -> Update:
    """Write the server that this one has seen."""
    return update(job_state).values(server=bindparam("seen", type_=job_state.c.server.type))
