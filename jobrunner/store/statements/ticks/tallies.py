"""The ends of attempts and runs, counted by hour and type: folded from the attempts, made fewer, summed up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy
from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Delete,
    Float,
    Insert,
    Integer,
    Select,
    Text,
    Update,
    bindparam,
    case,
    cast,
    func,
    insert,
    literal_column,
    null,
    select,
    union_all,
    update,
)

from jobrunner.lifecycle import FINISHED
from jobrunner.store.schema import job_attempts, job_runs, job_state, job_tallies, job_totals
from jobrunner.store.sql.dialect.counting import batch_of, hour_of, oldest_transaction, own_transaction, seconds_between
from jobrunner.store.sql.dialect.rows import rows
from jobrunner.store.sql.dialect.values import BigKey, UtcTime, now
from jobrunner.store.sql.histogram import BOUNDS_BYTES, BOUNDS_SECONDS

VARIANTS: dict[str, list[tuple[Any, ...]]] = {
    "ends_since": [(False,), (True,)],
}

_ROW = {name: column.type for name, column in job_tallies.c.items() if name != "id"}
KEY = {name: job_totals.c[name].type for name in ("job_type", "outcome", "status")}
SUMS = {name: job_totals.c[name].type for name in ("ends", "waited", "ran", "waits", "runs")}
LONGEST = ("longest_wait", "longest_run")
COST_BINS = ("processor_bin", "memory_bin")
ZERO: ColumnElement[Any] = literal_column("0.0")


def marks() -> Select[Any]:
    """Lock how far the attempts are counted, unless another transaction does it, and read what is in flight."""
    columns = job_state.c
    newest = select(func.coalesce(func.max(job_attempts.c.id), 0)).scalar_subquery()
    return select(
        columns.counted_to,
        columns.counting_to,
        columns.counting_after,
        oldest_transaction().label("oldest"),
        own_transaction().label("own"),
        newest.label("newest"),
    ).with_for_update(of=job_state, skip_locked=True)


def set_marks() -> Update:
    """Write how far the attempts are counted."""
    names = ("counted_to", "counting_to", "counting_after")
    return update(job_state).values({name: bindparam(f"new_{name}", type_=BigKey) for name in names})


def ended() -> Select[Any]:
    """The attempts of a range of ids by hour, type, outcome, status and bins."""
    attempt = job_attempts.c.id
    return _counted(attempt > bindparam("after", type_=BigKey), attempt <= bindparam("upto", type_=BigKey))


def clock() -> Select[Any]:
    """The database's clock."""
    return select(now().label("now"))


def ended_of_runs() -> Select[Any]:
    """The same of the attempts of a list of runs."""
    given, attempts = rows("given", {"id": BigKey}), job_attempts.c
    # Not with the index of the ids, which would read all later attempts.
    later_ones = attempts.id + literal_column("0") > bindparam("after", type_=BigKey)
    return _counted(attempts.run_id.in_(select(given.c.id)), later_ones)


def lock_counted_to() -> Select[Any]:
    """Lock how far the attempts are counted, so that no other transaction counts; and the newest of a list of runs."""
    given, attempts = rows("given", {"id": BigKey}), job_attempts.c
    newest = select(func.coalesce(func.max(attempts.id), 0)).where(attempts.run_id.in_(select(given.c.id)))
    return select(job_state.c.counted_to, newest.scalar_subquery().label("newest")).with_for_update(of=job_state)


def not_counted() -> Any:
    """The columns of the same, of all attempts that are in no tally yet."""
    return _live(with_costs=False)


def _live(*, with_costs: bool) -> Any:
    is_new = job_attempts.c.id > select(job_state.c.counted_to).scalar_subquery()
    return _counted(is_new, with_costs=with_costs).subquery("live").c


