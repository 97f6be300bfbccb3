"""Where a due run stands in its queue: the limit over all hosts that holds it up, and how many runs are in front."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, Float, Text, and_, bindparam, func, literal, literal_column, select, tuple_

from jobrunner.rates import parse_rate
from jobrunner.store.connection import Connection
from jobrunner.store.dialect.values import key_of, later, now
from jobrunner.store.explain.explanation import Forecast
from jobrunner.store.schema import job_gates, job_limits, job_runs, job_tallies
from jobrunner.store.statement import Row
from jobrunner.store.statements.limits import is_at_work
from jobrunner.store.views import job_claimable, job_gated
from jobrunner.text import iso_instant

MOST_IN_FRONT = 10_000
_HELD_IDS = 20
_SPEED_OF = timedelta(hours=1)


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
    gate = run.gate or _gate_of(connection, run.id, found.concurrency_key)
    at_work = and_(job_runs.c.job_type == run.job_type, is_at_work())
    in_front = _in_front_of_type(connection, run, found)
    held = _ids(connection, at_work)
    if found.max_running is not None and in_front + len(held) >= found.max_running:
        return _full("limit", f"max_running {found.max_running} of its type", held, in_front)
    if found.rate is not None:
        rate = parse_rate("rate", found.rate, found.burst)
        if in_front >= rate.allowed(found.spent_until, found.now):
            return LimitInTheWay("rate", f"the rate {found.rate} of its type{_opens(found.opens_at, found.now)}")
    if found.concurrency_key is None:
        return None
    of_gate = job_runs.c.gate == gate
    before = _in_front_of_gate(connection, run, gate, found.concurrency_key)
    held = _ids(connection, and_(at_work, of_gate))
    if found.max_running_per_key is not None and before + len(held) >= found.max_running_per_key:
        text = f"max_running_per_key {found.max_running_per_key} of {found.concurrency_key} {gate}"
        return _full("key_limit", text, held, before)
    if found.rate_per_key is not None:
        gates = job_gates.c
        state = connection.execute(
            select(gates.spent_until, gates.opens_at).where(gates.job_type == run.job_type, gates.gate == gate)
        ).first()
        rate = parse_rate("rate_per_key", found.rate_per_key, found.burst_per_key)
        if before >= rate.allowed(None if state is None else state.spent_until, found.now):
            opens = "" if state is None else _opens(state.opens_at, found.now)
            return LimitInTheWay("key_rate", f"the rate {found.rate_per_key} of {found.concurrency_key} {gate}{opens}")
    return None


def _limits(connection: Connection, run: Row) -> Row | None:
    found = select(job_limits, now().label("now")).where(job_limits.c.job_type == run.job_type)
    return connection.execute(found).first()


def _full(reason: str, limit: str, held: list[int], in_front: int) -> LimitInTheWay:
    by = f"run {', '.join(map(str, held[:5]))}" if held else ""
    behind = f"{in_front} due runs in front of it" if in_front else ""
    said = " and ".join(each for each in (by, behind) if each)
    remedy = f"jobrunner explain {held[0]}" if held else "jobrunner tick"
    return LimitInTheWay(reason, f"the limit {limit}, which is used by {said}", remedy, {"running": held[:_HELD_IDS]})


def _opens(opens_at: Any, at: Any) -> str:
    return f", which allows the next run at {iso_instant(opens_at)}" if opens_at is not None and opens_at > at else ""


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
