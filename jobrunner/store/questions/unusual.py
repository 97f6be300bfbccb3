"""Which types take longer or need more memory than before: reads the tallies only, some rows of each type.

What is recent is the shortest of three times in which a type has enough successful attempts. What is usual is what the
days say that housekeeping has made of hours: those of four weeks, of which the last ended eight days ago. So an hour is
in one of the two at most, and a type without that history is not judged.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import NamedTuple

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions.facts import Comparison, Least
from jobrunner.store.queue.ticks.tallies import HOURS_STAY, HOURS_TO_DAYS, merged_text
from jobrunner.store.sql.histogram import BOUNDS_BYTES, BOUNDS_SECONDS, Bins, quantile
from jobrunner.store.sql.statement import Prepared, Question, Row

HOURS, DAY, WEEK = timedelta(hours=3), timedelta(days=1), timedelta(days=7)
_NEWEST = HOURS_STAY - timedelta(hours=1)
"""Before this hour housekeeping has made one row of the rows of an hour. Of younger ones each tick has made some."""
USUAL = timedelta(days=28)
LEAST_USUAL = 20
"""Attempts that make what is usual: of fewer, what 95 of 100 did not exceed is the largest of all."""


class _Sum(NamedTuple):
    """The successful attempts of a type in some time."""

    seconds_back: float
    runs: Bins
    longest_run: float
    memories: Bins
    most_memory: float

    def seconds(self, share: float, least: int) -> float | None:
        """What this share did not exceed; None: these are too few."""
        return quantile(self.runs, share, self.longest_run, BOUNDS_SECONDS) if sum(self.runs) >= least else None

    def memory_bytes(self, share: float, least: int) -> float | None:
        """The same of the peak memory, of the attempts of which it is known."""
        return quantile(self.memories, share, self.most_memory, BOUNDS_BYTES) if sum(self.memories) >= least else None

    def is_much(self, least: Least) -> bool:
        """Whether half of enough attempts took so long, or had so much memory."""
        seconds, memory_bytes = self.seconds(0.5, least.attempts), self.memory_bytes(0.5, least.attempts)
        return (seconds or 0.0) >= least.seconds or (memory_bytes or 0.0) >= least.memory_bytes


def questions(least: Least) -> dict[str, Question]:
    """What ``look`` asks first."""
    return {
        "last_hours": _question("hour", _NEWEST + HOURS, _NEWEST, least),
        # Types with fewer attempts are looked for in the last week.
        "last_day": _question("hour", _NEWEST + DAY, _NEWEST, least._replace(attempts=1)),
    }


def look(connection: Connection, at: datetime, least: Least) -> list[Comparison]:
    """The types of which half of the recent attempts took so much, with what is usual for them. At most four
    statements, of which none reads an attempt. Expects a read transaction.
    """
    asked = questions(least)
    recent = _read(connection, asked["last_day"]) | _read(connection, asked["last_hours"])
    few = [name for name, found in recent.items() if sum(found.runs) < least.attempts]
    if few:
        recent |= _read(connection, _question("hour", _NEWEST + WEEK, _NEWEST, least, few))
    much = {name: found for name, found in recent.items() if found.is_much(least)}
    if not much:
        return []
    some = Least(LEAST_USUAL, 0.0, 0)
    usual = _read(connection, _question("day", HOURS_TO_DAYS + USUAL, HOURS_TO_DAYS, some, much))
    hour = at.replace(minute=0, second=0, microsecond=0)
    return [_compared(hour, name, found, usual[name], least) for name, found in sorted(much.items()) if name in usual]


def _question(
    span: str, since: timedelta, before: timedelta, least: Least, types: Collection[str] | None = None
) -> Question:
    values = {"since": -since.total_seconds(), "before": -before.total_seconds(), "least": least.attempts}
    values |= {"seconds": least.seconds, "memory_bytes": least.memory_bytes}
    given = {} if types is None else {"given": [{"job_type": each} for each in types]}
    return Prepared("unusual.sums", (span, types is not None)), {**values, **given}


def _read(connection: Connection, question: Question) -> dict[str, _Sum]:
    return {row.job_type: _sum_of(row, question[1]["since"]) for row in connection.execute(*question)}


def _sum_of(row: Row, seconds_back: float) -> _Sum:
    runs, memories = merged_text(row.runs), merged_text(row.memories)
    return _Sum(seconds_back, runs, row.longest_run, memories, row.most_memory)


def _compared(hour: datetime, job_type: str, recent: _Sum, usual: _Sum, least: Least) -> Comparison:
    return Comparison(
        job_type,
        hour + timedelta(seconds=recent.seconds_back),
        sum(recent.runs),
        recent.seconds(0.5, least.attempts),
        usual.seconds(0.95, LEAST_USUAL),
        recent.memory_bytes(0.5, least.attempts),
        usual.memory_bytes(0.95, LEAST_USUAL),
    )
