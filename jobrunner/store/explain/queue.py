"""Where a due run stands in its queue: the limit over all hosts that holds it up, and how many runs are in front."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Float, Text, and_, bindparam, func, literal, literal_column, select, tuple_

from jobrunner.durations import format_duration
from jobrunner.rates import Rate, parse_rate
from jobrunner.store.connection import Connection
from jobrunner.store.dialect.values import key_of, later, now
from jobrunner.store.explain.explanation import Forecast, ago
from jobrunner.store.schema import job_gates, job_limits, job_runs, job_tallies
from jobrunner.store.statement import Row
from jobrunner.store.statements.limits import is_at_work
from jobrunner.store.views import job_claimable, job_gated

MOST_IN_FRONT = 10_000
_HELD_IDS, _NAMED_IDS = 20, 5
_SPEED_OF = timedelta(hours=1)
_SHORTEST_LOOK = timedelta(minutes=1)


@dataclass(frozen=True)
class LimitInTheWay:
    """A limit over all hosts that keeps a run from being claimed now."""

    reason: str
    sentence: str
    remedy: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)


def limit_in_the_way(connection: Connection, run: Row) -> LimitInTheWay | None:
    """The limit that a due run waits for, also if the runs in front of it are those that will use it up."""
    found = _limits(connection, run)
    if found is None:
        return None
    at_work = and_(job_runs.c.job_type == run.job_type, is_at_work())
    in_front = _in_front_of_type(connection, run, found)
    if found.max_running is not None:
        held = _ids(connection, at_work)
        if in_front + len(held) >= found.max_running:
            return _full("limit", f"the limit max_running {found.max_running} of its type", held, in_front)
    if found.rate is not None:
        rate = parse_rate("rate", found.rate, found.burst)
        if in_front >= rate.allowed(found.spent_until, found.now):
            spent = _Spent(rate, found.spent_until, found.now, in_front, run.job_type)
            return _too_fast("rate", f"the rate {rate.text} of its type", spent)
    return None if found.concurrency_key is None else _limit_of_key(connection, run, found, at_work)


def _limit_of_key(connection: Connection, run: Row, limits: Row, at_work: ColumnElement[bool]) -> LimitInTheWay | None:
    names = limits.concurrency_key
    gate = run.gate or _gate_of(connection, run.id, names)
    of_key = f"{names} {gate}"
    before = _in_front_of_gate(connection, run, gate, names)
    if limits.max_running_per_key is not None:
        held = _ids(connection, and_(at_work, job_runs.c.gate == gate))
        if before + len(held) >= limits.max_running_per_key:
            text = f"the limit max_running_per_key {limits.max_running_per_key} of {of_key}"
            return _full("key_limit", text, held, before, gate=gate)
    if limits.rate_per_key is not None:
        gates = job_gates.c
        state = select(gates.spent_until).where(gates.job_type == run.job_type, gates.gate == gate)
        spent_until = connection.execute(state).scalar_one_or_none()
        rate = parse_rate("rate_per_key", limits.rate_per_key, limits.burst_per_key)
        if before >= rate.allowed(spent_until, limits.now):
            spent = _Spent(rate, spent_until, limits.now, before, run.job_type)
            return _too_fast("key_rate", f"the rate {rate.text} of {of_key}", spent, gate=gate)
    return None


def _limits(connection: Connection, run: Row) -> Row | None:
    found = select(job_limits, now().label("now")).where(job_limits.c.job_type == run.job_type)
    return connection.execute(found).first()


def _full(reason: str, limit: str, held: list[int], in_front: int, **facts: Any) -> LimitInTheWay:
    more = f" and {len(held) - _NAMED_IDS} more" if len(held) > _NAMED_IDS else ""
    by = f"run {', '.join(map(str, held[:_NAMED_IDS]))}{more}" if held else ""
    said = " and ".join(each for each in (by, _behind(in_front)) if each)
    remedy = f"jobrunner explain {held[0]}" if held else "jobrunner tick"
    return LimitInTheWay(reason, f"{limit}, which is used by {said}", remedy, {"running": held[:_HELD_IDS], **facts})


@dataclass(frozen=True)
class _Spent:
    """The state of a rate, and how many runs of the type it allows before the one that is asked about."""

    rate: Rate
    until: datetime | None
    at: datetime
    in_front: int
    job_type: str


def _too_fast(reason: str, limit: str, spent: _Spent, **facts: Any) -> LimitInTheWay:
    """The remedy lists the runs that have used the rate up."""
    rate, at = spent.rate, spent.at
    until = max(rate.bounded(spent.until, at) or at, at)
    allowed_at = until + (spent.in_front + 1 - rate.burst) * rate.interval
    after = f" after {_behind(spent.in_front)}" if spent.in_front else ""
    sentence = f"{limit}, which allows it in {ago((allowed_at - at).total_seconds())}{after}"
    since = format_duration(max(rate.longest, _SHORTEST_LOOK))
    remedy = f"jobrunner runs --type {shlex.quote(spent.job_type)} --since {since}"
    return LimitInTheWay(reason, sentence, remedy, {"allowed_at": allowed_at, "in_front": spent.in_front, **facts})


def _behind(in_front: int) -> str:
    return f"{in_front} due run{'s' * (in_front != 1)} in front of it" if in_front else ""


def _ids(connection: Connection, wanted: ColumnElement[bool]) -> list[int]:
    return connection.execute(select(job_runs.c.id).where(wanted).order_by(job_runs.c.id)).scalars()


def _gate_of(connection: Connection, run_id: int, names: str | None) -> str:
    """The gate behind which the next claim puts a run."""
    if names is None:
        return "all"
    gate: str = connection.execute(
        select(key_of(job_runs.c.payload, *_names(names))).where(job_runs.c.id == run_id)
    ).scalar_one()
    return gate


def _names(names: str) -> list[ColumnElement[str]]:
    return [literal(name, Text()) for name in names.split(",")]


def _earlier(columns: Any, run: Row) -> ColumnElement[bool]:
    turn = tuple_(columns.turn_at, columns.run_at, columns.id)
    values = (("turn_at", run.turn_at), ("run_at", run.run_at), ("id", run.id))
    bound = tuple_(*(bindparam(f"its_{name}", value, type_=job_runs.c[name].type) for name, value in values))
    earlier: ColumnElement[bool] = turn < bound
    return earlier


def _count(connection: Connection, found: Any, most: int = MOST_IN_FRONT) -> int:
    count: int = connection.execute(select(func.count()).select_from(found.limit(most + 1).subquery())).scalar_one()
    return count


def _in_front_of_type(connection: Connection, run: Row, limits: Row | None) -> int:
    """The runs of the type that a claim takes before this one: claimable, or behind a gate if the type has limits."""
    due, gated = job_claimable.c, job_gated.c
    count = _count(connection, select(due.id).where(due.job_type == run.job_type, _earlier(due, run)))
    if limits is None:
        return count
    of_type = gated.job_type == run.job_type
    if limits.concurrency_key is None:
        behind = select(gated.id).where(of_type, gated.gate == literal_column("'all'"), _earlier(gated, run))
    else:
        # In no order: behind many gates the first runs are not found quickly, so that only some are looked at.
        some = select(gated.id, gated.turn_at, gated.run_at).where(of_type, gated.gate > literal_column("''"))
        known = some.where(gated.gate != literal_column("'after'")).limit(MOST_IN_FRONT).subquery()
        behind = select(known.c.id).where(_earlier(known.c, run))
    return count + _count(connection, behind)


def _in_front_of_gate(connection: Connection, run: Row, gate: str, names: str) -> int:
    """The runs of the same key that a claim takes before this one: behind its gate, or not put there yet."""
    gated, due = job_gated.c, job_claimable.c
    behind = select(gated.id).where(gated.job_type == run.job_type, gated.gate == gate, _earlier(gated, run))
    first = select(due.id).where(due.job_type == run.job_type, _earlier(due, run)).limit(MOST_IN_FRONT).subquery()
    same_key = key_of(job_runs.c.payload, *_names(names)) == gate
    return _count(connection, behind) + _count(
        connection, select(job_runs.c.id).join(first, first.c.id == job_runs.c.id).where(same_key)
    )


def forecast(connection: Connection, run: Row) -> Forecast:
    """How many due runs of the type are in front of a run, and how long they take by the speed of the last hours."""
    counted = _in_front_of_type(connection, run, _limits(connection, run))
    in_front, columns = min(counted, MOST_IN_FRONT), job_tallies.c
    since = later(bindparam("since", -2 * _SPEED_OF.total_seconds(), type_=Float))
    ended = connection.execute(
        select(func.sum(columns.ends).label("ends"), func.min(columns.at).label("first"), now().label("now")).where(
            columns.span == literal_column("'hour'"),
            columns.at > since,
            columns.job_type == run.job_type,
            columns.outcome != literal_column("''"),
        )
    ).one()
    if not ended.ends:
        return Forecast(in_front, counted > MOST_IN_FRONT, None, None)
    per_second = float(ended.ends) / max(1.0, (ended.now - ended.first).total_seconds())
    return Forecast(in_front, counted > MOST_IN_FRONT, per_second, in_front / per_second)