def _counted(*conditions: ColumnElement[bool], with_costs: bool = True) -> Select[Any]:
    columns = job_attempts.c
    waited = _not_negative(func.coalesce(seconds_between(columns.due_at, columns.started_at), ZERO))
    ran = _not_negative(seconds_between(columns.started_at, columns.finished_at))
    status = func.coalesce(columns.status, literal_column("''")).label("status")
    of_attempt = (hour_of(columns.finished_at).label("at"), job_runs.c.job_type, columns.outcome, status)
    costs = (columns.processor_seconds, columns.peak_memory_bytes) if with_costs else ()
    each = (
        select(*of_attempt, waited.label("waited"), ran.label("ran"), *costs)
        .join_from(job_attempts, job_runs, job_runs.c.id == columns.run_id)
        .where(*conditions)
        # OFFSET keeps the planner from merging the subquery: each of the comparisons below would compute the seconds.
        .offset(literal_column("0"))
        .subquery("each")
        .c
    )
    groups = [each.at, each.job_type, each.outcome, each.status, _bin(each.waited, "wait"), _bin(each.ran, "run")]
    sums = [
        func.count().label("ends"),
        func.sum(each.waited).label("waited"),
        func.max(each.waited).label("longest_wait"),
        func.sum(each.ran).label("ran"),
        func.max(each.ran).label("longest_run"),
    ]
    if with_costs:
        groups.append(_bin(each.processor_seconds, "processor"))
        groups.append(_bin(each.peak_memory_bytes, "memory", BOUNDS_BYTES))
        sums.append(func.coalesce(func.sum(each.processor_seconds), ZERO).label("processor"))
        sums.append(func.coalesce(func.max(each.processor_seconds), ZERO).label("most_processor"))
        sums.append(func.coalesce(func.max(each.peak_memory_bytes), literal_column("0")).label("most_memory"))
    return select(*groups, *sums).group_by(*groups)


def _not_negative(seconds: ColumnElement[Any]) -> ColumnElement[Any]:
    return case((seconds < ZERO, ZERO), else_=seconds)


def _bin(value: ColumnElement[Any], name: str, bounds: Sequence[float] = BOUNDS_SECONDS) -> ColumnElement[int]:
    """The number of the bin; NULL for NULL."""
    found = case(
        *((value <= literal_column(f"{bound:.15g}"), literal_column(str(index))) for index, bound in enumerate(bounds)),
        (value.is_not(None), literal_column(str(len(bounds)))),
    )
    labelled: ColumnElement[int] = found.label(f"{name}_bin")
    return labelled


def add() -> Insert:
    """Insert tallies."""
    given = rows("given", _ROW)
    return insert(job_tallies).from_select(list(_ROW), select(*(given.c[name] for name in _ROW)))


def add_ends() -> Insert:
    """Insert tallies of runs that end now without an attempt."""
    given = rows("given", {"job_type": KEY["job_type"], "status": KEY["status"], "ends": BigKey})
    empty = literal_column("'[]'", type_=job_tallies.c.waits.type)
    values = {
        "at": hour_of(now()),
        "span": literal_column("'hour'"),
        "job_type": given.c.job_type,
        "outcome": literal_column("''"),
        "status": given.c.status,
        "ends": given.c.ends,
        **dict.fromkeys(("waited", "longest_wait", "ran", "longest_run"), ZERO),
        **dict.fromkeys(("waits", "runs"), empty),
    }
    return insert(job_tallies).from_select(list(values), select(*values.values()).select_from(given))


def new() -> Select[Any]:
    """Lock the oldest tallies of hours that are over, of those that are not in the totals."""
    columns = job_tallies.c
    return _locked(columns.is_in_totals == literal_column("0"))


def of_old_hours() -> Select[Any]:
    """Lock the oldest tallies of single hours that are in the totals."""
    columns = job_tallies.c
    return _locked(columns.span == literal_column("'hour'"), columns.is_in_totals == literal_column("1"))


