"""Limits over all hosts: how many runs of a type, and of each key, are at work, and how many may begin in a time.

Due runs of a limited type are put behind a gate: that of their key, or the only one of their type. A claim locks the
type's row in ``job_limits``, so that only one claim of the type counts at a time, and takes runs from behind the gates
that are open. Runs behind closed gates are in nobody's way. Every function expects a write transaction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import compress
from operator import not_
from typing import Any, NamedTuple

from jobrunner.model import Limits, Policy
from jobrunner.rates import Rate
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.queue import fair
from jobrunner.store.sql.statement import Prepared, Row

_ADMITTED, _RELEASED = 1000, 2000
"""How many due runs of a type one claim puts behind their gates at most; and how many are taken away again at once."""
_BUSY_SECONDS = 0.05
"""After this time it is worth another claim if another one had locked the limits."""
_GATHERED = timedelta(milliseconds=250)
"""How long a rate lets permissions gather, so that a claim takes several runs; no longer than half a burst."""
_UNLIMITED = 2**31 - 1
_LIMITS = Prepared("limits.declared")
_AT_WORK, _ALL_AT_WORK = Prepared("limits.at_work"), Prepared("limits.all_at_work")
_OPEN_GATES, _BEHIND_OPEN_GATE = Prepared("limits.open_gates"), Prepared("limits.behind_open_gate")


class _Gate(NamedTuple):
    job_type: str
    gate: str


class Openings:
    """What a claim may take from behind gates: the ids of runs. After the claim, ``settle`` writes what that changes.

    ``turns`` are those of other runs, in which runs of fair types are claimed (``fair``).
    ``opens_in`` is in how many seconds another claim is worth while, because then a rate allows runs that wait, or
    because another claim had locked the limits. None: for no such reason. ``may_be_more``: one is worth while now.
    """

    def __init__(self) -> None:
        self.run_ids: list[int] = []
        self.turns: dict[int, datetime] = {}
        self.opens_in: float | None = None
        self.may_be_more = False
        self._types: list[_Type] = []

    def note_opening(self, seconds: float) -> None:
        """Note that another claim is worth while in so many seconds."""
        self.opens_in = seconds if self.opens_in is None else min(self.opens_in, seconds)

    def add(self, looked_at: _Type) -> None:
        """Add what was found out about a type."""
        self._types.append(looked_at)
        self.run_ids += looked_at.run_ids
        self.turns |= looked_at.turns

    def settle(self, connection: Connection, claimed: Sequence[Row], *, is_full: bool) -> None:
        """Write what the claim of these runs changes. ``is_full``: it could take no more."""
        for of_type in self._types if claimed else ():
            # Rates count from the instant that the attempts have, which is a little later than the look before.
            of_type.now = claimed[0].claimed_at
        taken = Counter(_Gate(row.job_type, row.gate) for row in claimed)
        is_fair = [each.limits.fair_by is not None for each in self._types]
        others = compress(self._types, map(not_, is_fair))
        if gates := [each for of_type in others for each in of_type.settled_gates(taken, is_full=is_full)]:
            connection.execute(Prepared("gates.settle"), {"given": gates})
        for of_type in compress(self._types, is_fair):
            if gates := list(of_type.settled_gates(taken, is_full=is_full)):
                values = {"given": gates, "of_type": of_type.name, "at": of_type.now}
                connection.execute(Prepared("fair.settle"), values)
        for of_type in self._types:
            count = sum(each for gate, each in taken.items() if gate.job_type == of_type.name)
            rate = of_type.limits.rate
            if rate is not None and (spent := of_type.spent(rate, of_type.spent_until, count)):
                connection.execute(Prepared("limits.settle_types"), {"given": [{"job_type": of_type.name, **spent}]})
            # The next claim looks for more behind the same gates, or finds out when the rate allows more.
            self.may_be_more |= count > 0 and of_type.has_more_room


class _Type:
    """What one claim finds out about a limited type. ``gates`` are those it looked at, with their ``spent_until``.

    ``is_declared``: the limits are the stored ones. When others open is no matter for those who know the stored ones.
    """

    def __init__(self, name: str, limits: Limits, is_set: bool, row: Row) -> None:
        self.name = name
        self.limits = limits
        self.is_set = is_set
        self.spent_until: datetime | None = row.spent_until
        self.now: datetime = row.now
        stored = _stored(row)
        if is_set:
            set_here = {name: getattr(row, f"set_{name}") for name in ("max_running", "rate", "burst")}
            stored |= {name: value for name, value in set_here.items() if value is not None}
        self.is_declared = stored == _columns(limits)
        self.looked_to: str = row.looked_to or ""
        self.run_ids: list[int] = []
        self.turns: dict[int, datetime] = {}
        self.gates: dict[str, datetime | None] = {}
        self.has_more_room = False

    def settled_gates(self, taken: Mapping[_Gate, int], *, is_full: bool) -> Iterator[dict[str, Any]]:
        """The rows of the gates it looked at, in the order of all claims.

        A gate that the claim took nothing from goes to the end of the line, too: what is behind it is locked or not due
        yet, and would stand in front of all others. But not if the claim was full before it came to that gate.
        """
        rate = self.limits.rate_per_key
        for gate, spent_until in sorted(self.gates.items()):
            count = taken.get(_Gate(self.name, gate), 0)
            spent = {} if rate is None else self.spent(rate, spent_until, count)
            moves = count > 0 or not is_full
            yield {"job_type": self.name, "gate": gate, "moves": int(moves), **spent}

    def spent(self, rate: Rate, spent_until: datetime | None, count: int) -> dict[str, datetime]:
        """What changes about the state of a rate when so many runs have begun."""
        bounded = rate.bounded(spent_until, self.now)
        if not count and bounded == spent_until:
            return {}
        spent = rate.spend(bounded, self.now, count)
        return {"spent_until": spent, "opens_at": _opens_at(rate, spent, self.now) if self.is_declared else self.now}


def open_gates(connection: Connection, wanted: Mapping[str, tuple[Limits, int]], quarantined: bool) -> Openings:
    """Lock the limits of these types, put their due runs behind gates, and find what may be claimed now.

    ``wanted`` has the limits of each type by the code of this host, and how many runs the claim can take.
    """
    openings = Openings()
    locked = _locked(connection, wanted.keys())
    if len(locked) < len(wanted):
        openings.note_opening(_BUSY_SECONDS)
    found = {name: _Type(name, *_in_force(wanted[name][0], row), row) for name, row in locked.items()}
    at_work = _at_work(connection, found.values())
    for name, looked_at in found.items():
        room = _room(looked_at.limits, locked[name], wanted[name][1], at_work.get(name, 0))
        _look(connection, looked_at, room, openings, quarantined)
        openings.add(looked_at)
    return openings


def _at_work(connection: Connection, types: Iterable[_Type]) -> dict[str, int]:
    """How many runs are at work of each type for which that is limited."""
    counted = [each for each in types if each.limits.max_running is not None]
    at_work: dict[str, int] = {}
    for is_set, question in ((False, _AT_WORK), (True, _ALL_AT_WORK)):
        if names := [each.name for each in counted if each.is_set == is_set]:
            at_work.update(map(tuple, connection.execute(question, _given(names))))
    return at_work


def _locked(connection: Connection, names: Collection[str]) -> dict[str, Row]:
    found = {row.job_type: row for row in connection.execute(Prepared("limits.lock"), _given(names))}
    for name in sorted(names - found.keys()):
        row = connection.execute(Prepared("limits.take"), {"of_type": name}).first()
        if row is not None:
            found[name] = row
    return found


def _in_force(limits: Limits, row: Row) -> tuple[Limits, bool]:
    """The limits that hold instead of these, which the code has, and whether operators have set any of them."""
    if row.set_max_running is None and row.set_rate is None:
        return limits, False
    if row.set_max_running is not None:
        limits = limits._replace(max_running=row.set_max_running)
    if row.set_rate is not None:
        limits = limits._replace(rate=Rate(row.set_rate, row.set_burst))
    return limits, True


class _Room(NamedTuple):
    """How many runs of a type a claim may take. ``by_rate``: its rate allows no more."""

    runs: int
    by_rate: bool


def _room(limits: Limits, row: Row, most: int, at_work: int) -> _Room:
    runs = most if limits.max_running is None else min(most, limits.max_running - at_work)
    if limits.rate is None:
        return _Room(runs, by_rate=False)
    allowed = limits.rate.allowed(row.spent_until, row.now)
    return _Room(min(runs, allowed), by_rate=allowed <= runs)


def _look(connection: Connection, of_type: _Type, room: _Room, openings: Openings, quarantined: bool) -> None:
    openings.may_be_more |= _admit(connection, of_type) == _ADMITTED
    values: dict[str, Any] = {"of_type": of_type.name, "limit": room.runs}
    of_type.has_more_room = room.by_rate
    if room.runs <= 0:
        rate = of_type.limits.rate
        if (
            room.by_rate
            and rate is not None
            and of_type.spent_until is not None
            and _is_waited_for(connection, of_type)
        ):
            openings.note_opening((_opens_at(rate, of_type.spent_until, of_type.now) - of_type.now).total_seconds())
    elif not of_type.limits.key:
        of_type.run_ids = connection.execute(Prepared("limits.first_runs", (quarantined,)), values).scalars()
        of_type.gates["all"] = None
    else:
        look = _look_at_each if of_type.limits.fair_by is None else _look_along_the_line
        look(connection, of_type, room.runs, openings, quarantined)
        if of_type.limits.rate_per_key is not None and len(of_type.gates) < room.runs:
            row = connection.execute(Prepared("gates.next_opening"), values).one()
            if row.opens_at is not None:
                openings.note_opening((row.opens_at - row.now).total_seconds())


def _look_at_each(connection: Connection, of_type: _Type, limit: int, openings: Openings, quarantined: bool) -> None:
    """Find the first run behind each open gate. A further one behind the same gate is for the next claim."""
    values = _asked(of_type, limit)
    for row in connection.execute(Prepared("limits.first_run_of_each", (quarantined,)), values):
        of_type.gates[row.gate] = row.spent_until
        if row.run_id is not None and (allowed := _allowed(of_type, row, openings)) > 0:
            of_type.run_ids.append(row.run_id)
            of_type.has_more_room |= allowed > 1


def _look_along_the_line(
    connection: Connection, of_type: _Type, limit: int, openings: Openings, quarantined: bool
) -> None:
    """Find the first runs behind the open gates of a fair type, in the order of the line."""
    values = _asked(of_type, limit)
    if quarantined:
        for row in connection.execute(Prepared("fair.quarantined"), values):
            of_type.gates[row.gate] = row.spent_until
            if _allowed(of_type, row, openings) > 0:
                of_type.run_ids.append(row.id)
        return
    is_looked_through = fair.find_gates(connection, of_type.name, _key(of_type.limits), of_type.looked_to)
    line, spent_until = {}, {}
    for row in connection.execute(Prepared("fair.line"), {**values, "limit": limit + fair.SPARE}):
        line[row.gate], spent_until[row.gate] = _allowed(of_type, row, openings), row.spent_until
    picked = fair.pick(connection, of_type.name, line, limit)
    of_type.gates = {gate: spent_until[gate] for gate in picked.gates}
    of_type.run_ids, of_type.turns = list(picked.turns), picked.turns
    of_type.has_more_room |= picked.may_be_more or not is_looked_through
    openings.may_be_more |= not (is_looked_through or picked.turns)


def _asked(of_type: _Type, limit: int) -> dict[str, Any]:
    limits = of_type.limits
    most = _UNLIMITED if limits.max_running_per_key is None else limits.max_running_per_key
    longest = timedelta(0) if limits.rate_per_key is None else limits.rate_per_key.longest
    values = {"of_type": of_type.name, "limit": limit, "most_at_work": most, "longest": longest.total_seconds()}
    return {**values, "prefix": f"{_key(limits)} "}


def _allowed(of_type: _Type, row: Row, openings: Openings) -> int:
    """How many runs of a key may begin now, by the limits of each key."""
    most, rate = of_type.limits.max_running_per_key, of_type.limits.rate_per_key
    allowed: int = (_UNLIMITED if most is None else most) - row.at_work
    if rate is not None:
        allowed = min(allowed, rate.allowed(row.spent_until, of_type.now))
        if allowed <= 0:
            # Not stored yet, because the code has had another rate until now.
            openings.note_opening((_opens_at(rate, row.spent_until, of_type.now) - of_type.now).total_seconds())
    return allowed


def _admit(connection: Connection, of_type: _Type) -> int:
    """Put due runs behind their gates; how many."""
    names = of_type.limits.key
    values = {
        "of_type": of_type.name,
        "limit": _ADMITTED,
        "key": _key(of_type.limits),
        **{f"name_{index}": each for index, each in enumerate(names)},
    }
    admitted = connection.execute(Prepared("limits.admit", (len(names),)), values).all()
    first: dict[str, datetime] = {}
    for gate, turn_at in admitted:
        first[gate] = min(turn_at, first.get(gate, turn_at))
    if first:
        # In one order, as wherever several gates are written.
        given = [{"job_type": of_type.name, "gate": gate, "turn_at": first[gate]} for gate in sorted(first)]
        enter = Prepared("gates.enter" if of_type.limits.fair_by is None else "fair.enter")
        connection.execute(enter, {"given": given})
    return len(admitted)


def _is_waited_for(connection: Connection, of_type: _Type) -> bool:
    return connection.execute(Prepared("gates.is_waited_for"), {"of_type": of_type.name}).first() is not None


def _opens_at(rate: Rate, spent_until: datetime, now: datetime) -> datetime:
    spent = min(spent_until, now + rate.longest)
    return rate.opens_at(spent, max(1, min(rate.burst // 2, _GATHERED // rate.interval)))


def _given(names: Iterable[str]) -> dict[str, Any]:
    return {"given": [{"job_type": name} for name in sorted(names)]}


def is_limited(policy: Policy, set_types: Collection[str]) -> bool:
    """Whether the runs of a type come from behind gates: its code or operators limit it, or what they set has ended."""
    return policy.limits is not None or policy.job_type in set_types


def count_open(connection: Connection, policies: Sequence[Policy], limit: int, set_types: Collection[str] = ()) -> int:
    """How many runs of these types, up to a limit, could be claimed from behind gates; of each key, one.

    ``set_types`` are those for which operators have set limits, as far as the caller knows.
    """
    count = 0
    for policy in policies:
        if not is_limited(policy, set_types):
            continue
        limits = policy.limits or Limits()
        question = _OPEN_GATES if limits.key else _BEHIND_OPEN_GATE
        if limits.fair_by is not None and limits.max_running_per_key is None and limits.rate_per_key is None:
            # Several of one key may begin at once, also of those whose gates no claim has found yet.
            question = Prepared("fair.behind_gates")
        most = limit if policy.job_type in set_types else min(limit, limits.max_running or limit)
        count += len(connection.execute(question, {"of_type": policy.job_type, "limit": most}).all())
    return min(limit, count)


# The declared limits, for those who do not know the code.


class _Stored(NamedTuple):
    """The stored limits of each type, and the types for which operators have set some: whether these have ended."""

    limits: dict[str, dict[str, Any]]
    set_types: dict[str, bool]


def _read_stored(connection: Connection) -> _Stored:
    rows = connection.execute(_LIMITS).all()
    return _Stored(
        {row.job_type: _stored(row) for row in rows if row.has_ended is None},
        {row.job_type: bool(row.has_ended) for row in rows if row.has_ended is not None},
    )


def changed(connection: Connection, policies: Sequence[Policy]) -> list[Policy]:
    """The policies whose limits are not the stored ones, or for whose types something was set that has ended.

    Expects any transaction.
    """
    known, set_types = _read_stored(connection)
    return [
        each
        for each in policies
        if set_types.get(each.job_type) or known.get(each.job_type) != _wanted(each, set_types.keys())
    ]


def declare(connection: Connection, policy: Policy) -> bool:
    """Store the limits of this type, or forget them if it has none now. True: call it once more.

    Runs that wait behind gates of another key, or of no limit, are taken from there, and the next claim meets them
    anew. Then what operators had set, and has ended, is forgotten: until then claims look behind the gates for it.
    """
    stored = _read_stored(connection).limits.get(policy.job_type)
    columns = _columns(policy.limits or Limits())
    values = {"of_type": policy.job_type, **{f"new_{name}": value for name, value in columns.items()}}
    # This is also the lock on the type: from here on no claim of it is under way, and nobody sets limits of it.
    ended = connection.execute(Prepared("limits.declare"), values).scalar_one()
    has_limits = policy.limits is not None or ended == 0
    if has_limits and (stored is None or stored["concurrency_key"] == columns["concurrency_key"]):
        connection.execute(Prepared("gates.reopen"), values)
    else:
        if len(connection.execute(Prepared("limits.release"), {**values, "limit": _RELEASED}).all()) == _RELEASED:
            return True
        connection.execute(Prepared("gates.forget"), values)
        if not has_limits:
            connection.execute(Prepared("limits.forget"), values)
    if ended == 1:
        connection.execute(Prepared("set_limits.forget"), values)
    return False


def _wanted(policy: Policy, set_types: Collection[str]) -> dict[str, Any] | None:
    """The row that a type should have; None: none."""
    return _columns(policy.limits or Limits()) if is_limited(policy, set_types) else None


def _columns(limits: Limits) -> dict[str, Any]:
    values = {**limits.as_data(), "concurrency_key": _key(limits) or None}
    # That is a rule for those who enqueue (``backpressure``).
    del values["fair_by"]
    return values


def _key(limits: Limits) -> str:
    """How the names of the key are stored. The gates of the type begin with it."""
    return ",".join(limits.key)


def _stored(row: Row) -> dict[str, Any]:
    return {name: getattr(row, name) for name in _columns(Limits())}
