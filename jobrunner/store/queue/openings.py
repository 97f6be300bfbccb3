"""What a claim finds out about limited types, and what it writes about them after it has taken runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from jobrunner.model import Limits, Policy
from jobrunner.rates import Rate
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.queue.declared_limits import columns_of, stored_of
from jobrunner.store.sql.statement import Prepared, Row

_GATHERED = timedelta(milliseconds=250)
"""How long a rate lets permissions gather, so that a claim takes several runs; no longer than half a burst."""


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
        self._types: list[LimitedType] = []

    def note_opening(self, seconds: float) -> None:
        """Note that another claim is worth while in so many seconds."""
        self.opens_in = seconds if self.opens_in is None else min(self.opens_in, seconds)

    def add(self, looked_at: LimitedType) -> None:
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
        settled = [(of_type, list(of_type.settled_gates(taken, is_full=is_full))) for of_type in self._types]
        if gates := [each for of_type, found in settled if not of_type.is_fair for each in found]:
            connection.execute(Prepared("gates.settle"), {"given": gates})
        for of_type, gates in settled:
            if of_type.is_fair and gates:
                values = {"given": gates, "of_type": of_type.name, "at": of_type.now}
                connection.execute(Prepared("fair.settle"), values)
        for of_type in self._types:
            count = sum(each for gate, each in taken.items() if gate.job_type in of_type.names)
            rate = of_type.limits.rate
            if rate is not None and (spent := of_type.spent(rate, of_type.spent_until, count)):
                connection.execute(Prepared("limits.settle_types"), {"given": [{"job_type": of_type.name, **spent}]})
            # The next claim looks for more behind the same gates, or finds out when the rate allows more.
            self.may_be_more |= count > 0 and of_type.has_more_room


class LimitedType:
    """What one claim finds out about a limited type. ``gates`` are those it looked at, with their ``spent_until``.

    ``is_declared``: the limits are the stored ones. When others open is no matter for those who know the stored ones.
    ``is_looked_through``: of a fair type there are no gates that no claim has found.
    ``names`` are all names of the type, of which this is one, and ``rows`` their rows.
    """

    def __init__(self, policy: Policy, rows: Mapping[str, Row]) -> None:
        self.name = policy.job_type
        self.names = policy.names
        row = rows[self.name]
        self.limits, self.is_set = limits, is_set = _in_force(policy.limits or Limits(), rows.values())
        # Every claim writes it to the row of its name. The latest one has counted the others.
        self.spent_until = max((each.spent_until for each in rows.values() if each.spent_until), default=None)
        self.now: datetime = row.now
        stored = stored_of(row)
        if is_set:
            set_here = {name: getattr(row, f"set_{name}") for name in ("max_running", "rate", "burst")}
            stored |= {name: value for name, value in set_here.items() if value is not None}
        self.is_declared = stored == columns_of(limits)
        self.looked_to: str = row.looked_to or ""
        self.is_looked_through = True
        self.run_ids: list[int] = []
        self.turns: dict[int, datetime] = {}
        self.gates: dict[str, datetime | None] = {}
        self.has_more_room = False

    @property
    def is_fair(self) -> bool:
        """Whether claims go round its keys."""
        return self.limits.fair_by is not None

    def settled_gates(self, taken: Mapping[_Gate, int], *, is_full: bool) -> Iterator[dict[str, Any]]:
        """The rows of the gates it looked at, in the order of all claims.

        A gate that the claim took nothing from goes to the end of the line, too: what is behind it is locked or not due
        yet, and would stand in front of all others. But not if the claim was full before it came to that gate.
        """
        rate = self.limits.rate_per_key
        for gate, spent_until in sorted(self.gates.items()):
            count = sum(taken.get(_Gate(name, gate), 0) for name in self.names)
            spent = {} if rate is None else self.spent(rate, spent_until, count)
            moves = count > 0 or not is_full
            yield {"job_type": self.name, "gate": gate, "moves": int(moves), **spent}

    def spent(self, rate: Rate, spent_until: datetime | None, count: int) -> dict[str, datetime]:
        """What changes about the state of a rate when so many runs have begun."""
        bounded = rate.bounded(spent_until, self.now)
        if not count and bounded == spent_until:
            return {}
        spent = rate.spend(bounded, self.now, count)
        return {"spent_until": spent, "opens_at": opens_at(rate, spent, self.now) if self.is_declared else self.now}


def _in_force(limits: Limits, rows: Iterable[Row]) -> tuple[Limits, bool]:
    """The limits that hold instead of these, which the code has, and whether operators have set any of them.

    Of what they have set for several names of the type, the lowest holds.
    """
    most = min((row.set_max_running for row in rows if row.set_max_running is not None), default=None)
    rates = [Rate(row.set_rate, row.set_burst) for row in rows if row.set_rate is not None]
    if most is not None:
        limits = limits._replace(max_running=most)
    if rates:
        limits = limits._replace(rate=max(rates, key=lambda rate: (rate.interval, -rate.burst)))
    return limits, most is not None or bool(rates)


def opens_at(rate: Rate, spent_until: datetime, now: datetime) -> datetime:
    """When a rate whose state is ``spent_until`` allows so many runs that a claim for them is worth while."""
    spent = min(spent_until, now + rate.longest)
    return rate.opens_at(spent, max(1, min(rate.burst // 2, _GATHERED // rate.interval)))
