"""Goes through the history of a database, and says whether all promises hold. It reads, and never writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple

from jobrunner import clock
from jobrunner.errors import UsageError
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database
from jobrunner.store.verify.reading import moment, read
from jobrunner.store.verify.records import Created, Span
from jobrunner.text import shown
from jobrunner.verify import known
from jobrunner.verify.known import Kept
from jobrunner.verify.promise import SLACK, Breach, Facts
from jobrunner.verify.sweeps import Found, Sweeper

SWEEPS = ("schedules", "pauses", "effects", "runs", "limits", "totals")
"""In this order; the totals are compared with what the sweep over the runs has counted."""
_MOST_LISTED = 100


class Scope(NamedTuple):
    """What to look at. ``since`` leaves out runs that were created before it.

    ``within`` is how long it may take; ``position`` is where an earlier call has stopped. ``slack`` is how far the
    database's clock may have been set back without a trace.
    """

    kept: Kept
    since: datetime | timedelta | None = None
    within: timedelta | None = None
    position: str | None = None
    slack: timedelta = SLACK


@dataclass
class Verdict:
    """Whether all promises hold, and what breaks them: the first hundred, of ``broken`` in all.

    ``since`` is when the first of the ``runs`` was created. ``lost_leases`` are runs whose lease was lost and that were
    begun again: for a moment two handlers may have worked on them. ``next_position``: the time was over. ``not_judged``
    is what the history cannot show.
    """

    database: str
    holds: bool = True
    sentence: str = ""
    runs: int = 0
    since: datetime | None = None
    broken: int = 0
    breaches: list[Breach] = field(default_factory=list)
    lost_leases: list[int] = field(default_factory=list)
    next_position: str | None = None
    not_judged: list[str] = field(default_factory=list)

    def add(self, found: Found) -> None:
        """Add what a slice has shown."""
        self.runs += found.runs
        self.broken += len(found.breaches)
        self.breaches += found.breaches[: _MOST_LISTED - len(self.breaches)]
        self.lost_leases += found.lost_leases[: _MOST_LISTED - len(self.lost_leases)]
        self.holds = not self.broken


def verify(database: Database, scope: Scope, report: Callable[[int], None] = lambda _: None) -> Verdict:
    """Judge the history. ``report`` is called with how many more runs were judged. Raises UsageError."""
    sweep, begin = _place(scope.position)
    give_up_at = None if scope.within is None else clock.elapsed() + scope.within.total_seconds()
    begun = database.snapshot(partial(_begin, scope=scope, is_anew=sweep != "runs" or not begin))
    verdict = Verdict(database.location.label, since=begun.since, not_judged=begun.not_judged)
    sweeper = Sweeper(database, begun.facts, begun.counted_to)
    for found in _sweep(sweeper, SWEEPS[SWEEPS.index(sweep) :], begin, begun.first_run):
        verdict.add(found)
        report(found.runs)
        if give_up_at is not None and clock.elapsed() >= give_up_at:
            verdict.next_position = found.next
            break
    verdict.sentence = _sentence(verdict)
    return verdict


def _sweep(sweeper: Sweeper, names: Sequence[str], begin: str, first_run: str) -> Iterator[Found]:
    for name in names:
        for found in getattr(sweeper, name)(begin or (first_run if name == "runs" else "")):
            yield found._replace(next=f"{name}:{found.next}")
        begin = ""


def _place(position: str | None) -> tuple[str, str]:
    """The sweep and where it begins."""
    sweep, _, begin = (position or f"{SWEEPS[0]}:").partition(":")
    if sweep not in SWEEPS or (begin and sweep in ("schedules", "runs") and not begin.isdecimal()):
        raise UsageError(f"{shown(position)} is no position; take the one that an earlier verify has printed")
    return sweep, begin


class _Begun(NamedTuple):
    facts: Facts
    counted_to: int
    first_run: str
    since: datetime | None
    not_judged: list[str]


def _begin(connection: Connection, scope: Scope, *, is_anew: bool) -> _Begun:
    facts = known.look(connection, scope.kept, scope.slack)
    since = facts.now - scope.since if isinstance(scope.since, timedelta) else scope.since
    first = _first_run(connection, since)
    created = read(connection, "created", first=first) if is_anew else []
    not_judged = [
        f"the limits of the type {each.job_type}: not all hosts report them as they are stored"
        for each in read(connection, "limits")
        if each.job_type not in facts.agreed
    ]
    counted_to = moment(connection).counted_to
    return _Begun(facts, counted_to, str(first - 1), created[0].created_at if created else None, not_judged)


def _first_run(connection: Connection, since: datetime | None) -> int:
    """The id of the first run that was created at or after an instant. Ids are given in the order of time."""
    span: Span = read(connection, "span")[0]
    if since is None or span.first is None or span.last is None:
        return span.first or 1
    low, high = span.first, span.last + 1
    while low < high:
        middle = (low + high) // 2
        found: Created = read(connection, "created", first=middle)[0]
        if found.created_at < since:
            low = found.id + 1
        else:
            high = middle
    return low


def _sentence(verdict: Verdict) -> str:
    count = f"{verdict.runs:,} run{'s' * (verdict.runs != 1)}".replace(",", " ")
    since = "" if verdict.since is None else f" since {verdict.since.date().isoformat()}"
    if verdict.holds:
        said = f"{count}{since}: all promises hold"
    else:
        names = sorted({each.promise for each in verdict.breaches})
        said = f"{count}{since}: {verdict.broken} breach{'es' * (verdict.broken != 1)} of {', '.join(names)}"
    if verdict.next_position is not None:
        said += f" as far as was looked; go on with --position {verdict.next_position}"
    return said
