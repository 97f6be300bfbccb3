"""What ``jobrunner metrics`` reads, at one instant. Expects a read transaction, but for ``take_turn``."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions import findings
from jobrunner.store.questions.facts import MOST_COUNTED, DueType, HostTick
from jobrunner.store.queue.ticks import tallies
from jobrunner.store.queue.ticks.tallies import Key, Tally
from jobrunner.store.sql.statement import Prepared

# Three times as long as an idle host may be silent.
_TURN = timedelta(minutes=15)


class Numbers(NamedTuple):
    """The numbers of the whole database: all ends ever, and what is due and running now."""

    ends: Mapping[Key, Tally]
    due: list[DueType]
    running: Mapping[str, int]


def take_turn(connection: Connection, host: str) -> bool:
    """Whether this host writes the numbers of the database. Expects a write transaction.

    One host has the turn until it did not take it again for a quarter of an hour. So the sum over all hosts is right.
    """
    seconds = _TURN.total_seconds()
    values = {"own_host": host, "before": -seconds, "after": seconds}
    return connection.execute(Prepared("metrics.take_turn"), values).one_or_none() is not None


def numbers(connection: Connection, most: int = MOST_COUNTED) -> Numbers:
    """The numbers of the database. Of the due runs of a type ``most`` are counted."""
    running = {row.job_type: row.runs for row in connection.execute(Prepared("metrics.running"))}
    return Numbers(tallies.totals(connection), findings.due_types(connection, most), running)


def last_ticks(connection: Connection) -> tuple[datetime, list[HostTick]]:
    """The database's clock, and the last tick of each host."""
    return tallies.now(connection), findings.last_ticks(connection)
