"""How many runs ended in each minute of the last hour, for the first page of the dashboard.

It counts rows of the index of the runs that have ended, the newest of each status first, and no more than it is asked
for. Expects a read transaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Integer, Select, bindparam, cast, func, literal_column, select, union_all

from jobrunner.lifecycle import FINISHED
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.schema import job_runs
from jobrunner.store.sql.dialect.counting import seconds_between
from jobrunner.store.sql.dialect.values import BigKey, UtcTime

MINUTE = timedelta(minutes=1)
_MINUTES = 60
MOST = 5000
"""Runs of each status that are counted: some milliseconds. Where more ended, the first minutes are left out."""


@dataclass(frozen=True)
class LastHour:
    """The runs that ended, by minute and status. ``begin`` is that of the first minute that was counted whole."""

    begin: datetime
    ended: list[tuple[datetime, str, int]]
    is_whole: bool


def last_hour(connection: Connection, at: datetime, most: int = MOST) -> LastHour:
    """The minute of ``at`` and the sixty before, or as many of them as have no more than ``most`` runs of a status."""
    begin = at.replace(second=0, microsecond=0) - _MINUTES * MINUTE
    found = connection.execute(_counting(), {"since": begin, "most": most}).all()
    full = {status.value for status in FINISHED if sum(row.runs for row in found if row.status == status.value) >= most}
    # The minute in which the reading of a status ended may have more runs than were read.
    cut = max((min(row.minute for row in found if row.status == status) + 1 for status in full), default=0)
    ended = [(begin + row.minute * MINUTE, row.status, row.runs) for row in found if row.minute >= cut]
    return LastHour(begin + cut * MINUTE, sorted(ended), not full)


def _counting() -> Select[tuple[int, str, int]]:
    columns, since = job_runs.c, bindparam("since", type_=UtcTime())
    newest = [
        select(literal_column(f"'{status}'").label("status"), columns.finished_at)
        .where(columns.status == literal_column(f"'{status}'"), columns.finished_at >= since)
        .order_by(columns.finished_at.desc())
        .limit(bindparam("most", type_=Integer))
        .subquery(f"newest_{status}")
        for status in FINISHED
    ]
    ended = union_all(*(select(each.c.status, each.c.finished_at) for each in newest)).subquery("ended").c
    seconds = seconds_between(since, ended.finished_at) / literal_column("60")
    minute = cast(func.floor(seconds), Integer).label("minute")
    counted = select(minute, ended.status, cast(func.count(), BigKey).label("runs"))
    return counted.group_by(minute, ended.status)
