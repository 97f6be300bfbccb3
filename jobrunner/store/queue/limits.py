"""Limits over all hosts: how many runs of a type, and of each key, are at work, and how many may begin in a time.

Due runs of a limited type are put behind a gate: that of their key, or the only one of their type. A claim locks the
type's row in ``job_limits``, so that only one claim of the type counts at a time, and takes runs from behind the gates
that are open. Runs behind closed gates are in nobody's way. The names of a type that was renamed have rows and gates of
their own, and are counted together: a claim locks the rows of all. Every function expects a write transaction.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeAlias

from jobrunner.model import Limits, Policy
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.queue import fair
from jobrunner.store.queue.declared_limits import is_limited, key_of
from jobrunner.store.queue.openings import LimitedType, Openings, opens_at
from jobrunner.store.sql.statement import Prepared, Row

Wanted: TypeAlias = tuple[LimitedType, int]
"""A name of a type, and how many runs of it the claim can take."""
_ADMITTED = 1000
"""How many due runs of a type one claim puts behind their gates at most."""
_BUSY_SECONDS = 0.05
"""After this time it is worth another claim if another one had locked the limits."""
_UNLIMITED = 2**31 - 1
_AT_WORK, _ALL_AT_WORK = Prepared("limits.at_work"), Prepared("limits.all_at_work")
_OPEN_GATES, _BEHIND_OPEN_GATE = Prepared("limits.open_gates"), Prepared("limits.behind_open_gate")


def open_gates(connection: Connection, wanted: Sequence[tuple[Policy, int]], quarantined: bool) -> Openings:
    """Lock the limits of these types, put their due runs behind gates, and find what may be claimed now.

    ``wanted`` has each type with its limits by the code of this host, and how many runs the claim can take.
    """
    openings = Openings()
    asked = {name for policy, _ in wanted for name in policy.names}
    locked = _locked(connection, asked)
    if len(locked) < len(asked):
        openings.note_opening(_BUSY_SECONDS)
    families = defaultdict[str, list[Wanted]](list)
    for policy, most in wanted:
        if locked.keys() >= {*policy.names}:
            rows = {name: locked[name] for name in policy.names}
            families[policy.family].append((LimitedType(policy, rows), most))
    at_work = _at_work(connection, [each for found in families.values() for each, _ in found])
    for found in families.values():
        _look_at_family(connection, found, at_work, openings, quarantined)
    return openings


def _look_at_family(
    connection: Connection,
    found: Sequence[Wanted],
    at_work: Mapping[str, int],
    openings: Openings,
    quarantined: bool,
) -> None:
    """Find what may be claimed of the names of one type, which are counted together."""
    for of_type, _ in found:
        openings.may_be_more |= _admit(connection, of_type) == _ADMITTED
        if of_type.is_fair:
            # Of all names, before one of them takes all the room: a gate that no claim has found would wait forever.
            key = key_of(of_type.limits)
            of_type.is_looked_through = fair.find_gates(connection, of_type.name, key, of_type.looked_to)
    taken = Counter[str]()
    for of_type, most in _longest_waiting_first(connection, found):
        busy = sum(at_work.get(name, 0) for name in of_type.names) + taken.total()
        room = _room(of_type, most - taken.total(), busy, taken.total())
        _look(connection, of_type, room, taken, openings, quarantined)
        openings.add(of_type)


def _longest_waiting_first(connection: Connection, found: Sequence[Wanted]) -> Sequence[Wanted]:
    """The names of one type, so that a name under which runs come all the time keeps no other one waiting."""
    if len(found) == 1:
        return found
    names = [each.name for each, _ in found]
    first = dict(map(tuple, connection.execute(Prepared("gates.first_turns"), _given(names))))
    return sorted(found, key=lambda each: (each[0].name not in first, first.get(each[0].name), each[0].name))


def _at_work(connection: Connection, types: Iterable[LimitedType]) -> dict[str, int]:
    """How many runs are at work of each type for which that is limited."""
    counted = [each for each in types if each.limits.max_running is not None]
    at_work: dict[str, int] = {}
    for is_set, question in ((False, _AT_WORK), (True, _ALL_AT_WORK)):
        if names := {name for each in counted if each.is_set == is_set for name in each.names}:
            at_work.update(map(tuple, connection.execute(question, _given(names))))
    return at_work


def _locked(connection: Connection, names: Collection[str]) -> dict[str, Row]:
    found = {row.job_type: row for row in connection.execute(Prepared("limits.lock"), _given(names))}
    for name in sorted(names - found.keys()):
        row = connection.execute(Prepared("limits.take"), {"of_type": name}).first()
        if row is not None:
            found[name] = row
    return found


class _Room(NamedTuple):
    """How many runs of a type a claim may take. ``by_rate``: its rate allows no more."""

    runs: int
    by_rate: bool


def _room(of_type: LimitedType, most: int, at_work: int, taken: int) -> _Room:
    """``taken`` is how many runs of other names of the type this claim takes."""
    limits = of_type.limits
    runs = most if limits.max_running is None else min(most, limits.max_running - at_work)
    if limits.rate is None:
        return _Room(runs, by_rate=False)
    allowed = limits.rate.allowed(of_type.spent_until, of_type.now) - taken
    return _Room(min(runs, allowed), by_rate=allowed <= runs)


def _look(
    connection: Connection,
    of_type: LimitedType,
    room: _Room,
    taken: Counter[str],
    openings: Openings,
    quarantined: bool,
) -> None:
    """``taken`` counts what the claim takes of all names of the type, by gate."""
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
            openings.note_opening((opens_at(rate, of_type.spent_until, of_type.now) - of_type.now).total_seconds())
    elif not of_type.limits.key:
        of_type.run_ids = connection.execute(Prepared("limits.first_runs", (quarantined,)), values).scalars()
        of_type.gates["all"] = None
        taken["all"] += len(of_type.run_ids)
    else:
        look = _look_along_the_line if of_type.is_fair else _look_at_each
        look(connection, of_type, room.runs, taken, openings, quarantined)
        if of_type.limits.rate_per_key is not None and len(of_type.gates) < room.runs:
            row = connection.execute(Prepared("gates.next_opening"), values).one()
            if row.opens_at is not None:
                openings.note_opening((row.opens_at - row.now).total_seconds())


def _look_at_each(
    connection: Connection, of_type: LimitedType, limit: int, taken: Counter[str], openings: Openings, quarantined: bool
) -> None:
    """Find the first run behind each open gate. A further one behind the same gate is for the next claim."""
    values = _asked(of_type, limit)
    variant = (quarantined, True) if len(of_type.names) > 1 else (quarantined,)
    for row in connection.execute(Prepared("limits.first_run_of_each", variant), values):
        of_type.gates[row.gate] = row.spent_until
        if row.run_id is not None and (allowed := _allowed(of_type, row, taken, openings)) > 0:
            of_type.run_ids.append(row.run_id)
            taken[row.gate] += 1
            of_type.has_more_room |= allowed > 1


def _look_along_the_line(
    connection: Connection, of_type: LimitedType, limit: int, taken: Counter[str], openings: Openings, quarantined: bool
) -> None:
    """Find the first runs behind the open gates of a fair type, in the order of the line."""
    values, variant = _asked(of_type, limit), (len(of_type.names) > 1,)
    if quarantined:
        for row in connection.execute(Prepared("fair.quarantined", variant), values):
            of_type.gates[row.gate] = row.spent_until
            if _allowed(of_type, row, taken, openings) > 0:
                of_type.run_ids.append(row.id)
                taken[row.gate] += 1
        return
    line, spent_until = {}, {}
    for row in connection.execute(Prepared("fair.line", variant), {**values, "limit": limit + fair.SPARE}):
        line[row.gate], spent_until[row.gate] = _allowed(of_type, row, taken, openings), row.spent_until
    picked = fair.pick(connection, of_type.name, line, limit)
    of_type.gates = {gate: spent_until[gate] for gate in picked.gates}
    of_type.run_ids, of_type.turns = list(picked.turns), picked.turns
    taken.update(picked.taken)
    of_type.has_more_room |= picked.may_be_more or not of_type.is_looked_through
    openings.may_be_more |= not (of_type.is_looked_through or picked.turns)


def _asked(of_type: LimitedType, limit: int) -> dict[str, Any]:
    limits = of_type.limits
    most = _UNLIMITED if limits.max_running_per_key is None else limits.max_running_per_key
    longest = timedelta(0) if limits.rate_per_key is None else limits.rate_per_key.longest
    values = {"of_type": of_type.name, "limit": limit, "most_at_work": most, "longest": longest.total_seconds()}
    values["prefix"] = f"{key_of(limits)} "
    return values | _given(of_type.names) if len(of_type.names) > 1 else values


def _allowed(of_type: LimitedType, row: Row, taken: Mapping[str, int], openings: Openings) -> int:
    """How many runs of a key may begin now, by its limits. ``taken``: what the claim takes under other names."""
    most, rate = of_type.limits.max_running_per_key, of_type.limits.rate_per_key
    allowed: int = (_UNLIMITED if most is None else most) - row.at_work - taken[row.gate]
    if rate is not None:
        allowed = min(allowed, rate.allowed(row.spent_until, of_type.now) - taken[row.gate])
        if allowed <= 0 and not taken[row.gate]:
            # Not stored yet, because the code has had another rate until now.
            openings.note_opening((opens_at(rate, row.spent_until, of_type.now) - of_type.now).total_seconds())
    return allowed


def _admit(connection: Connection, of_type: LimitedType) -> int:
    """Put due runs behind their gates; how many."""
    names = of_type.limits.key
    values = {
        "of_type": of_type.name,
        "limit": _ADMITTED,
        "key": key_of(of_type.limits),
        **{f"name_{index}": each for index, each in enumerate(names)},
    }
    admitted = connection.execute(Prepared("limits.admit", (len(names),)), values).all()
    first: dict[str, datetime] = {}
    for gate, turn_at in admitted:
        first[gate] = min(turn_at, first.get(gate, turn_at))
    if first:
        # In one order, as wherever several gates are written.
        given = [{"job_type": of_type.name, "gate": gate, "turn_at": first[gate]} for gate in sorted(first)]
        enter = Prepared("fair.enter") if of_type.is_fair else Prepared("gates.enter")
        connection.execute(enter, {"given": given})
    return len(admitted)


def _is_waited_for(connection: Connection, of_type: LimitedType) -> bool:
    return connection.execute(Prepared("gates.is_waited_for"), {"of_type": of_type.name}).first() is not None


def _given(names: Iterable[str]) -> dict[str, Any]:
    return {"given": [{"job_type": name} for name in sorted(names)]}


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
