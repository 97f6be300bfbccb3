"""What ``jobrunner health`` reads. Each statement is as quick beside a long history and a long queue."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    CTE,
    ColumnElement,
    Float,
    Integer,
    ScalarSelect,
    Select,
    Subquery,
    and_,
    bindparam,
    func,
    literal_column,
    not_,
    or_,
    select,
)

from jobrunner.lifecycle import Status
from jobrunner.names import VERIFY
from jobrunner.store.schema import (
    job_definitions,
    job_effects,
    job_hosts,
    job_pauses,
    job_runs,
    job_set_limits,
    job_ticks,
)
from jobrunner.store.schema.views import (
    job_claimable,
    job_claimable_by_host,
    job_unpaused_types,
    job_waiting_types,
)
from jobrunner.store.sql.conditions import EXPAND_OF_HOST
from jobrunner.store.sql.dialect.ddl import condition
from jobrunner.store.sql.dialect.rows import rows
from jobrunner.store.sql.dialect.values import UtcTime, later, now
from jobrunner.store.statements.queue.effects import IS_OPEN, is_in_progress
from jobrunner.store.statements.queue.holding import RUNNING
from jobrunner.store.statements.queue.hosts import ticks_of

_MOST = bindparam("most", type_=Integer)
"""Rows that a finding counts."""
_ENOUGH_TICKS = 3
_MOST_TYPES = literal_column("10000", Integer())
_MORE_THAN_COUNTED: ColumnElement[int] = literal_column("1048576", Integer())


def hosts() -> Select[Any]:
    """The last tick of each host, and how many ticks it has, up to three. One step in an index for each host."""
    columns, names = job_ticks.c, _hosts()
    # Not a join, for which the planner would read the whole table. It has no statistics of a recursion.
    of_host = ticks_of(names.c.host).correlate(names)
    newest = of_host.limit(1).scalar_subquery()
    last = [
        select(columns[name]).where(columns.id == newest).correlate(names).scalar_subquery().label(name)
        for name in ("started_at", "finished_at", "error")
    ]
    ticks = _count(of_host.limit(_ENOUGH_TICKS).subquery("of_host")).label("ticks")
    return select(names.c.host, *last, ticks).where(names.c.host.is_not(None)).order_by(names.c.host)


def _hosts() -> CTE:
    """One step in an index for each host. The last row is NULL."""
    columns = job_ticks.c
    names = select(func.min(columns.host).label("host")).cte("names", recursive=True)
    following = select(func.min(columns.host)).where(columns.host > names.c.host).correlate(names).scalar_subquery()
    return names.union_all(select(following.label("host")).select_from(names).where(names.c.host.is_not(None)))


def killed_ticks() -> Select[Any]:
    """The ticks of a time that have not ended, hold no lease that goes on, and do not listen."""
    columns, runs = job_ticks.c, job_runs.c
    its_run = and_(runs.status == RUNNING, runs.host == columns.host, runs.locked_by == columns.worker)
    is_alive = select(runs.id).where(its_run, runs.locked_until > now()).correlate(job_ticks).exists()
    return (
        select(columns.host, func.count().label("ticks"), func.max(columns.started_at).label("last_at"))
        .where(
            columns.started_at > later(bindparam("since", type_=Float)),
            columns.started_at < later(bindparam("killed_before", type_=Float)),
            columns.finished_at.is_(None),
            not_(is_alive),
        )
        .group_by(columns.host)
        .order_by(columns.host)
    )


def waiting_types() -> Select[Any]:
    """The types with waiting runs, due or not."""
    return select(job_waiting_types.c.job_type)


def due_types() -> Select[Any]:
    """The types with waiting runs: the due run whose turn is next, if any, and how many are due.

    One walk through the claim's index for each type.
    """
    runs, due, types = job_runs.c, job_claimable.c, job_unpaused_types
    of_type = select(due.id, due.run_at, due.turn_at).where(due.job_type == types.c.job_type).correlate(types)
    walk = of_type.order_by(due.turn_at, due.run_at, due.id).limit(_MOST).subquery("walk").c
    # Not a join, for which the planner would read the whole queue: it has no statistics of a recursion. A subquery has
    # one value only, so the id and the count are one number.
    first = select(walk.id * _MORE_THAN_COUNTED + func.count().over())
    both = first.order_by(walk.turn_at, walk.run_at, walk.id).limit(1).scalar_subquery().label("both")
    # The limit keeps the planner from computing it several times.
    found = select(types.c.job_type, both).limit(_MOST_TYPES).subquery("found").c
    each = select(
        found.job_type,
        (found.both // _MORE_THAN_COUNTED).label("id"),
        (found.both % _MORE_THAN_COUNTED).label("runs"),
    )
    listed = each.subquery("listed").c
    run_at = select(runs.run_at).where(runs.id == listed.id).scalar_subquery().label("run_at")
    return select(listed.job_type, listed.id, run_at, listed.runs).where(listed.id.is_not(None))


def came_since() -> Select[Any]:
    """How many runs of each of some types became due since an instant and wait still, up to a limit.

    Not those of a higher priority whose turn was earlier: the index has the turns.
    """
    due, since = job_claimable.c, bindparam("since", type_=UtcTime())
    given = rows("given", {"job_type": job_runs.c.job_type.type})
    found = select(due.id).where(due.job_type == given.c.job_type, due.turn_at >= since, due.run_at >= since)
    counted = _count(found.correlate(given).limit(_MOST).subquery("found"))
    return select(given.c.job_type, counted.label("runs"))


def dead() -> Select[Any]:
    """The newest runs that died in a time, by type."""
    columns = job_runs.c
    found = (
        select(columns.id, columns.job_type)
        .where(
            columns.status == literal_column("'dead'"),
            columns.finished_at.is_not(None),
            columns.finished_at > later(bindparam("since", type_=Float)),
        )
        .order_by(columns.finished_at.desc())
        .limit(_MOST)
        .subquery("found")
        .c
    )
    return (
        select(found.job_type, func.count().label("runs"), func.max(found.id).label("id"))
        .group_by(found.job_type)
        .order_by(func.count().desc(), found.job_type)
    )


def expired_leases() -> Select[Any]:
    """How many leases expired before a time, the first of them, and a run that had one."""
    columns = job_runs.c
    found: list[ColumnElement[Any]] = [
        func.count().label("runs"),
        func.min(columns.id).label("id"),
        func.min(columns.locked_until).label("first_at"),
    ]
    return select(*found).where(
        columns.status == RUNNING, columns.locked_until < later(bindparam("expired_before", type_=Float))
    )


def owners() -> Select[Any]:
    """Who holds the runs at work: how many, one of them, and when the last of their leases was renewed and ends."""
    columns = job_runs.c
    found: list[ColumnElement[Any]] = [
        columns.host,
        columns.locked_by,
        func.count().label("runs"),
        func.min(columns.id).label("id"),
        func.max(columns.heartbeat_at).label("renewed_at"),
        func.max(columns.locked_until).label("ends_at"),
    ]
    at_work = select(*found).where(columns.status == RUNNING, columns.heartbeat_at.is_not(None))
    return at_work.group_by(columns.host, columns.locked_by).order_by(columns.host, columns.locked_by)


def uncertain_effects() -> Select[Any]:
    """How many effects are uncertain, and since when."""
    columns = job_effects.c
    open_ones = select(columns.intended_at).where(IS_OPEN, not_(is_in_progress())).order_by(columns.intended_at)
    first = open_ones.limit(_MOST).subquery("found").c.intended_at
    counted: list[ColumnElement[Any]] = [func.count().label("effects"), func.min(first).label("first_at")]
    return select(*counted)


def broken_definitions() -> Select[Any]:
    """The definitions that cannot be expanded, and those whose slots count as handled because a clock was ahead."""
    columns = job_definitions.c
    is_ahead = and_(columns.paused_at.is_(None), columns.last_slot_at > later(bindparam("ahead", type_=Float)))
    return (
        select(columns.name, columns.last_error, columns.last_slot_at)
        .where(
            columns.removed_at.is_(None),
            columns.schedule.is_not(None),
            or_(columns.last_error.is_not(None), is_ahead),
        )
        .order_by(columns.name)
        .limit(_MOST)
    )


def broken_promises() -> Select[Any]:
    """The newest ended run of each schedule that calls ``verify``, where it has found that a promise is broken."""
    schedules, runs = job_definitions.c, job_runs.c
    ended = select(runs.id).where(runs.definition_id == schedules.id, runs.finished_at.is_not(None))
    newest = ended.correlate(job_definitions).order_by(runs.id.desc()).limit(1).scalar_subquery()
    of_verify = (schedules.job_type == literal_column(f"'{VERIFY}'"), schedules.removed_at.is_(None))
    # Another exit status says that it could not judge.
    is_broken = (runs.error_type == literal_column("'exit_status'"), runs.last_error.like("exit status 1:%"))
    found = select(schedules.name, runs.id, runs.last_error).join_from(job_definitions, job_runs, runs.id == newest)
    return found.where(*of_verify, runs.status == literal_column(f"'{Status.DEAD}'"), *is_broken).limit(_MOST)


def awaited_schedules() -> Select[Any]:
    """The hosts of which schedules have had a due slot for longer than a time, and one of these schedules."""
    columns = job_definitions.c
    # Without a time it has not been looked at since it was made.
    due_at = func.coalesce(columns.next_run_at, columns.last_slot_at)
    first, since = func.min(columns.id).label("id"), func.min(due_at).label("since")
    found = select(columns.host, func.count().label("number"), first, since)
    late = (columns.host.is_not(None), due_at < later(bindparam("since", type_=Float)))
    found = found.where(*late, *map(condition, EXPAND_OF_HOST.values()))
    by_host = found.group_by(columns.host).subquery("by_host")
    name = select(job_definitions.c.name).where(job_definitions.c.id == by_host.c.id).scalar_subquery()
    return select(by_host.c.host, by_host.c.number, name.label("first"), by_host.c.since).order_by(by_host.c.host)


def awaited_runs() -> Select[Any]:
    """The hosts for which runs have been due for longer than a time: how many up to a limit, and one of these runs."""
    due, runs = job_claimable_by_host.c, job_runs.c
    # One step in an index for each host, in the words of that index. Grouped, all that waits could be read.
    waits = (runs.finished_at.is_(None), runs.lease_token.is_(None), runs.only_host.is_not(None))
    first = select(runs.only_host).where(*waits).order_by(runs.only_host).limit(literal_column("1"))
    hosts = select(first.scalar_subquery().label("host")).cte("awaited", recursive=True)
    following = first.where(runs.only_host > hosts.c.host).correlate(hosts).scalar_subquery().label("host")
    hosts = hosts.union_all(select(following).select_from(hosts).where(hosts.c.host.is_not(None)))
    late = due.run_at < later(bindparam("since", type_=Float))
    walk = select(due.id, due.run_at).where(due.only_host == hosts.c.host, late).correlate(hosts)
    found = walk.order_by(due.turn_at, due.run_at, due.id).limit(_MOST).subquery("found")
    asked = {"number": func.count(), "first": func.min(found.c.id), "since": func.min(found.c.run_at)}
    columns = [select(each).select_from(found).scalar_subquery().label(name) for name, each in asked.items()]
    # The limit keeps the planner from computing them several times.
    counted = select(hosts.c.host, *columns).where(hosts.c.host.is_not(None)).limit(_MOST_TYPES).subquery("counted")
    # Whoever pauses a host knows that its runs wait.
    paused = select(job_pauses.c.name).where(job_pauses.c.kind == literal_column("'host'"))
    unpaused = ~paused.where(job_pauses.c.name == counted.c.host).exists()
    return select(counted).where(counted.c.number > literal_column("0"), unpaused)


def old_pauses() -> Select[Any]:
    """What has been paused for longer than a time, the oldest first."""
    columns = job_pauses.c
    found = select(columns.kind, columns.name, columns.actor, columns.reason, columns.paused_at)
    is_old = columns.paused_at < later(bindparam("paused_before", type_=Float))
    return found.where(is_old).order_by(columns.paused_at).limit(_MOST)


def old_limits() -> Select[Any]:
    """What has been set instead of the limits of a type for longer than a time, and has no end, the oldest first."""
    columns = job_set_limits.c
    found = select(columns.job_type, columns.max_running, columns.rate, columns.actor, columns.reason, columns.set_at)
    is_old = (columns.ends_at.is_(None), columns.set_at < later(bindparam("paused_before", type_=Float)))
    return found.where(*is_old).order_by(columns.set_at).limit(_MOST)


def known_types() -> Select[Any]:
    """What the ticks of each host can run by their last report, the newest last, and the types they are limited to."""
    columns = job_hosts.c
    return select(columns.host, columns.types, columns.can_run, columns.settings).order_by(
        columns.host, columns.reported_at
    )


def _count(found: Subquery) -> ScalarSelect[int]:
    return select(func.count()).select_from(found).scalar_subquery()


def _newest_ticks() -> Select[Any]:
    names = _hosts()
    newest = ticks_of(names.c.host).correlate(names).limit(1).scalar_subquery().label("id")
    return select(newest).where(names.c.host.is_not(None))


NEWEST_TICKS = _newest_ticks()
"""The id of the last tick of each host."""
