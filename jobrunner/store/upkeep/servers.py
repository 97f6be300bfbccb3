"""Which server of PostgreSQL a database lies on: after a failover, a restore or an upgrade it is another one.

Its standbys have the identifier of the cluster, too, and keep it at a promotion. The number of the timeline rises then.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from jobrunner.model import TICK
from jobrunner.store.drivers.connection import Connection, DriverError
from jobrunner.store.queue import effects
from jobrunner.store.queue.ticks import audit
from jobrunner.store.sql.statement import Prepared

ACTION = "server changed"
"""Of the row in ``job_events``."""
EFFECTS_PAUSE = timedelta(seconds=100)
"""Cron starts a tick on each host within a minute, and the one that ends the pause comes at a full minute, too."""
_LONGEST_PAUSE = timedelta(days=1)
"""If no tick comes for so long, the pause begins again."""
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


class Promotion(NamedTuple):
    """A standby was promoted. ``is_new``: no tick has recorded it before."""

    move: Move
    is_new: bool


def note_promotion(connection: Connection) -> Promotion | None:
    """Record a promotion in the audit trail, and note the new server when the pause of effects is over.

    Until it is noted no effect begins (``effects.intend``), so that the ticks of each host can put back first what the
    database has forgotten of them. Expects a write transaction. None: no standby was promoted, or it is noted already.
    """
    row = connection.execute(Prepared("ticks.lock_server")).one()
    if row.promoted is None:
        return None
    before, after = _server(row.server), _server(row.promoted)
    recorded = connection.execute(Prepared("audit.recorded"), {"name": ACTION, "since": row.now - _LONGEST_PAUSE})
    recorded_at = [each.at for each in recorded if each.detail.get("after") == after._asdict()]
    if not recorded_at:
        _record(connection, Move(before, after), row.now)
    elif min(recorded_at) <= row.now - EFFECTS_PAUSE:
        connection.execute(Prepared("ticks.note_server"), {"seen": str(after)})
    return Promotion(Move(before, after), is_new=not recorded_at)


def note_move(connection: Connection, known: str | None, at: datetime) -> Move | None:
    """Compare the server with the one that was known, write it, and record a move in the audit trail.

    Expects a write transaction. A server that does not say what it is has not moved. A promotion is left to
    ``note_promotion``.
    """
    if not connection.traits.has_server or effects.is_paused(connection):
        return None
    before = _server(known)
    after = _seen(connection, before)
    if after == before:
        return None
    connection.execute(Prepared("ticks.note_server"), {"seen": str(after)})
    if all(known in (_UNKNOWN, found) for known, found in zip(before, after, strict=True)):
        return None
    return _record(connection, Move(before, after), at)


def _server(known: str | None) -> Server:
    system, _, timeline = (known or "").partition("/")
    return Server(system or _UNKNOWN, timeline or _UNKNOWN)


def _seen(connection: Connection, before: Server) -> Server:
    # What this tick's role may not see, another one's may have seen.
    return Server(_ask(connection, _SYSTEM) or before.system, _ask(connection, _TIMELINE) or before.timeline)


def _record(connection: Connection, move: Move, at: datetime) -> Move:
    detail = {name: server._asdict() for name, server in move._asdict().items()}
    audit.write(connection, [audit.event(TICK, ACTION, None, detail, at)])
    return move


def _ask(connection: Connection, question: str) -> str | None:
    try:
        with connection.savepoint():
            return str(connection.execute(question).scalar_one())
    except DriverError as error:
        if error.is_gone:
            raise
        # Our role may not ask, or it is another product that speaks the same language.
        return None
