"""Whether ticks have stopped: the one rule of ``explain``, ``health``, ``status`` and ``doctor``."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.sql.statement import Prepared, Question

QUESTION: Question = (Prepared("explain.last_ticks"), {"most": 7})
"""What ``look`` asks."""
_UNKNOWN = timedelta(minutes=5)
"""Ticks whose rhythm is not known yet have stopped after this time."""
_EACH_MINUTE = timedelta(seconds=90)
_SLACK = timedelta(minutes=1)
_TOGETHER = timedelta(seconds=10)
"""Ticks of one host that begin in this time, of several applications, belong to one beat."""


class Beat(NamedTuple):
    """The last tick of all, and the usual time between the last ticks of its host. None: there are none, or too few."""

    host: str | None
    started_at: datetime | None
    usual: timedelta | None

    def missing_after(self, tick_age: timedelta) -> timedelta:
        """If no tick has begun for so long, ticks have stopped.

        That is after ``tick_age``, and where ticks come less often than each minute, when two have not come.
        """
        if self.usual is None:
            return max(tick_age, _UNKNOWN)
        return tick_age if self.usual < _EACH_MINUTE else max(tick_age, 2 * self.usual + _SLACK)

    def has_stopped(self, at: datetime, tick_age: timedelta) -> bool:
        """Whether no tick has begun for so long that one is missing."""
        return self.started_at is None or at - self.started_at >= self.missing_after(tick_age)


def look(connection: Connection) -> Beat:
    """How ticks come. Expects a read transaction."""
    found = connection.execute(*QUESTION).all()
    if not found:
        return Beat(None, None, None)
    last = [row for row in found if not row.is_of_host]
    # Those of the highest ids, because a clock that was ahead gives a time to come.
    newest = max(last, key=lambda row: row.started_at)
    # Of a host with a name of its own for each tick, as in Kubernetes, all hosts together have a rhythm.
    each = usual([row.started_at for row in found if row.is_of_host]) or usual([row.started_at for row in last])
    return Beat(newest.host, newest.started_at, each)


def usual(newest_first: Sequence[datetime]) -> timedelta | None:
    """The usual time between these instants. None: there are too few."""
    between = sorted(
        later - earlier for later, earlier in itertools.pairwise(newest_first) if later - earlier >= _TOGETHER
    )
    return between[len(between) // 2] if len(between) > 1 else None
