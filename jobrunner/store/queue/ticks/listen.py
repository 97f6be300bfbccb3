"""Listening: what a tick asks the database while it waits for new runs, and how it is notified of them.

Every function that takes a connection expects a transaction of ``Database``.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from enum import Enum
from typing import NamedTuple

from jobrunner.errors import ConnectionLost, JobrunnerError
from jobrunner.model import TickKind
from jobrunner.store.drivers import locks
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database
from jobrunner.store.drivers.notify import open_notifier
from jobrunner.store.queue.ticks.ticks import TickRow
from jobrunner.store.sql.statement import Prepared


class Outlook(NamedTuple):
    """What is to be done now. ``next_in`` is the number of seconds until there is more, or infinite if not known.

    ``next_slot_in`` is the same for slots of schedules.
    """

    is_superseded: bool
    is_due: bool
    is_claimable: bool
    next_in: float
    next_slot_in: float


class Reported(Enum):
    """What became of the report that a tick listens."""

    LISTENS = "it listens"
    LOST = "its row is lost"
    ENOUGH = "enough other hosts listen"


def report_listening(connection: Connection, row: TickRow, kind: TickKind, most: int, longest: timedelta) -> Reported:
    """Record that this tick listens for new runs, unless ``most`` other hosts do. An older tick of its kind may end.

    ``longest`` is how long any tick may listen: after this time one that was killed does not count any more. Expects a
    write transaction.
    """
    # Of hosts that come at the same time the first ones listen: the others count them.
    locks.lock_named_row(connection, "listeners")
    values = {**kind._asdict(), "before": -longest.total_seconds()}
    if connection.execute(Prepared("listen.other_hosts"), values).one().hosts >= most:
        return Reported.ENOUGH
    found = connection.execute(Prepared("listen.report"), row.values()).one_or_none()
    return Reported.LOST if found is None else Reported.LISTENS


def look_ahead(connection: Connection, tick_id: int, kind: TickKind) -> Outlook:
    """Whether a newer tick of the same kind listens, what is due, and when there will be more.

    A tick of another application does not supersede this one, because it has other handlers.
    """
    values = {"tick_id": tick_id, **kind._asdict()}
    row = connection.execute(Prepared("listen.look_ahead"), values).one()
    never = float("inf")
    next_in, next_slot_in = (
        never if at is None else (at - row.now).total_seconds() for at in (row.next_run_at, row.next_slot_at)
    )
    return Outlook(
        is_superseded=bool(row.is_superseded),
        is_due=bool(row.is_expandable or row.is_recoverable or row.is_parent_ended or row.overdue_since is not None),
        is_claimable=bool(not row.is_host_paused and (row.is_ungated_due or row.is_gate_ready or row.is_own_due)),
        next_in=min(next_in, next_slot_in),
        next_slot_in=next_slot_in,
    )


def is_superseded(connection: Connection, tick_id: int, kind: TickKind) -> bool:
    """Whether a newer tick of the same kind listens."""
    values = {"tick_id": tick_id, **kind._asdict()}
    return bool(connection.execute(Prepared("listen.is_superseded"), values).scalar_one())


class Listener:
    """Notifies a tick of runs that are committed, on the connection of its main loop, until that connection is lost.

    ``descriptor`` and ``look_seconds`` are those of ``drivers.notify.Notifier``.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._notifier = database.write(open_notifier)
        self._connection = database.connect()
        self.is_paused = False
        self.descriptor = self._notifier.descriptor
        self.look_seconds = self._notifier.look_seconds

    def notifications(self) -> int:
        """The number of notifications since the last call. Raises ConnectionLost."""
        try:
            # ``Database`` may have opened a new connection, which gets no notifications.
            if self._database.is_on(self._connection):
                return self._notifier.notifications()
        except OSError:
            pass
        raise ConnectionLost(f"lost the connection to the database {self._database.location.label}")

    def pause(self, *, paused: bool) -> None:
        """Stop or restart notifications. Raises DatabaseUnavailable."""
        if paused != self.is_paused:
            self._database.write(self._notifier.pause if paused else self._notifier.resume)
            self.is_paused = paused

    def close(self) -> None:
        """End the notifications."""
        with suppress(JobrunnerError):
            if self._database.is_on(self._connection):
                self.pause(paused=True)
                self._database.write(self._notifier.remove)
        self._notifier.close()
