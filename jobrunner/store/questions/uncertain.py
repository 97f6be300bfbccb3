"""The effects of which it is not known whether they were applied. Expects a read transaction."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.reading import read
from jobrunner.store.sql.statement import Prepared

_MOST_LISTED = 1_000_000


@dataclass(frozen=True)
class OpenEffect:
    """An effect whose call did not end, or ended with an error."""

    key: str
    run_id: int
    job_type: str
    attempt: int
    intended_at: datetime
    COLUMNS: ClassVar = "key, run=run_id, type=job_type, attempt, since=intended_at"


def listed(connection: Connection, newest: int = _MOST_LISTED) -> list[OpenEffect]:
    """The uncertain effects, the oldest first."""
    return read(connection, OpenEffect, Prepared("effects.uncertain"), {"most": newest})


def count(connection: Connection) -> int:
    """How many effects are uncertain."""
    found: int = connection.execute(Prepared("effects.count_uncertain")).scalar_one()
    return found
