"""How the runs of each type fared in a period: numbers, the share of successes, and how long they waited and ran."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from jobrunner.lifecycle import FINISHED, Status
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.queue.ticks import tallies
from jobrunner.store.queue.ticks.tallies import Key, Tally, sum_of
from jobrunner.store.sql.histogram import BOUNDS_BYTES, Bins, quantile


@dataclass(frozen=True)
class Durations:
    """Seconds. Half of the attempts took at most ``p50``; None: there were none. Exact to the bins of a histogram."""

    p50: float | None
    p95: float | None
    longest: float | None


@dataclass(frozen=True)
class Sizes:
    """Half of the attempts had at most ``p50_bytes``; None: of none it is known. Exact to the bins of a histogram."""

    p50_bytes: int | None
    p95_bytes: int | None
    largest_bytes: int | None


@dataclass(frozen=True)
class TypeStats:
    """The ends of one job type.

    ``ended`` maps the statuses succeeded, dead and cancelled to numbers of runs, ``attempts`` each outcome to a number
    of attempts. ``success_rate`` is the share of succeeded runs among those that succeeded or died; None: none did.
    ``processor_times``, their sum ``processor_total_seconds`` and ``peak_memory`` are those of the attempts of which
    they are known.
    """

    job_type: str
    ended: dict[str, int]
    attempts: dict[str, int]
    success_rate: float | None
    waits: Durations
    run_times: Durations
    processor_times: Durations
    processor_total_seconds: float | None
    peak_memory: Sizes


@dataclass(frozen=True)
class Stats:
    """The types with any ends, in alphabetical order.

    The first hour is counted as a whole; of more than a week, the first day (UTC).
    """

    since: datetime
    types: list[TypeStats]


@dataclass(frozen=True)
class Part:
    """The ends in one part of a period: the statuses succeeded, dead and cancelled, with numbers of runs."""

    begin: datetime
    ended: dict[str, int]


@dataclass(frozen=True)
class Parts:
    """Each part of a period, the oldest first: the ends of all types, and those of some types.

    ``of_types`` maps a type and a status to a number for each part: as records they would be thousands.
    """

    of_all: list[Part]
    of_types: dict[str, dict[str, list[int]]]


def stats(connection: Connection, since: datetime | timedelta, only: Collection[str] = ()) -> Stats:
    """The statistics since an instant, or of a time back from now, of all types or of these.

    Expects a read transaction.
    """
    at = tallies.now(connection)
    begin = tallies.begin_of(at, since if isinstance(since, timedelta) else at - since)
    by_type = defaultdict[str, list[tuple[Key, Tally]]](list)
    for key, tally in tallies.sums_since(connection, begin).items():
        if not only or key.job_type in only:
            by_type[key.job_type].append((key, tally))
    return Stats(begin, [_of_type(job_type, by_type[job_type]) for job_type in sorted(by_type)])


def ends(connection: Connection, period: timedelta, part: timedelta, most: int = 0) -> Parts:
    """The ends of the last ``period`` in parts of some hours, of all types and of each of the first ``most``.

    Old ends all stand in the first hour of their day. Expects a read transaction.
    """
    now = tallies.now(connection)
    begin = tallies.begin_of(now, period)
    found = tallies.ends_since(connection, begin, part, with_types=most > 0)
    shown = sorted({each.job_type for each in found})[:most]
    count = (now - begin) // part + 1
    of_all = [Part(begin + part * number, dict.fromkeys(map(str, FINISHED), 0)) for number in range(count)]
    of_types = {name: {str(status): [0] * count for status in FINISHED} for name in shown}
    for each in found:
        of_type = of_types[each.job_type][each.status] if each.job_type in of_types else [0] * count
        for number, ended in each.ends.items():
            if 0 <= number < count:
                of_all[number].ended[each.status] += ended
                of_type[number] = ended
    return Parts(of_all, of_types)


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
        _durations(together.processors, together.most_processor),
        together.processor if together.processors else None,
        _sizes(together.memories, together.most_memory),
    )


def _durations(histogram: Bins, longest: float) -> Durations:
    p50, p95 = (quantile(histogram, share, longest) for share in (0.5, 0.95))
    return Durations(p50, p95, longest if sum(histogram) else None)


def _sizes(histogram: Bins, largest: int) -> Sizes:
    p50, p95 = (quantile(histogram, share, largest, BOUNDS_BYTES) for share in (0.5, 0.95))
    if p50 is None or p95 is None:
        return Sizes(None, None, None)
    return Sizes(round(p50), round(p95), largest)
