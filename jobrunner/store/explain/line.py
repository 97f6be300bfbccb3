"""What is in front of a due run, and who uses up the limits of its type: at most three statements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Float, Select, Text, and_, bindparam, cast, func, literal, literal_column, select
from sqlalchemy import tuple_ as row_of

from jobrunner.store.connection import Connection
from jobrunner.store.dialect.values import BigKey, key_of, later, now
from jobrunner.store.joined import Joined
from jobrunner.store.schema import job_gates, job_limits, job_runs, job_tallies
from jobrunner.store.statement import Row
from jobrunner.store.statements.limits import is_at_work
from jobrunner.store.views import job_claimable, job_gated

MOST_IN_FRONT = 10_000
_SPEED_OF = timedelta(hours=1)
_OF_TYPE = bindparam("of_type", type_=job_runs.c.job_type.type)
_GATE = bindparam("of_gate", type_=job_runs.c.gate.type)


@dataclass(frozen=True)
class Line:
    """A due run in its queue. ``limits`` None: its type has none over all hosts, and what follows is about nothing.

    ``in_front`` are the runs of its type that a claim takes before it, and ``before`` those of its key; ``held`` and
    ``held_of_key`` are the ids of those at work. ``ended`` is how many of its type ended lately.
    """

    limits: Mapping[str, Any] | None
    ended: Mapping[str, Any]
    gate: str
    in_front: int
    held: list[int]
    before: int
    held_of_key: list[int]
    gate_state: Mapping[str, Any] | None


def look(connection: Connection, run: Row) -> Line:
    """The line as it is now. Expects a read transaction."""
    known = _known().ask(connection, {"of_type": run.job_type, "since": -2 * _SPEED_OF.total_seconds()})
    limits = known["limits"][0] if known["limits"] else None
    names = None if limits is None else limits["concurrency_key"]
    gate = run.gate or ("all" if names is None else _gate_of(connection, run.id, names))
    values = {"of_type": run.job_type, "of_gate": gate, "its_run_at": run.run_at, "its_turn_at": run.turn_at}
    found = _line(limits is not None, names).ask(connection, {**values, "its_id": run.id})

    def count(*parts: str) -> int:
        return sum(row["count"] for part in parts for row in found.get(part, ()))

    def ids(part: str) -> list[int]:
        return [row["id"] for row in found.get(part, ())]

    state = found.get("gate_state")
    return Line(
        limits=limits,
        ended=known["ended"][0],
        gate=gate,
        in_front=count("due", "gated"),
        held=ids("held"),
        before=count("behind", "same_key"),
        held_of_key=ids("held_of_key"),
        gate_state=state[0] if state else None,
    )


@cache
def _known() -> Joined:
    columns = job_tallies.c
    ends = cast(func.sum(columns.ends), BigKey).label("ends")
    ended = select(ends, func.min(columns.at).label("first"), now().label("now")).where(
        columns.span == literal_column("'hour'"),
        columns.at > later(bindparam("since", type_=Float)),
        columns.job_type == _OF_TYPE,
        columns.outcome != literal_column("''"),
    )
    limits = select(job_limits, now().label("now")).where(job_limits.c.job_type == _OF_TYPE)
    return Joined(limits=limits, ended=ended)


def _gate_of(connection: Connection, run_id: int, names: str) -> str:
    """The gate behind which the next claim puts a run."""
    found = select(key_of(job_runs.c.payload, *_names(names))).where(job_runs.c.id == run_id)
    gate: str = connection.execute(found).scalar_one()
    return gate


@cache
def _line(is_limited: bool, names: str | None) -> Joined:
    """``is_limited``: its type has limits over all hosts; ``names``: and keys, which have these names in payloads."""
    due, gated, gates = job_claimable.c, job_gated.c, job_gates.c
    earlier = select(due.id).where(due.job_type == _OF_TYPE, _is_earlier(due))
    parts: dict[str, Select[Any]] = {"due": _count(earlier)}
    if is_limited:
        at_work = and_(job_runs.c.job_type == _OF_TYPE, is_at_work())
        parts |= {"gated": _count(_gated(names is not None)), "held": _ids(at_work)}
        if names is not None:
            behind = select(gated.id).where(gated.job_type == _OF_TYPE, gated.gate == _GATE, _is_earlier(gated))
            first = earlier.limit(MOST_IN_FRONT).subquery("first")
            has_key = key_of(job_runs.c.payload, *_names(names)) == _GATE
            state = select(gates.spent_until, gates.opens_at).where(gates.job_type == _OF_TYPE, gates.gate == _GATE)
            parts |= {
                "behind": _count(behind),
                "same_key": _count(select(job_runs.c.id).join(first, first.c.id == job_runs.c.id).where(has_key)),
                "held_of_key": _ids(and_(at_work, job_runs.c.gate == _GATE)),
                "gate_state": state,
            }
    return Joined(**parts)


def _gated(has_keys: bool) -> Select[Any]:
    """The runs of a limited type that are behind its gates, and in front."""
    gated = job_gated.c
    of_type = gated.job_type == _OF_TYPE
    if not has_keys:
        return select(gated.id).where(of_type, gated.gate == literal_column("'all'"), _is_earlier(gated))
    # In no order: behind many gates the first runs are not found quickly, so that only some are looked at.
    some = select(gated.id, gated.turn_at, gated.run_at).where(of_type, gated.gate > literal_column("''"))
    known = some.where(gated.gate != literal_column("'after'")).limit(MOST_IN_FRONT).subquery("known").c
    return select(known.id).where(_is_earlier(known))


def _names(names: str) -> list[ColumnElement[str]]:
    return [literal(name, Text()) for name in names.split(",")]


def _is_earlier(columns: Any) -> ColumnElement[bool]:
    names = ("turn_at", "run_at", "id")
    own = row_of(*(bindparam(f"its_{name}", type_=job_runs.c[name].type) for name in names))
    earlier: ColumnElement[bool] = row_of(columns.turn_at, columns.run_at, columns.id) < own
    return earlier


def _count(found: Select[Any]) -> Select[Any]:
    return select(func.count().label("count")).select_from(found.limit(MOST_IN_FRONT + 1).subquery())


def _ids(wanted: ColumnElement[bool]) -> Select[Any]:
    return select(job_runs.c.id).where(wanted).order_by(job_runs.c.id)