def _locked(*conditions: ColumnElement[bool]) -> Select[Any]:
    columns = job_tallies.c
    return (
        select(columns.id, *(columns[name] for name in _ROW))
        .where(*conditions, columns.at < _before())
        .order_by(columns.at)
        .limit(bindparam("limit", type_=Integer))
        .with_for_update(skip_locked=True)
    )


def _before() -> ColumnElement[Any]:
    return bindparam("before", type_=UtcTime())


def delete() -> Delete:
    """Delete tallies."""
    given = rows("given", {"id": BigKey})
    return sqlalchemy.delete(job_tallies).where(job_tallies.c.id.in_(select(given.c.id)))


def delete_old_days() -> Delete:
    """Delete the tallies of days that are old enough. The totals contain them."""
    columns = job_tallies.c
    return sqlalchemy.delete(job_tallies).where(columns.span == literal_column("'day'"), columns.at < _before())


def sums_since() -> CompoundSelect[Any]:
    """The tallies of a time and later, summed for each type, outcome and status, and the attempts that are in none yet.

    The histograms of the sums are lists of JSON, without the brackets around them. Hours are summed in
    batches, whose texts stay the same once they are over: a process that asks often reads them once.
    """
    columns, live = job_tallies.c, _live(with_costs=True)
    sums, longest = ("ends", "waited", "ran", "processor"), (*LONGEST, "most_processor", "most_memory")
    texts, bins = ("waits", "runs", "processors", "memories"), ("wait_bin", "run_bin", *COST_BINS)
    return union_all(
        select(
            *(columns[name] for name in KEY),
            *(cast(func.sum(columns[name]), columns[name].type).label(name) for name in sums),
            *(func.max(columns[name]).label(name) for name in longest),
            *(func.aggregate_strings(cast(columns[name], Text), ",").label(name) for name in texts),
            *(cast(null(), Integer).label(name) for name in bins),
        )
        .where(*_is_since(columns))
        .group_by(*(columns[name] for name in KEY), batch_of(columns.span, columns.at)),
        select(
            *(live[name] for name in (*KEY, *sums, *longest)),
            *(cast(null(), Text) for _ in texts),
            *(live[name] for name in bins),
        ).where(live.at >= _since()),
    )


def ends_since(with_types: bool) -> Select[Any]:
    """The runs that ended from a time on, by status and perhaps by type, in parts of ``part_seconds`` since then.

    The parts and the ends of each are lists of JSON, without brackets around them: as rows they would be thousands.
    """
    columns, live = job_tallies.c, not_counted()
    names = ("at", *(["job_type"] if with_types else []), "status", "ends")
    ended: list[ColumnElement[str]] = [literal_column(f"'{status}'") for status in FINISHED]
    found = union_all(
        select(*(columns[name] for name in names)).where(*_is_since(columns), columns.status.in_(ended)),
        select(*(live[name] for name in names)).where(live.at >= _since(), live.status.in_(ended)),
    ).subquery("found")
    seconds = seconds_between(_since(), found.c.at)
    part = cast(func.floor(seconds / bindparam("part_seconds", type_=Float)), Integer).label("part")
    kept = [found.c[name] for name in names[1:-1]]
    summed = (
        select(part, *kept, cast(func.sum(found.c.ends), BigKey).label("ends")).group_by(part, *kept).subquery("summed")
    )
    names_of = [summed.c[each.name] for each in kept]
    # Of one group both are put together in the same order.
    texts = (
        func.aggregate_strings(cast(summed.c[name], Text), ",").label(f"{name}_listed") for name in ("part", "ends")
    )
    return select(*names_of, *texts).group_by(*names_of)


def _since() -> ColumnElement[Any]:
    return bindparam("since", type_=UtcTime())


def _is_since(columns: Any) -> list[ColumnElement[bool]]:
    # The index begins with the span.
    return [columns.span.in_([literal_column("'hour'"), literal_column("'day'")]), columns.at >= _since()]
