"""Sets right the waiting runs that no claim would see, however they came to be behind a gate where none looks.

A tick of older code may put runs behind gates of limits that hold no longer; a deploy passes over locked rows; somebody
may have written a gate by hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.queue import fair
from jobrunner.store.sql.statement import Prepared, Row

MOST_FREED = 2000
"""Runs that one call of ``free`` frees at most."""


class Strays(NamedTuple):
    """The gates, as rows of job_type and gate, behind which runs wait and no claim looks; and runs without parents.

    These have the gate of those that wait for the end of other runs.
    """

    gates: list[dict[str, Any]]
    dependants: list[int]


def find(connection: Connection, *, every: bool = False) -> Strays:
    """What waits where no claim would see it. Expects any transaction.

    Without ``every`` only the first 2 000 gates with waiting runs, and the first 100 dependants, are looked at.
    """
    if not connection.execute(Prepared("strays.is_any_behind")).scalar_one():
        return Strays([], [])
    gates = connection.execute(Prepared("strays.gates", (every,)))
    dependants = connection.execute(Prepared("strays.dependants", (every,)))
    return Strays([*map(dict, gates.mappings())], list(dependants.scalars()))


def free(connection: Connection, strays: Strays) -> int:
    """Let the next claim meet these runs anew, but for locked rows. Returns how many. Expects a write transaction.

    A run that waits for others goes on waiting for them. Behind a new gate of a fair type runs stay.
    """
    freed: list[Row] = []
    if gates := fair.find_these(connection, strays.gates):
        statement = Prepared("strays.free", (connection.database,))
        freed += connection.execute(statement, {"given": gates, "limit": MOST_FREED}).all()
        connection.execute(Prepared("strays.settle"), {"given": gates})
    if strays.dependants:
        given = {"given": [{"id": each} for each in strays.dependants]}
        freed += connection.execute(Prepared("strays.free_dependants"), given).all()
    return len(freed)


def batches(strays: Strays, size: int = 500) -> Sequence[Strays]:
    """The same in parts."""
    longest = max(len(strays.gates), len(strays.dependants))
    return [
        Strays(strays.gates[begin : begin + size], strays.dependants[begin : begin + size])
        for begin in range(0, longest, size)
    ]
