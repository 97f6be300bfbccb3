"""The hosts whose ticks are of an older release than one, as during an upgrade."""

from __future__ import annotations

import re
from datetime import timedelta

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.sql.statement import Prepared

WITH_SET_LIMITS = (0, 2)
"""The first release that keeps to limits that were set at run time."""
_GONE = timedelta(days=1)


def hosts(connection: Connection, version: tuple[int, int]) -> list[str]:
    """The hosts that ticked in the last day, and whose last tick was of a release before this one.

    Expects any transaction.
    """
    at = connection.execute(Prepared("tallies.clock")).scalar_one()
    ticks = connection.execute(Prepared("overview.last_ticks")).all()
    return [row.host for row in ticks if row.started_at > at - _GONE and _number_of(row.version) < version]


def _number_of(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d{1,9}", version)[:2]))
