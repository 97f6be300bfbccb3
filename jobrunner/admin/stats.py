"""How the runs of each type fared in a period: numbers, the share of successes, and how long they waited and ran."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from jobrunner.lifecycle import FINISHED, Status
from jobrunner.store import tallies
from jobrunner.store.connection import Connection
from jobrunner.store.histogram import Bins, quantile
from jobrunner.store.tallies import Key, Tally, sum_of


@dataclass(frozen=True)
class Durations:
    """Seconds. Half of the attempts took at most ``p50``; None: there were none. Exact to the bins of a histogram."""

    p50: float | None
    p95: float | None
    longest: float | None


@dataclass(frozen=True)
class TypeStats:
    """The ends of one job type.

    ``ended`` maps the statuses succeeded, dead and cancelled to numbers of runs, ``attempts`` each outcome to a number
    of attempts. ``success_rate`` is the share of succeeded runs among those that succeeded or died; None: none did.
    """

    job_type: str
    ended: dict[str, int]
    attempts: dict[str, int]
    success_rate: float | None
    waits: Durations
    run_times: Durations


@dataclass(frozen=True)
class Stats:
    """The types with any ends, in alphabetical order. The first hour is counted as a whole."""

    since: datetime
    types: list[TypeStats]


@dataclass(frozen=True)
class Hour:
    """The ends in one hour: the statuses succeeded, dead and cancelled, with numbers of runs."""

    begin: datetime
    ended: dict[str, int]


@dataclass(frozen=True)
class Hours:
    """Each hour of a period, the oldest first: the ends of all types, and those of some types."""

    of_all: list[Hour]
    of_types: dict[str, list[Hour]]


@dataclass(frozen=True)
class _Ends:
    """What the tallies have of a period; ``begin`` is the begin of its first hour."""

    begin: datetime
    end: datetime
    found: dict[tuple[datetime, Key], Tally]


def stats(connection: Connection, period: timedelta, only: Collection[str] = ()) -> Stats:
    """The statistics of the last ``period``, of all types or of these. Expects a read transaction."""
    return _by_type(_read(connection, period), only)


def hours(connection: Connection, period: timedelta, most: int = 0) -> Hours:
    """The ends of the last ``period`` by the hour, of all types and of each of the first ``most``.

    Old ends all stand in the first hour of their day. Expects a read transaction.
    """
    return _by_hour(_read(connection, period), most)


def stats_and_hours(connection: Connection, period: timedelta, most: int) -> tuple[Stats, Hours]:
    """What ``stats`` and ``hours`` return, read once. Expects a read transaction."""
    ends = _read(connection, period)
    return _by_type(ends), _by_hour(ends, most)


def _read(connection: Connection, period: timedelta) -> _Ends:
    now = tallies.now(connection)
    begin = (now - period).replace(minute=0, second=0, microsecond=0)
    return _Ends(begin, now, tallies.since(connection, begin))


def _by_type(ends: _Ends, only: Collection[str] = ()) -> Stats:
    by_type = defaultdict[str, list[tuple[Key, Tally]]](list)
    for (_, key), tally in ends.found.items():
        if not only or key.job_type in only:
            by_type[key.job_type].append((key, tally))
    return Stats(ends.begin, [_of_type(job_type, by_type[job_type]) for job_type in sorted(by_type)])


def _by_hour(ends: _Ends, most: int) -> Hours:
    ended = [(at, key, tally.ends) for (at, key), tally in ends.found.items() if key.status in FINISHED]
    shown = sorted({key.job_type for _, key, _ in ended})[:most]
    found: dict[str | None, dict[datetime, Hour]] = {name: _empty(ends.begin, ends.end) for name in (*shown, None)}
    for at, key, count in ended:
        for name in (key.job_type, None):
            if name in found and at in found[name]:
                found[name][at].ended[key.status] += count
    return Hours(list(found[None].values()), {name: list(found[name].values()) for name in shown})


def _empty(begin: datetime, end: datetime) -> dict[datetime, Hour]:
    instants = (begin + timedelta(hours=n) for n in range(_hours(end - begin)))
    return {at: Hour(at, dict.fromkeys(map(str, FINISHED), 0)) for at in instants}


def _hours(duration: timedelta) -> int:
    return int(duration.total_seconds() // 3600) + 1


def _of_type(job_type: str, counted: Iterable[tuple[Key, Tally]]) -> TypeStats:
    ended, attempts = dict.fromkeys(map(str, FINISHED), 0), defaultdict[str, int](int)
    of_attempts = []
    for key, tally in counted:
        if key.status in ended:
            ended[key.status] += tally.ends
        if key.outcome:
            attempts[key.outcome] += tally.ends
            of_attempts.append(tally)
    together = sum_of(of_attempts)
    succeeded, dead = ended[Status.SUCCEEDED], ended[Status.DEAD]
    return TypeStats(
        job_type,
        ended,
        dict(sorted(attempts.items())),
        succeeded / (succeeded + dead) if succeeded + dead else None,
        _durations(together.waits, together.longest_wait),
        _durations(together.runs, together.longest_run),
    )


def _durations(histogram: Bins, longest: float) -> Durations:
    p50, p95 = (quantile(histogram, share, longest) for share in (0.5, 0.95))
    return Durations(p50, p95, longest if sum(histogram) else None)
