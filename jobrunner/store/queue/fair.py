"""Fair types: claims go round the keys that wait, however many runs of one key there are.

A fair type is a limited one, of which each key has a gate (``limits``), also if no limit closes any. What is different:

- An enqueue puts a due run behind its gate at once. Else the runs of one key would stand in front of those of another
  one until claims have put all of them behind their gates.
- An enqueue writes no row of a gate, so that no caller waits for another one. So each claim looks for gates that have
  none: some of them, from where the claim before has stopped, in the order of their names.
- The gates stand in a line. A claim takes runs from the first ones, and these go to its end. A gate that nothing waited
  behind comes to the end, too, so that new keys do not pass those that wait. A run of a higher priority brings its gate
  forward by a minute for each step, as it does elsewhere.

Every function expects the write transaction of a claim, with the lock on its type.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.sql.statement import Prepared, Row
from jobrunner.store.sql.traits import TRAITS

WALKED = 50
"""At so many gates a claim looks, to find those that have no row yet."""
SPARE = 20
"""So many gates more than runs a claim looks at, because some may have nothing that is due, or nothing at all."""
_APART = timedelta(microseconds=1)
_FIRST = datetime(1900, 1, 1, tzinfo=UTC)


def find_gates(connection: Connection, job_type: str, key: str, looked_to: str) -> bool:
    """Let gates that no claim has seen yet come into the line. False: the next claim looks further."""
    asked = {"of_type": job_type, "looked_to": looked_to, "limit": WALKED}
    waited = connection.execute(Prepared("fair.waited"), asked).all()
    # Those of another key are none of this line. Housekeeping takes the runs from there.
    own = [row for row in waited if row.gate.startswith(f"{key} ")]
    _enter(connection, [row for row in own if row.known_at is None or (row.turn_at and row.turn_at < row.known_at)])
    is_looked_through = len(waited) < WALKED
    next_time = "" if is_looked_through else waited[-1].gate
    if next_time != looked_to:
        connection.execute(Prepared("fair.look_from"), {"of_type": job_type, "looked_to": next_time})
    return is_looked_through


def _enter(connection: Connection, gates: Sequence[Row]) -> None:
    new = [{name: getattr(row, name) for name in ("job_type", "gate", "turn_at")} for row in gates if row.turn_at]
    if new:
        # In one order, as wherever several gates are written.
        new.sort(key=lambda each: (each["job_type"], each["gate"]))
        connection.execute(Prepared("fair.enter"), {"given": new})


class Picked(NamedTuple):
    """The runs that a claim may take, each with the turn in which it takes it, and whether there may be more.

    ``gates`` are those that it came to: behind them are these runs, or none that may begin. ``taken`` counts
    these by their gates.
    """

    turns: dict[int, datetime]
    may_be_more: bool
    gates: set[str]
    taken: Counter[str]


def pick(connection: Connection, job_type: str, line: Mapping[str, int], limit: int) -> Picked:
    """The first runs behind the gates of a line, one of each, then the second ones, and so on, up to a limit.

    ``line`` has how many runs of each gate may begin. How many runs of the type a claim takes beside other types, their
    turns decide, as ever; which ones, the line. So the turns of the runs are dealt out anew, in the order of the line.
    """
    open_gates = [gate for gate, allowed in line.items() if allowed > 0]
    if not open_gates:
        return Picked({}, may_be_more=False, gates=set(line), taken=Counter())
    # Of as many gates as the limit, one of each; of fewer, no more than that all of them together fill it.
    share = -(-limit // len(open_gates))
    behind = defaultdict[str, list[Row]](list)
    for row in _first_runs(connection, job_type, open_gates, share):
        behind[row.gate].append(row)
    rounds: list[tuple[int, Row]] = []
    for gate, allowed in line.items():
        first = sorted(behind[gate], key=_turn)[: max(0, allowed)]
        rounds += enumerate(first)
    # Stable: in each round the order of the line.
    picked = [row for _, row in sorted(rounds, key=lambda each: each[0])][:limit]
    turns: dict[int, datetime] = {}
    at = _FIRST
    for row, turn_at in zip(picked, sorted(row.turn_at for row in picked), strict=True):
        # No two alike, so that they keep the order of the line.
        turns[row.id] = at = max(turn_at, at + _APART)
    gates = {row.gate for row in picked} | {gate for gate, allowed in line.items() if allowed <= 0 or not behind[gate]}
    may_be_more = len(picked) >= limit or any(len(rows) == share for rows in behind.values())
    return Picked(turns, may_be_more, gates, Counter(row.gate for row in picked))


def _first_runs(connection: Connection, job_type: str, gates: Sequence[str], share: int) -> Iterator[Row]:
    statement = Prepared("fair.first_runs", (connection.database,))
    if TRAITS[connection.database].has_lateral:
        given = [{"job_type": job_type, "gate": gate} for gate in gates]
        yield from connection.execute(statement, {"given": given, "limit": share})
        return
    for gate in gates:
        yield from connection.execute(statement, {"of_type": job_type, "gate": gate, "limit": share})


def _turn(row: Row) -> tuple[Any, ...]:
    return row.turn_at, row.run_at, row.id


def find_these(connection: Connection, gates: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Let those of these gates, rows of job_type and gate, come into the line that are gates of fair types.

    Returns the others. Expects a write transaction without that lock: where a claim has it, that claim finds them.
    """
    named = {each["job_type"] for each in gates}
    found = connection.execute(Prepared("fair.of_fair_types"), {"given": gates}).all() if named else []
    types = [{"job_type": each} for each in sorted({row.job_type for row in found})]
    locked = {row.job_type for row in connection.execute(Prepared("limits.lock"), {"given": types})} if types else set()
    _enter(connection, [row for row in found if row.job_type in locked])
    known = {(row.job_type, row.gate) for row in found}
    return [dict(each) for each in gates if (each["job_type"], each["gate"]) not in known]
