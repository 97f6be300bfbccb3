"""Which server of PostgreSQL a database lies on: after a failover, a restore or an upgrade it is another one.

Its standbys have the identifier of the cluster, too, and keep it at a promotion. The number of the timeline rises then.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from jobrunner.model import TICK
from jobrunner.store.drivers.connection import Connection, DriverError
from jobrunner.store.queue.ticks import audit
from jobrunner.store.sql.statement import Prepared

ACTION = "server changed"
"""Of the row in ``job_events``."""
_UNKNOWN = "?"
_SYSTEM = "SELECT system_identifier::text FROM pg_catalog.pg_control_system()"
# Not of pg_control_checkpoint(): after a promotion that is the old one until the next checkpoint.
_TIMELINE = (
    "SELECT (('x' || substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8))::bit(32)::int)::text"
)


class Server(NamedTuple):
    """The identifier of the cluster and its timeline. A part that our role may not see is ``?``."""

    system: str
    timeline: str

    def __str__(self) -> str:
        return f"{self.system}/{self.timeline}"


class Move(NamedTuple):
    """The database lies on another server than before."""

    before: Server
    after: Server

    @property
    def is_promotion(self) -> bool:
        """Whether it is the same cluster: a standby was promoted, or a backup of it went back to some point in time."""
        return self.before.system == self.after.system != _UNKNOWN


def note_move(connection: Connection, known: str | None, at: datetime) -> Move | None:
    """Compare the server with the one that was known, write it, and record a move in the audit trail.

    Expects a write transaction. A server that does not say what it is has not moved.
    """
    if not connection.traits.has_server:
        return None
    system, _, timeline = (known or "").partition("/")
    before = Server(system or _UNKNOWN, timeline or _UNKNOWN)
    # What this tick's role may not see, another one's may have seen.
    after = Server(_ask(connection, _SYSTEM) or before.system, _ask(connection, _TIMELINE) or before.timeline)
    if after == before:
        return None
    connection.execute(Prepared("ticks.note_server"), {"seen": str(after)})
    if all(known in (_UNKNOWN, found) for known, found in zip(before, after, strict=True)):
        return None
    detail = {"before": before._asdict(), "after": after._asdict()}
    audit.write(connection, [audit.event(TICK, ACTION, None, detail, at)])
    return Move(before, after)


def _ask(connection: Connection, question: str) -> str | None:
    try:
        with connection.savepoint():
            return str(connection.execute(question).scalar_one())
    except DriverError as error:
        if error.is_gone:
            raise
        # Our role may not ask, or it is another product that speaks the same language.
        return None
