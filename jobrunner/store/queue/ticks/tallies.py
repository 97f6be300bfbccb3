"""Tallies: how many attempts and runs ended, by hour and type, for counts and charts that read no runs.

They are made from the attempts, not beside them: ``fold`` counts the attempts after those that were counted before. So
a killed tick is counted like any other, and a reader adds the few attempts that are not counted yet. An end without an
attempt (a passed start deadline, an operator's decision) is noted by its own transaction with ``add_ends``.

On PostgreSQL an attempt with a lower id may be committed later. So ``fold`` goes only up to an id at which it has
looked before, once all transactions that wrote at that time are over.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import chain
from typing import NamedTuple, TypeAlias, TypeVar

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.sql.histogram import Bins, merged
from jobrunner.store.sql.statement import Prepared, Row

MOST_FOLDED = 20_000
"""Ids of attempts that one ``fold`` counts: a tenth of a second."""
MOST_COMPACTED = 2_000
LONGEST_BY_HOUR = timedelta(days=7)
"""A longer period begins with a day (UTC), because old tallies know only in which day something ended."""
HOURS_STAY = timedelta(hours=2)
"""So long after its begin the rows of an hour become one."""
HOURS_TO_DAYS = LONGEST_BY_HOUR + timedelta(days=1)
"""A day that begins so long before a day becomes one row: a day more, of which a part may be in the longest period by
the hour.
"""
_DAYS_STAY = timedelta(days=800)
_KEPT_SUMS = 8192
"""Histograms of a day that a process keeps: the dashboard asks for the same days again. 30 types need some 3200."""
_TOTALLED = ("ends", "waited", "ran", "waits", "runs")

_MARKS, _SET_MARKS = Prepared("tallies.marks"), Prepared("tallies.set_marks")
_ADD, _DELETE = Prepared("tallies.add"), Prepared("tallies.delete")


class Key(NamedTuple):
    """What is counted: how the attempts of a type ended, and the status of their runs afterwards.

    ``outcome`` "" is for runs that ended without an attempt.
    """

    job_type: str
    outcome: str
    status: str


class Tally(NamedTuple):
    """A number of ends. ``waited`` and ``ran`` are sums of seconds; ``waits`` and ``runs`` are their histograms.

    ``processor`` and what follows are those of the attempts whose cost is known: seconds, and bytes.
    """

    ends: int = 0
    waited: float = 0.0
    longest_wait: float = 0.0
    ran: float = 0.0
    longest_run: float = 0.0
    waits: Bins = ()
    runs: Bins = ()
    processor: float = 0.0
    most_processor: float = 0.0
    processors: Bins = ()
    most_memory: int = 0
    memories: Bins = ()


K = TypeVar("K")
Tallies: TypeAlias = Mapping[tuple[datetime, Key], Tally]


def sum_of(tallies: Iterable[Tally]) -> Tally:
    """All of them together."""
    listed = list(tallies)
    return Tally(
        ends=sum(each.ends for each in listed),
        waited=sum(each.waited for each in listed),
        longest_wait=max((each.longest_wait for each in listed), default=0.0),
        ran=sum(each.ran for each in listed),
        longest_run=max((each.longest_run for each in listed), default=0.0),
        waits=merged(each.waits for each in listed),
        runs=merged(each.runs for each in listed),
        processor=sum(each.processor for each in listed),
        most_processor=max((each.most_processor for each in listed), default=0.0),
        processors=merged(each.processors for each in listed),
        most_memory=max((each.most_memory for each in listed), default=0),
        memories=merged(each.memories for each in listed),
    )


def _summed(counted: Iterable[tuple[K, Tally]]) -> dict[K, Tally]:
    """The sum of the tallies of each key."""
    together = defaultdict[K, list[Tally]](list)
    for key, tally in counted:
        together[key].append(tally)
    return {key: sum_of(tallies) for key, tallies in together.items()}


def fold(connection: Connection) -> bool:
    """Count attempts that are not counted yet; whether the next call may count more. Expects a write transaction.

    Does nothing while another transaction counts.
    """
    marks = connection.execute(_MARKS).one_or_none()
    if marks is None:
        return False
    # Whoever wrote when ``counting_to`` was read has a lower number than a transaction that begins to write later. A
    # number above our own is of another server, from which this database was restored: nothing of it is under way here.
    is_known = marks.counting_after is not None and marks.counting_after <= marks.own
    after = marks.counting_after if is_known else marks.own
    settled: int = marks.counting_to if marks.oldest >= after else marks.counted_to
    if connection.traits.has_one_writer:
        settled = marks.newest
    upto = max(marks.counted_to, min(settled, marks.counted_to + MOST_FOLDED))
    if upto > marks.counted_to:
        found = connection.execute(Prepared("tallies.ended"), {"after": marks.counted_to, "upto": upto}).all()
        _add(connection, "hour", _by_hour(found))
    is_done = upto >= marks.counting_to
    following = {
        "new_counted_to": upto,
        "new_counting_to": marks.newest if is_done else marks.counting_to,
        "new_counting_after": None if is_done else after,
    }
    connection.execute(_SET_MARKS, following)
    has_more: bool = upto < settled or (is_done and upto < marks.newest)
    return has_more


def count_attempts_of(connection: Connection, run_ids: Collection[int]) -> None:
    """Count the attempts of runs that this transaction is about to delete, as far as they are not counted yet."""
    given = {"given": [{"id": run_id} for run_id in run_ids]}
    marks = connection.execute(Prepared("tallies.lock_counted_to"), given).one()
    if marks.newest > marks.counted_to:
        found = connection.execute(Prepared("tallies.ended_of_runs"), {**given, "after": marks.counted_to}).all()
        _add(connection, "hour", _by_hour(found))


def _by_hour(found: Iterable[Row]) -> dict[tuple[datetime, Key], Tally]:
    return _summed(((row.at, _key_of(row)), _with_costs(row, _of_bins(row))) for row in found)


def _of_bins(row: Row) -> Tally:
    """A row whose attempts all lie in one bin of each histogram."""
    waits, runs = (_in_bin(index, row.ends) for index in (row.wait_bin, row.run_bin))
    return Tally(row.ends, row.waited, row.longest_wait, row.ran, row.longest_run, waits, runs)


def _with_costs(row: Row, tally: Tally) -> Tally:
    processors, memories = (_in_bin(index, row.ends) for index in (row.processor_bin, row.memory_bin))
    return tally._replace(
        processor=row.processor,
        most_processor=row.most_processor,
        processors=processors,
        most_memory=row.most_memory,
        memories=memories,
    )


def _in_bin(index: int | None, count: int) -> Bins:
    return () if index is None else [0] * index + [count]


def _add(connection: Connection, span: str, tallies: Tallies, *, is_old: bool = False) -> None:
    given = [
        {"at": at, "span": span, **key._asdict(), **tally._asdict(), "is_in_totals": int(is_old)}
        for (at, key), tally in tallies.items()
    ]
    if given:
        connection.execute(_ADD, {"given": given})


def add_ends(connection: Connection, ends: Iterable[tuple[str, str]]) -> None:
    """Note runs that end without an attempt: their types and new statuses. Expects the transaction that ends them."""
    given = [
        {"job_type": job_type, "status": status, "ends": count} for (job_type, status), count in Counter(ends).items()
    ]
    if given:
        connection.execute(Prepared("tallies.add_ends"), {"given": given})


def compact(connection: Connection, limit: int = MOST_COMPACTED) -> int:
    """Make few tallies of many, and add them to the totals; how many rows it has read. Expects a write transaction."""
    at = now(connection)
    hours = _take(connection, Prepared("tallies.new"), at - HOURS_STAY, limit)
    _add_to_totals(connection, hours)
    _add(connection, "hour", _merged(hours, lambda begin: begin), is_old=True)
    # Whole days: hours that are taken one by one would become as many rows as before.
    days = _take(connection, Prepared("tallies.of_old_hours"), _day_of(at - HOURS_TO_DAYS), limit)
    _add(connection, "day", _merged(days, _day_of), is_old=True)
    connection.execute(Prepared("tallies.delete_old_days"), {"before": at - _DAYS_STAY})
    return len(hours) + len(days)


def begin_of(at: datetime, period: timedelta) -> datetime:
    """From where on a period up to an instant is counted: the begin of an hour, or of a day if it is a long period."""
    begin = (at - period).replace(minute=0, second=0, microsecond=0)
    return _day_of(begin) if period > LONGEST_BY_HOUR else begin


def _day_of(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


def _take(connection: Connection, statement: Prepared, before: datetime, limit: int) -> list[Row]:
    """Delete the oldest of these rows, and return them."""
    found = connection.execute(statement, {"before": before, "limit": limit}).all()
    if found:
        connection.execute(_DELETE, {"given": [{"id": row.id} for row in found]})
    return found


def _merged(found: Iterable[Row], begin: Callable[[datetime], datetime]) -> dict[tuple[datetime, Key], Tally]:
    return _summed(((begin(row.at), _key_of(row)), _tally_of(row)) for row in found)


def _key_of(row: Row) -> Key:
    return Key(row.job_type, row.outcome, row.status)


def _tally_of(row: Row) -> Tally:
    return Tally(*(getattr(row, name) for name in Tally._fields))


def _total_or_bins(row: Row) -> Tally:
    """A row of a statement that also reads attempts which are in no tally yet."""
    if row.waits is None:
        return _of_bins(row)
    return _total_of(row)._replace(longest_wait=row.longest_wait, longest_run=row.longest_run)


def _add_to_totals(connection: Connection, found: Iterable[Row]) -> None:
    new = _summed((_key_of(row), _tally_of(row)) for row in found)
    if not new:
        return
    keys = {"given": [key._asdict() for key in new]}
    connection.execute(Prepared("totals.begin"), keys)
    stored = ((_key_of(row), _total_of(row)) for row in connection.execute(Prepared("totals.some"), keys))
    given = [
        {**key._asdict(), **{name: getattr(tally, name) for name in _TOTALLED}}
        for key, tally in _summed(chain(new.items(), stored)).items()
    ]
    connection.execute(Prepared("totals.write"), {"given": given})


def _total_of(row: Row) -> Tally:
    return Tally(**{name: getattr(row, name) for name in _TOTALLED})


def now(connection: Connection) -> datetime:
    """The database's clock."""
    instant: datetime = connection.execute(Prepared("tallies.clock")).scalar_one()
    return instant


