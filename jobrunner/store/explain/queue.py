"""Where a due run stands in its queue: the limit over all hosts that holds it up, and how many runs are in front."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from jobrunner.rates import parse_rate
from jobrunner.store.connection import Connection
from jobrunner.store.explain.explanation import Forecast
from jobrunner.store.statement import Prepared, Question, Row
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
    of_type = {"of_type": run.job_type}
    in_front = _in_front_of_type(connection, run, found)
    held = connection.execute(Prepared("explain.at_work", (False,)), of_type).scalars()
    if found.max_running is not None and in_front + len(held) >= found.max_running:
        return _full("limit", f"max_running {found.max_running} of its type", held, in_front)
    if found.rate is not None:
        rate = parse_rate("rate", found.rate, found.burst)
        if in_front >= rate.allowed(found.spent_until, found.now):
            return LimitInTheWay("rate", f"the rate {found.rate} of its type{_opens(found.opens_at, found.now)}")
    if found.concurrency_key is None:
        return None
    of_gate = {**of_type, "gate": gate}
    before = _in_front_of_gate(connection, run, gate, found.concurrency_key)
    held = connection.execute(Prepared("explain.at_work", (True,)), of_gate).scalars()
    if found.max_running_per_key is not None and before + len(held) >= found.max_running_per_key:
        text = f"max_running_per_key {found.max_running_per_key} of {found.concurrency_key} {gate}"
        return _full("key_limit", text, held, before)
    if found.rate_per_key is not None:
        state = connection.execute(Prepared("explain.gate"), of_gate).first()
        rate = parse_rate("rate_per_key", found.rate_per_key, found.burst_per_key)
        if before >= rate.allowed(None if state is None else state.spent_until, found.now):
            opens = "" if state is None else _opens(state.opens_at, found.now)
            return LimitInTheWay("key_rate", f"the rate {found.rate_per_key} of {found.concurrency_key} {gate}{opens}")
    return None


def _limits(connection: Connection, run: Row) -> Row | None:
    return connection.execute(Prepared("explain.limits"), {"of_type": run.job_type}).first()


def _full(reason: str, limit: str, held: list[int], in_front: int) -> LimitInTheWay:
    by = f"run {', '.join(map(str, held[:5]))}" if held else ""
    behind = f"{in_front} due runs in front of it" if in_front else ""
    said = " and ".join(each for each in (by, behind) if each)
    remedy = f"jobrunner explain {held[0]}" if held else "jobrunner tick"
    return LimitInTheWay(reason, f"the limit {limit}, which is used by {said}", remedy, {"running": held[:_HELD_IDS]})


def _opens(opens_at: Any, at: Any) -> str:
    return f", which allows the next run at {iso_instant(opens_at)}" if opens_at is not None and opens_at > at else ""


def _gate_of(connection: Connection, run_id: int, names: str | None) -> str:
    """The gate behind which the next claim puts a run."""
    if names is None:
        return "all"
    parts = _parts(names)
    found = connection.execute(Prepared("explain.gate_of", (len(parts),)), {**parts, "run": run_id})
    gate: str = found.scalar_one()
    return gate


def _parts(names: str) -> dict[str, str]:
    return {f"name_{number}": name for number, name in enumerate(names.split(","))}


def _its_turn(run: Row) -> dict[str, Any]:
    its = {f"its_{name}": getattr(run, name) for name in ("turn_at", "run_at", "id")}
    return {"of_type": run.job_type, **its, "most": MOST_IN_FRONT + 1}


def _in_front_of_type(connection: Connection, run: Row, limits: Row | None) -> int:
    """The runs of the type that a claim takes before this one: claimable, or behind a gate if the type has limits."""
    turn = _its_turn(run)
    count: int = connection.execute(Prepared("explain.due_in_front"), turn).scalar_one()
    if limits is None:
        return count
    gated = Prepared("explain.all_in_front") if limits.concurrency_key is None else Prepared("explain.gated_in_front")
    behind: int = connection.execute(gated, turn).scalar_one()
    return count + behind


def _in_front_of_gate(connection: Connection, run: Row, gate: str, names: str) -> int:
    """The runs of the same key that a claim takes before this one: behind its gate, or not put there yet."""
    turn, parts = {**_its_turn(run), "gate": gate}, _parts(names)
    behind: int = connection.execute(Prepared("explain.behind_gate_in_front"), turn).scalar_one()
    first: int = connection.execute(
        Prepared("explain.same_key_in_front", (len(parts),)), {**turn, **parts}
    ).scalar_one()
    return behind + first


def questions(run: Row) -> list[Question]:
    """What may be asked about a due run, for a page that asks it together."""
    of_type, turn = {"of_type": run.job_type}, _its_turn(run)
    of_turn = ("explain.due_in_front", "explain.all_in_front", "explain.gated_in_front")
    return [
        (Prepared("explain.limits"), of_type),
        (Prepared("explain.at_work", (False,)), of_type),
        _speed(run),
        *((Prepared(name), turn) for name in of_turn),
    ]


def _speed(run: Row) -> Question:
    return Prepared("explain.speed"), {"of_type": run.job_type, "since": -2 * _SPEED_OF.total_seconds()}


def forecast(connection: Connection, run: Row) -> Forecast:
    """How many due runs of the type are in front of a run, and how long they take by the speed of the last hours."""
    counted = _in_front_of_type(connection, run, _limits(connection, run))
    in_front = min(counted, MOST_IN_FRONT)
    ended = connection.execute(*_speed(run)).one()
    if not ended.ends:
        return Forecast(in_front, counted > MOST_IN_FRONT, None, None)
    per_second = float(ended.ends) / max(1.0, (ended.now - ended.first).total_seconds())
    return Forecast(in_front, counted > MOST_IN_FRONT, per_second, in_front / per_second)
