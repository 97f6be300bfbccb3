"""The rows of ticks, and the questions what is due."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, NamedTuple

from jobrunner.model import Owner, Policy, TickKind
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.queue.ticks import hosts
from jobrunner.store.sql.statement import Prepared

MOST_LEFT = 1000
"""So many due runs are counted at the end of a tick that leaves some."""
_LIMITS = ("budget", "batch")


class TickRow(NamedTuple):
    """The id of the row of a tick, and the tick. After an asynchronous promotion another tick may have that id."""

    id: int
    owner: Owner

    def values(self) -> dict[str, Any]:
        """For the statements that write only the tick's own row."""
        return {"tick_id": self.id, "own_host": self.owner.host, "own_worker": self.owner.name}


class OpenedTick(NamedTuple):
    """The id of the row of a tick, and the digest of the last report of its host, if it is not too old.

    ``server`` is the one that was noted last, ``is_promoted``: it was a standby of that one. See ``servers``.
    ``has_templates``: there are schedules whose slots get a run on every host, so that the host must report.
    """

    id: int
    reported: str | None
    server: str | None
    is_promoted: bool
    has_templates: bool


class PruneTurn(NamedTuple):
    """When this tick took it, and the server that the tick before it has seen: see ``servers``."""

    at: datetime
    server: str | None


class TickEnd(NamedTuple):
    """What a tick has done, its error, and why it claimed no more: empty, budget, batch, signal, superseded, error."""

    counts: Mapping[str, int]
    error: str | None = None
    ended_by: str = "empty"


def open_tick(connection: Connection, owner: Owner, kind: TickKind, version: str) -> OpenedTick:
    """Insert the row of a tick that begins. Expects a write transaction."""
    values = {
        "host_id": hosts.id_of(kind),
        "its_worker": owner.name,
        "its_version": version,
        **{f"its_{name}": value for name, value in kind._asdict().items()},
    }
    return OpenedTick(*connection.execute(Prepared("ticks.open"), values).one())


def close_tick(connection: Connection, row: TickRow, end: TickEnd) -> bool:
    """Close the row of a tick. Expects a write transaction. An open row is a tick that is at work or was killed.

    False: its row is lost. If the tick had to leave runs behind, they are counted: the due runs of each type, oldest
    first, up to a bound.
    """
    left = count_left(connection) if end.ended_by in (*_LIMITS, "signal") else {}
    values = {
        **row.values(),
        "its_counts": dict(end.counts),
        "its_error": end.error,
        "its_ended_by": "empty" if end.ended_by in _LIMITS and not left else end.ended_by,
        "its_left_due": left or None,
    }
    return connection.execute(Prepared("ticks.close"), values).one_or_none() is not None


def count_left(connection: Connection) -> dict[str, Any]:
    """The due runs of each type: ``runs`` by type, and ``at_least``, whether there are more than were counted.

    Empty if none is due. Runs behind the gates of limits are not counted.
    """
    counted = {row.job_type: row.runs for row in connection.execute(Prepared("ticks.left"), {"limit": MOST_LEFT + 1})}
    return {"runs": counted, "at_least": sum(counted.values()) > MOST_LEFT} if counted else {}


def is_anything_due(connection: Connection, host: str | None = None) -> bool:
    """Whether there is anything to recover, end, expand or claim, of any job type. ``host`` None: one not paused."""
    return bool(connection.execute(Prepared("ticks.is_due"), {"host": host}).scalar_one())


def is_any_expandable(connection: Connection, host: str | None = None) -> bool:
    """Whether a tick of a host may have a slot to expand. ``host`` None, also below: one with nothing of its own."""
    return bool(connection.execute(Prepared("schedules.is_any_expandable"), {"host": host}).scalar_one())


def count_claimable(
    connection: Connection,
    policies: Sequence[Policy],
    limit: int,
    host: str | None = None,
    since: Mapping[str, datetime] = MappingProxyType({}),
) -> int:
    """How many runs of these types are due for a host, counted up to ``limit``; ``since`` as for a claim."""
    if not policies:
        return 0
    types = []
    for policy in policies:
        most = limit if policy.concurrency is None else min(limit, policy.concurrency)
        if policy.limits is not None and policy.limits.max_running is not None:
            most = min(most, policy.limits.max_running)
        types.append({"job_type": policy.job_type, "most": most, "since": since.get(policy.job_type)})
    claimable = Prepared("ticks.claimable", (connection.database,))
    return len(connection.execute(claimable, {"types": types, "host": host, "limit": limit}).all())


def is_quarantined_due(connection: Connection, host: str | None = None) -> bool:
    """Whether a quarantined run of any type is due: one whose lease expired so often that it must start alone."""
    return bool(connection.execute(Prepared("ticks.is_quarantined_due"), {"host": host}).scalar_one())


def take_prune_turn(connection: Connection) -> PruneTurn | None:
    """The turn of this tick to prune, which comes every ten minutes per database. None: not now."""
    if connection.execute(Prepared("ticks.free_prune_turn")).one_or_none() is None:
        return None
    return PruneTurn(*connection.execute(Prepared("ticks.take_prune_turn")).one())


def prune_again(connection: Connection, after: timedelta) -> None:
    """End the turn to prune: a tick may have it after this time already, at most ten minutes. Expects a write."""
    connection.execute(Prepared("ticks.prune_again"), {"after": after.total_seconds()})
