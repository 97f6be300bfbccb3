"""What ``jobrunner status`` reads. Counts stop at a limit, and each reads one index."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    ColumnElement,
    Integer,
    Select,
    Table,
    and_,
    bindparam,
    func,
    literal_column,
    or_,
    select,
    union_all,
)

from jobrunner.lifecycle import FINISHED, Status
from jobrunner.store.schema import ANY_RELEASES, job_runs, job_ticks, job_types
from jobrunner.store.schema.views import (
    job_claimable,
    job_claimable_by_host,
    job_gated,
    job_limits_in_force,
    job_open_gates,
)
from jobrunner.store.sql.dialect.rows import rows
from jobrunner.store.sql.dialect.values import now
from jobrunner.store.statements.questions.findings import NEWEST_TICKS
from jobrunner.store.statements.queue.backpressure import WAITING
from jobrunner.store.statements.queue.holding import RUNNING
from jobrunner.store.statements.queue.limits import count_at_work

VARIANTS: dict[str, list[tuple[Any, ...]]] = {"count": [(status.value,) for status in Status]}
_MOST = bindparam("most", type_=Integer)
"""Rows that are counted or listed."""


def due() -> Select[Any]:
    """The database's time, how many runs are due, up to a limit, and the first instant at which one of them was."""
    first = due_now(_MOST).subquery("first")
    found: list[Any] = [now().label("now"), func.count().label("runs"), func.min(first.c.run_at).label("first_at")]
    return select(*found).select_from(first)


def due_now(most: ColumnElement[int]) -> Select[Any]:
    """Select ``id`` and ``run_at`` of the runs that a claim could take, up to so many of each kind.

    Those behind no gate come in the order of their ``run_at``, those behind open gates and of one host in any.
    """
    free, gates, gated, of_host = job_claimable.c, job_open_gates.c, job_gated.c, job_claimable_by_host.c
    # With the condition of the index that has this order.
    first = select(free.id, free.run_at).where(ANY_RELEASES).order_by(free.run_at).limit(most)
    is_behind = and_(gated.job_type == gates.job_type, gated.gate == gates.gate)
    behind = select(gated.id, gated.run_at).join_from(job_open_gates, job_gated, is_behind).limit(most)
    own = select(of_host.id, of_host.run_at).limit(most)
    kinds = ((first, "free"), (behind, "behind"), (own, "own"))
    all_kinds = union_all(*(select(each.subquery(name)) for each, name in kinds))
    return select(all_kinds.subquery("all_kinds"))


def count(status: str) -> Select[Any]:
    """The number of runs in a status, up to a limit."""
    # Literals and the conditions of the partial indexes, so that the planner can use them.
    of_status = select(job_runs.c.id).where(job_runs.c.status == literal_column(f"'{status}'"))
    if Status(status) in FINISHED:
        of_status = of_status.where(job_runs.c.finished_at.is_not(None))
    elif Status(status) is Status.QUEUED:
        of_status = of_status.where(WAITING)
    return select(func.count().label("runs")).select_from(of_status.limit(_MOST).subquery())


def running() -> Select[Any]:
    """The runs that are running."""
    columns = job_runs.c
    names = (
        "id", "job_type", "host", "locked_by", "started_at", "heartbeat_at", "locked_until", "max_attempts", "progress",
        "cancel_requested_at",
    )  # fmt: skip
    listed = [*_columns(job_runs, *names), columns.attempts.label("attempt")]
    return select(*listed).where(columns.status == RUNNING).order_by(columns.started_at, columns.id)


def failing() -> Select[Any]:
    """The runs that have failed and will be tried again, the next one first."""
    columns = job_runs.c
    names = ("id", "job_type", "attempts", "max_attempts", "error_type", "last_error")
    listed = [*_columns(job_runs, *names), columns.run_at.label("next_try_at")]
    # With the condition of the index of those that fail: among all that wait they may be few.
    failed = select(*listed).where(columns.status == literal_column("'failed'"))
    return failed.order_by(columns.run_at, columns.id).limit(_MOST)


def dead() -> Select[Any]:
    """The runs that died last."""
    columns = job_runs.c
    listed = _columns(job_runs, "id", "job_type", "attempts", "finished_at", "error_type", "last_error")
    is_dead = (columns.status == literal_column("'dead'"), columns.finished_at.is_not(None))
    return select(*listed).where(*is_dead).order_by(columns.finished_at.desc(), columns.id.desc()).limit(_MOST)


def unknown() -> Select[Any]:
    """How many runs of some types wait, and since when."""
    columns = job_runs.c
    given = rows("given", {"job_type": columns.job_type.type})
    found: list[Any] = [func.count().label("waiting"), func.min(columns.run_at).label("oldest_run_at")]
    waiting = select(columns.job_type, *found).where(WAITING, columns.job_type.in_(select(given.c.job_type)))
    return waiting.group_by(columns.job_type).order_by(columns.job_type)


def limited() -> Select[Any]:
    """The types with a limit of waiting runs."""
    columns = job_types.c
    of_type = job_runs.c.job_type == columns.job_type
    waiting = select(func.count()).where(of_type, WAITING).correlate(job_types).scalar_subquery().label("waiting")
    listed = _columns(job_types, "job_type", "max_waiting", "when_full", "dropped", "dropped_at")
    return select(*listed, waiting).where(columns.max_waiting.is_not(None)).order_by(columns.job_type)


def running_limits() -> Select[Any]:
    """The limits over all hosts of each type that has some, how many of its runs are running, and how many wait."""
    limits = job_limits_in_force
    of_type = job_runs.c.job_type == limits.c.job_type
    names = (
        "job_type", "max_running", "rate", "burst", "concurrency_key", "max_running_per_key", "rate_per_key",
        "burst_per_key",
    )  # fmt: skip
    fair_by = select(job_types.c.fair_by).where(job_types.c.job_type == limits.c.job_type).correlate(limits)
    waiting = select(func.count()).where(of_type, WAITING).correlate(limits).scalar_subquery().label("waiting")
    more = (fair_by.scalar_subquery().label("fair_by"), limits.c.opens_at)
    found = select(*_columns(limits, *names), *more, count_at_work(limits).label("running"), waiting)
    # A row may be there only for its lock.
    has_some = or_(*(limits.c[name].is_not(None) for name in ("max_running", "rate", "concurrency_key")))
    return found.where(has_some).order_by(limits.c.job_type)


def last_ticks() -> Select[Any]:
    """The last tick of each host."""
    columns = job_ticks.c
    names = (
        "host", "worker", "version", "started_at", "application", "listening_at", "types", "finished_at", "counts",
        "error",
    )  # fmt: skip
    return select(*_columns(job_ticks, *names)).where(columns.id.in_(NEWEST_TICKS)).order_by(columns.host)


def _columns(table: Table, *names: str) -> list[Any]:
    return [table.c[name] for name in names]
