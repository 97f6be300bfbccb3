"""What happened in a time, in order: slots, attempts, what people and ticks did, and ticks that did not end.

Every part is read by an index, from the begin of the time, and no more of it than is shown. Expects a read transaction.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import chain
from typing import Any

from sqlalchemy import Select, and_, bindparam, func, literal, not_, or_, select

from jobrunner.lifecycle import Status
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions import definitions
from jobrunner.store.schema import job_attempts, job_definitions, job_events, job_runs, job_ticks
from jobrunner.store.schema.runs import IS_SLOT
from jobrunner.store.sql.dialect.values import BigKey, now

_LARGEST_ID = 2**63 - 1
_MOST_READ = 5000
"""Rows of each part that are read for one page. Many attempts may become one line."""
_OUT_OF_ORDER = timedelta(minutes=10)
"""Attempts have ids in the order of their ends, but for transactions that commit at the same time."""
_IDS_OUT_OF_ORDER = 5000


@dataclass(frozen=True)
class Entry:
    """One thing that happened. ``kind`` is slot, attempt, event or tick, and ``what`` says what became of it.

    ``count`` attempts of a type that succeeded within the same minute, without a schedule, are one entry from ``at`` to
    ``until``; it has no ``run_id``. ``who`` is a host, a worker or an operator. ``seconds`` is how long an attempt ran.
    """

    at: datetime
    kind: str
    what: str
    who: str | None = None
    run_id: int | None = None
    job_type: str | None = None
    schedule: str | None = None
    attempt: int | None = None
    seconds: float | None = None
    error: str | None = None
    detail: Any = None
    count: int = 1
    until: datetime | None = None


@dataclass(frozen=True)
class History:
    """The entries from ``since`` to ``until``, the earliest first; those from ``next_since`` on had no room."""

    since: datetime
    until: datetime
    next_since: datetime | None
    entries: list[Entry]


@dataclass(frozen=True)
class Asked:
    """What is asked for. A timedelta is so long before the database's now; ``until`` None is now.

    ``killed_after``: a tick that has not ended after this time, and holds no live lease, was killed.
    """

    since: datetime | timedelta
    until: datetime | timedelta | None = None
    job_types: tuple[str, ...] = ()
    schedule: str | None = None
    limit: int = 200
    killed_after: timedelta = timedelta(minutes=5)


@dataclass(frozen=True)
class _Span:
    since: datetime
    until: datetime
    now: datetime
    job_types: tuple[str, ...]
    definition: int | None
    killed_after: timedelta

    @property
    def is_of_all(self) -> bool:
        return not self.job_types and self.definition is None


def history(connection: Connection, asked: Asked) -> History:
    """What happened. Raises NotFoundError for an unknown schedule."""
    at = connection.execute(select(now())).scalar_one()
    since = asked.since if isinstance(asked.since, datetime) else at - asked.since
    until = asked.until if isinstance(asked.until, datetime) else at - (asked.until or timedelta())
    span = _Span(since, until, at, asked.job_types, _definition(connection, asked.schedule), asked.killed_after)
    parts = [sorted(part(connection, span), key=_at) for part in (_slots, _attempts, _at_work, _events, _ticks)]
    found = sorted(chain(*parts), key=_at)
    ends = [part[_MOST_READ].at for part in parts if len(part) > _MOST_READ]
    next_since = min([*ends, *_where_full(found, asked.limit)], default=None)
    if next_since is not None:
        # What happened at one instant is not parted, unless it is more than is read.
        shown = [each for each in found if each.at < next_since]
        if not shown:
            shown = [each for each in found if each.at == next_since]
            next_since += timedelta(microseconds=1)
        found = shown
    return History(since, until, next_since, _lines(found))


def _at(entry: Entry) -> datetime:
    return entry.at


def _definition(connection: Connection, name: str | None) -> int | None:
    if name is None:
        return None
    named = select(job_definitions.c.id).where(job_definitions.c.name == name)
    found: int | None = connection.execute(named).scalar_one_or_none()
    if found is None:
        raise definitions.missing(connection, name)
    return found


def _where_full(found: list[Entry], limit: int) -> list[datetime]:
    """The instant of the first entry that needs one more line than there is room for, if there is one."""
    lines = set[Any]()
    for number, each in enumerate(found):
        lines.add(_together(each) or number)
        if len(lines) > limit:
            return [each.at]
    return []


def _lines(found: list[Entry]) -> list[Entry]:
    groups: dict[Any, list[Entry]] = {}
    for number, each in enumerate(found):
        groups.setdefault(_together(each) or number, []).append(each)
    return [_collapsed(entries) for entries in groups.values()]


def _together(entry: Entry) -> tuple[Any, ...] | None:
    """What successes are told together. None: this entry stands alone."""
    if entry.kind != "attempt" or entry.what != Status.SUCCEEDED or entry.schedule is not None or entry.attempt != 1:
        return None
    return entry.job_type, entry.at.replace(second=0, microsecond=0)


def _collapsed(entries: list[Entry]) -> Entry:
    first = entries[0]
    if len(entries) == 1:
        return first
    slowest = max((each.seconds for each in entries if each.seconds is not None), default=None)
    return replace(
        first, who=None, run_id=None, attempt=None, seconds=slowest, count=len(entries), until=entries[-1].at
    )


def _slots(connection: Connection, span: _Span) -> Iterator[Entry]:
    """The slots that got a run: of each schedule its own range of the index of slots."""
    columns, runs = job_definitions.c, job_runs.c
    schedules = select(columns.id, columns.name).where(
        columns.schedule.is_not(None), columns.last_slot_at >= span.since
    )
    if span.definition is not None:
        schedules = schedules.where(columns.id == span.definition)
    of_one = (
        select(runs.id, runs.scheduled_for, runs.job_type, runs.status)
        .where(IS_SLOT, runs.definition_id == bindparam("definition", type_=BigKey))
        .where(runs.scheduled_for.between(span.since, span.until), *_of_type(span))
        .order_by(runs.scheduled_for)
        .limit(_MOST_READ + 1)
    )
    for schedule in connection.execute(schedules).all():
        for row in connection.execute(of_one, {"definition": schedule.id}):
            yield Entry(
                row.scheduled_for, "slot", "slot", run_id=row.id, job_type=row.job_type, schedule=schedule.name,
                detail={"run": row.status},
            )  # fmt: skip


def _of_type(span: _Span) -> list[Any]:
    conditions: list[Any] = []
    if span.job_types:
        conditions.append(job_runs.c.job_type.in_(span.job_types))
    if span.definition is not None:
        conditions.append(job_runs.c.definition_id == span.definition)
    return conditions


def _attempts(connection: Connection, span: _Span) -> Iterator[Entry]:
    low = _first_id_since(connection, span.since - _OUT_OF_ORDER)
    values = {"after": low - 1, "to": _LARGEST_ID, "end": span.until}
    rows = list(connection.execute(_attempts_between(span).limit(_MOST_READ + 1), values))
    if len(rows) > _MOST_READ:
        last = rows[-1].id
        values = {"after": last, "to": last + _IDS_OUT_OF_ORDER, "end": rows[-1].finished_at}
        rows += connection.execute(_attempts_between(span), values)
    for row in rows:
        error = None if row.error is None else f"{row.error_type}: {row.error}"
        yield Entry(
            row.finished_at, "attempt", row.outcome, row.host, row.run_id, row.job_type, row.name, row.sequence,
            max(0.0, (row.finished_at - row.started_at).total_seconds()), error,
        )  # fmt: skip


def _attempts_between(span: _Span) -> Select[Any]:
    columns = job_attempts.c
    names = ("id", "run_id", "sequence", "host", "started_at", "finished_at", "outcome", "error_type", "error")
    joined = job_attempts.join(job_runs, job_runs.c.id == columns.run_id).outerjoin(job_definitions)
    return (
        select(*(columns[name] for name in names), job_runs.c.job_type, job_definitions.c.name)
        .select_from(joined)
        .where(columns.id > bindparam("after", type_=BigKey), columns.id <= bindparam("to", type_=BigKey))
        .where(
            columns.finished_at >= span.since, columns.finished_at <= bindparam("end", type_=columns.finished_at.type)
        )
        .where(*_of_type(span))
        .order_by(columns.id)
    )


def _first_id_since(connection: Connection, since: datetime) -> int:
    """The id of the first attempt that ended since then, found by halving: ids are in the order of the ends."""
    columns = job_attempts.c
    probe = select(columns.id, columns.finished_at).where(columns.id >= bindparam("low", type_=BigKey))
    probe = probe.order_by(columns.id).limit(1)
    # Two queries: SQLite would read all rows for one that asks for both.
    ends = (select(of_all(columns.id)).scalar_subquery() for of_all in (func.min, func.max))
    low, high = connection.execute(select(*ends)).one()
    if low is None:
        return 0
    high += 1
    while low < high:
        middle = (low + high) // 2
        row = connection.execute(probe, {"low": middle}).one()
        if row.finished_at >= since:
            high = middle
        else:
            low = row.id + 1
    return int(low)


def _at_work(connection: Connection, span: _Span) -> Iterator[Entry]:
    columns = job_runs.c
    statement = (
        select(columns.id, columns.host, columns.job_type, columns.started_at, job_definitions.c.name)
        .select_from(job_runs.outerjoin(job_definitions))
        .where(columns.status == Status.RUNNING.value, columns.started_at.between(span.since, span.until))
        .where(*_of_type(span))
        .order_by(columns.started_at)
        .limit(_MOST_READ + 1)
    )
    for row in connection.execute(statement):
        yield Entry(row.started_at, "attempt", "running", row.host, row.id, row.job_type, row.name)


def _events(connection: Connection, span: _Span) -> Iterator[Entry]:
    columns, own = job_events.c, job_definitions.alias("own")
    joined = job_events.outerjoin(job_runs, job_runs.c.id == columns.run_id)
    joined = joined.outerjoin(job_definitions, job_definitions.c.id == columns.definition_id)
    joined = joined.outerjoin(own, own.c.id == job_runs.c.definition_id)
    job_type = func.coalesce(job_runs.c.job_type, job_definitions.c.job_type)
    statement = (
        select(columns.at, columns.actor, columns.action, columns.run_id, columns.detail, job_type.label("job_type"))
        .add_columns(func.coalesce(job_definitions.c.name, own.c.name).label("schedule"))
        .select_from(joined)
        .where(columns.at.between(span.since, span.until))
        .order_by(columns.at, columns.id)
        .limit(_MOST_READ + 1)
    )
    if span.job_types:
        statement = statement.where(job_type.in_(span.job_types))
    if span.definition is not None:
        statement = statement.where(func.coalesce(columns.definition_id, job_runs.c.definition_id) == span.definition)
    for row in connection.execute(statement):
        yield Entry(row.at, "event", row.action, row.actor, row.run_id, row.job_type, row.schedule, detail=row.detail)


def _ticks(connection: Connection, span: _Span) -> Iterator[Entry]:
    if not span.is_of_all:
        return
    columns, runs = job_ticks.c, job_runs.c
    its_run = and_(runs.status == Status.RUNNING.value, runs.host == columns.host, runs.locked_by == columns.worker)
    is_alive = select(literal(1)).where(its_run, runs.locked_until > now()).correlate(job_ticks).exists()
    was_killed = and_(columns.finished_at.is_(None), columns.started_at < span.now - span.killed_after, not_(is_alive))
    statement = (
        select(columns.started_at, columns.worker, columns.error)
        .where(columns.started_at.between(span.since, span.until), or_(columns.error.is_not(None), was_killed))
        .order_by(columns.started_at)
        .limit(_MOST_READ + 1)
    )
    for row in connection.execute(statement):
        what = "tick killed" if row.error is None else "tick failed"
        yield Entry(row.started_at, "tick", what, row.worker, error=row.error)