def totals(connection: Connection) -> dict[Key, Tally]:
    """All ends ever, exact. Their longest wait and run are those of the last hours only. Expects any transaction."""
    found = connection.execute(Prepared("totals.every_end"))
    return _summed((_key_of(row), _total_or_bins(row)) for row in found)


def sums_since(connection: Connection, instant: datetime) -> dict[Key, Tally]:
    """The ends from an instant on, one of ``begin_of``. Expects any transaction.

    The database sums them: with many types they are thousands of rows.
    """
    found = connection.execute(Prepared("tallies.sums_since"), {"since": instant})
    return _summed((_key_of(row), _tally_of_texts(row)) for row in found)


def _tally_of_texts(row: Row) -> Tally:
    if row.waits is None:
        return _with_costs(row, _of_bins(row))
    texts = ("waits", "runs", "processors", "memories")
    values = {name: getattr(row, name) for name in Tally._fields}
    return Tally(**values | {name: merged_text(values[name]) for name in texts})


@lru_cache(maxsize=_KEPT_SUMS)
def merged_text(text: str) -> Bins:
    """The sum of histograms that stand one after the other in a text of JSON."""
    return tuple(merged(json.loads(f"[{text}]")))


class EndsOfParts(NamedTuple):
    """How many runs ended with a status, in each part of a time in which any did. ``job_type`` "": of all types."""

    job_type: str
    status: str
    ends: Mapping[int, int]


def ends_since(
    connection: Connection, instant: datetime, part: timedelta, *, with_types: bool = False
) -> list[EndsOfParts]:
    """The runs that ended from an instant on, one of ``begin_of``, in parts of this length. Old ends all stand in the
    first hour of their day.
    """
    values = {"since": instant, "part_seconds": part.total_seconds()}
    found = connection.execute(Prepared("tallies.ends_since", (with_types,)), values)
    return [EndsOfParts(row.job_type if with_types else "", row.status, _ends_of(row)) for row in found]


def _ends_of(row: Row) -> Mapping[int, int]:
    parts, ends = (json.loads(f"[{text}]") for text in (row.part_listed, row.ends_listed))
    return dict(zip(parts, ends, strict=True))
