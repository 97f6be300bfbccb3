"""Where a due run stands in its queue: the limit over all hosts that holds it up, and how many runs are in front."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from jobrunner.durations import format_duration
from jobrunner.rates import Rate, parse_rate
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions.explain.explanation import Forecast, ago, forecast_of, let_end
from jobrunner.store.sql.statement import Prepared, Question, Row
from jobrunner.text import iso_instant

MOST_IN_FRONT = 10_000
_HELD_IDS, _NAMED_IDS = 20, 5
_MOST_KEYS, _MOST_OF_KEY = 300, 100
"""At the runs of so many other keys it looks, and of each at no more than so many."""
_SPEED_OF = timedelta(hours=1)
_SHORTEST_LOOK = timedelta(minutes=1)


@dataclass(frozen=True)
class LimitInTheWay:
    """A limit over all hosts that keeps a run from being claimed now."""

    reason: str
    sentence: str
    remedy: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)


class Place(NamedTuple):
    """The limits of the type of a run, if it has any, and how many runs of the type a claim takes before it.

    ``names`` are those of the type: what is at work under any of them counts. ``keys``: for a fair type, how many other
    keys wait. ``of_key`` is how many of these runs have the key of this one.
    """

    limits: Row | None
    in_front: int
    names: Sequence[str]
    keys: int | None = None
    of_key: int = 0


def place_of(connection: Connection, run: Row, names: Sequence[str] = ()) -> Place:
    """Where a due run stands among those of its type. ``names`` are all names of the type; without: that of the run."""
    limits = connection.execute(Prepared("explain.limits"), {"of_type": run.job_type}).first()
    names = names or [run.job_type]
    if limits is None or limits.fair_by is None:
        return Place(limits, _in_front_of_type(connection, run, limits), names)
    gate = run.gate or _gate_of(connection, run.id, limits.concurrency_key)
    of_key = _in_front_of_gate(connection, run, gate, limits.concurrency_key)
    others = connection.execute(*_line(run, gate, of_key)).all()
    # Each round takes one of each key.
    in_front = of_key + sum(min(row.waiting, of_key + bool(row.is_before)) for row in others)
    is_more = len(others) == _MOST_KEYS or of_key > _MOST_OF_KEY
    return Place(limits, max(in_front, MOST_IN_FRONT + 1) if is_more else in_front, names, len(others), of_key)


def _line(run: Row, gate: str, of_key: int) -> Question:
    values = {"of_type": run.job_type, "gate": gate, "share": min(of_key, _MOST_OF_KEY) + 1, "limit": _MOST_KEYS}
    return Prepared("fair.others_in_line"), values


def limit_in_the_way(connection: Connection, run: Row, place: Place) -> LimitInTheWay | None:
    """The limit that a due run waits for, also if the runs in front of it are those that will use it up."""
    found, in_front, names = place.limits, place.in_front, place.names
    if found is None or not _is_of(run.gate, found.concurrency_key):
        return None
    if found.concurrency_key is None:
        return _limit_of_type(connection, run, place, in_front)
    of_key = _limit_of_type(connection, run, place, 0) or _limit_of_key(connection, run, found, names)
    if of_key is not None or (found.max_running is None and found.rate is None):
        return of_key
    is_known = in_front > MOST_IN_FRONT or place.keys is not None
    before = in_front if is_known else _taken_first(connection, run, found)
    return _limit_of_type(connection, run, Place(found, before, names), before)


def in_line(place: Place) -> str:
    """For whom a run of a fair type waits, in words."""
    assert place.limits is not None
    others = f"{place.keys} other value{'s' * (place.keys != 1)} of {place.limits.fair_by}"
    own = f", and {_behind(place.of_key)} with its own value" if place.of_key else ""
    return f"waits for its turn while claims go round with {others}{own}"


def _taken_first(connection: Connection, run: Row, limits: Row) -> int:
    """How many runs claims take before this one. The others in front of it wait for their own key."""
    most, rate = limits.max_running_per_key, None
    if limits.rate_per_key is not None:
        rate = parse_rate("rate_per_key", limits.rate_per_key, limits.burst_per_key)
    rows = connection.execute(*_first(run, limits.concurrency_key)).all()
    return sum(
        (most is None or row.at_work + row.nth <= most)
        and (rate is None or row.nth <= rate.allowed(row.spent_until, limits.now))
        for row in rows
    )


def _limit_of_type(connection: Connection, run: Row, place: Place, before: int) -> LimitInTheWay | None:
    """The limit of the type, if it is used up, or will be by so many runs ``before`` this one."""
    found, in_front, names = place.limits, place.in_front, place.names
    if found is not None and found.max_running is not None:
        held = sorted(each for name in names for each in connection.execute(*_at_work(name, found)).scalars())
        if before + len(held) >= found.max_running:
            limit = _full("limit", f"the limit max_running {found.max_running} of its type", held, in_front)
            return limit if found.set_max_running is None else _set_by(run, found, limit)
    if found is not None and found.rate is not None:
        rate = parse_rate("rate", found.rate, found.burst)
        if before >= rate.allowed(found.spent_until, found.now):
            spent = _Spent(rate, found.spent_until, found.now, in_front, run.job_type)
            limit = _too_fast("rate", f"the rate {rate.text} of its type", spent)
            return limit if found.set_rate is None else _set_by(run, found, limit)
    return None


def _at_work(job_type: str, limits: Row) -> Question:
    asked = Prepared("explain.all_at_work") if limits.is_set else Prepared("explain.at_work", (False,))
    return asked, {"of_type": job_type}


def _set_by(run: Row, found: Row, limit: LimitInTheWay) -> LimitInTheWay:
    """The same limit, with who has set it at run time, why, and until when."""
    until = "" if found.ends_at is None else f", until {iso_instant(found.ends_at)}"
    why = f": {found.reason}" if found.reason else ""
    sentence = (
        f"{limit.sentence}; set {ago((found.now - found.set_at).total_seconds())} ago by {found.actor}{until}{why}"
    )
    facts = {"set_at": found.set_at, "ends_at": found.ends_at, "why": found.reason, **limit.facts}
    return LimitInTheWay("set_limit", sentence, f"jobrunner unlimit {shlex.quote(run.job_type)}", facts)


def _is_of(gate: str, key: str | None) -> bool:
    """Whether a run is behind none or one of the gates of these limits. A tick takes it from behind others."""
    return not gate or (gate == "all" if key is None else gate.startswith(f"{key} "))


def _limit_of_key(connection: Connection, run: Row, limits: Row, names: Sequence[str]) -> LimitInTheWay | None:
    gate = run.gate or _gate_of(connection, run.id, limits.concurrency_key)
    of_gates = [{"of_type": name, "gate": gate} for name in names]
    before = _in_front_of_gate(connection, run, gate, limits.concurrency_key)
    if limits.max_running_per_key is not None:
        asked = Prepared("explain.at_work", (True,))
        held = sorted(each for of_gate in of_gates for each in connection.execute(asked, of_gate).scalars())
        if before + len(held) >= limits.max_running_per_key:
            text = f"the limit max_running_per_key {limits.max_running_per_key} of {gate}"
            return _full("key_limit", text, held, before, gate=gate)
    if limits.rate_per_key is not None:
        spent = [connection.execute(Prepared("explain.gate"), of_gate).scalar_one_or_none() for of_gate in of_gates]
        spent_until = max((each for each in spent if each is not None), default=None)
        rate = parse_rate("rate_per_key", limits.rate_per_key, limits.burst_per_key)
        if before >= rate.allowed(spent_until, limits.now):
            state = _Spent(rate, spent_until, limits.now, before, run.job_type)
            return _too_fast("key_rate", f"the rate {rate.text} of {gate}", state, gate=gate)
    return None


def _full(reason: str, limit: str, held: list[int], in_front: int, **facts: Any) -> LimitInTheWay:
    more = f" and {len(held) - _NAMED_IDS} more" if len(held) > _NAMED_IDS else ""
    by = f"run {', '.join(map(str, held[:_NAMED_IDS]))}{more}" if held else ""
    said = " and ".join(each for each in (by, _behind(in_front)) if each)
    remedy = let_end(held[0]) if held else "jobrunner tick"
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
    listed = f"jobrunner runs --type {shlex.quote(spent.job_type)} --since {since}"
    remedy = f"wait, or declare a higher rate for {spent.job_type}; what has used it up: {listed}"
    return LimitInTheWay(reason, sentence, remedy, {"allowed_at": allowed_at, "in_front": spent.in_front, **facts})


def _behind(in_front: int) -> str:
    return f"{in_front} due run{'s' * (in_front != 1)} in front of it" if in_front else ""


def _gate_of(connection: Connection, run_id: int, names: str | None) -> str:
    """The gate behind which the next claim puts a run."""
    if names is None:
        return "all"
    parts = _parts(names)
    found = connection.execute(Prepared("explain.gate_of", (len(parts) - 1,)), {**parts, "run": run_id})
    gate: str = found.scalar_one()
    return gate


def _parts(names: str) -> dict[str, str]:
    return {"key": names, **{f"name_{number}": name for number, name in enumerate(names.split(","))}}


def _first(run: Row, names: str) -> Question:
    parts = _parts(names)
    values = {"of_type": run.job_type, "run": run.id, "most": MOST_IN_FRONT + 1, **parts}
    return Prepared("explain.taken_first", (len(parts) - 1,)), values


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
        Prepared("explain.same_key_in_front", (len(parts) - 1,)), {**turn, **parts}
    ).scalar_one()
    return behind + first


def questions(run: Row) -> list[Question]:
    """What may be asked about a due run."""
    of_type, turn = {"of_type": run.job_type}, _its_turn(run)
    of_turn = ("explain.due_in_front", "explain.all_in_front", "explain.gated_in_front")
    return [
        (Prepared("explain.limits"), of_type),
        (Prepared("explain.at_work", (False,)), of_type),
        (Prepared("explain.all_at_work"), of_type),
        _speed(run),
        *((Prepared(name), turn) for name in of_turn),
    ]


def questions_of_key(connection: Connection, run: Row) -> list[Question]:
    """What may be asked if its type has limits for each key."""
    limits = connection.execute(Prepared("explain.limits"), {"of_type": run.job_type}).first()
    if limits is None or limits.concurrency_key is None:
        return []
    parts = _parts(limits.concurrency_key)
    gate = run.gate or _gate_of(connection, run.id, limits.concurrency_key)
    of_gate, turn = {"of_type": run.job_type, "gate": gate}, {**_its_turn(run), "gate": gate}
    first = [] if limits.max_running is None and limits.rate is None else [_first(run, limits.concurrency_key)]
    return [
        *first,
        _line(run, gate, _MOST_OF_KEY),
        (Prepared("explain.at_work", (True,)), of_gate),
        (Prepared("explain.gate"), of_gate),
        (Prepared("explain.behind_gate_in_front"), turn),
        (Prepared("explain.same_key_in_front", (len(parts) - 1,)), {**turn, **parts}),
        (Prepared("explain.gate_of", (len(parts) - 1,)), {**parts, "run": run.id}),
    ]


def _speed(run: Row) -> Question:
    return Prepared("explain.speed"), {"of_type": run.job_type, "since": -2 * _SPEED_OF.total_seconds()}


def forecast(connection: Connection, run: Row, place: Place) -> Forecast:
    """How many due runs of the type are in front of a run, and how long they take by the speed of the last hours."""
    counted = place.in_front
    in_front = min(counted, MOST_IN_FRONT)
    ended = connection.execute(*_speed(run)).one()
    per_second = float(ended.ends) / max(1.0, (ended.now - ended.first).total_seconds()) if ended.ends else None
    return forecast_of(in_front, per_second, at_least=counted > MOST_IN_FRONT)
