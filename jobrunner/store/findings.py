"""What there may be to find: the facts that ``admin.findings`` judges. Expects a read transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from jobrunner.lifecycle import FINISHED
from jobrunner.store import tallies
from jobrunner.store.connection import Connection
from jobrunner.store.statement import Prepared

PERIOD = timedelta(hours=1)
"""Killed ticks and dead runs are counted over this time."""
MOST_COUNTED = 10_000
"""Rows that a finding counts. Of more it says that there are more."""
_CLOCK_STEP = timedelta(minutes=1)
_HOSTS, _KILLED_TICKS = Prepared("findings.hosts"), Prepared("findings.killed_ticks")
_DEAD, _EXPIRED_LEASES = Prepared("findings.dead"), Prepared("findings.expired_leases")
_UNCERTAIN_EFFECTS = Prepared("findings.uncertain_effects")
_BROKEN_DEFINITIONS, _OLD_PAUSES = Prepared("findings.broken_definitions"), Prepared("findings.old_pauses")


@dataclass(frozen=True)
class HostTick:
    """The last tick of a host. ``ticks`` is how many it has, up to three."""

    host: str
    started_at: datetime
    finished_at: datetime | None
    error: str | None
    ticks: int


@dataclass(frozen=True)
class KilledTicks:
    """How many ticks of a host were killed in the last hour, and when the last of them started."""

    host: str
    ticks: int
    last_at: datetime


@dataclass(frozen=True)
class Flow:
    """The runs of a type that became due since an instant and wait still, and those that ended since."""

    since: datetime
    came: int
    ended: int


@dataclass(frozen=True)
class DueType:
    """A type with due runs. ``id`` and ``run_at`` are those of the run whose turn is next.

    ``flow`` is looked at only if that run waits longer than its ``since``.
    """

    job_type: str
    id: int
    run_at: datetime
    runs: int
    flow: Flow | None = None


@dataclass(frozen=True)
class DeadType:
    """How many runs of a type died in the last hour, and one of them."""

    job_type: str
    runs: int
    id: int


@dataclass(frozen=True)
class ExpiredLeases:
    """Runs whose lease expired so long ago that a tick should have recovered them."""

    runs: int
    id: int | None
    first_at: datetime | None


@dataclass(frozen=True)
class UncertainEffects:
    """The effects that a person must settle, and since when the first of them is open."""

    effects: int
    first_at: datetime | None


@dataclass(frozen=True)
class BrokenDefinition:
    """A definition that cannot be expanded. ``last_error`` None: a clock was ahead when it was expanded."""

    name: str
    last_error: str | None
    last_slot_at: datetime


@dataclass(frozen=True)
class OldPause:
    """A job type, a host or everything, and who has paused it. ``name`` "" is that of everything."""

    kind: str
    name: str
    actor: str
    reason: str | None
    paused_at: datetime


@dataclass(frozen=True)
class Facts:
    """All of them, read at one instant of the database's clock."""

    at: datetime
    hosts: list[HostTick]
    killed: list[KilledTicks]
    due: list[DueType]
    dead: list[DeadType]
    expired: ExpiredLeases
    uncertain: UncertainEffects
    broken: list[BrokenDefinition]
    pauses: list[OldPause]


@dataclass(frozen=True)
class Limits:
    """When a tick that is open and has no live lease was killed, and an expired lease should have been recovered.

    ``behind``: how long the next run of a type must wait until its throughput is looked at. ``paused_for``: how long a
    pause must last to be noted. ``most``: see MOST_COUNTED.
    """

    killed_after: timedelta
    expired_for: timedelta
    behind: timedelta
    paused_for: timedelta
    most: int = MOST_COUNTED


def facts(connection: Connection, limits: Limits) -> Facts:
    """The facts. Each statement is as quick beside a long history, and beside a long queue."""

    def rows(statement: Prepared, **seconds: timedelta) -> Sequence[dict[str, Any]]:
        values = {name: each.total_seconds() for name, each in seconds.items()}
        return [row._asdict() for row in connection.execute(statement, {**values, "most": limits.most + 1})]

    at = tallies.now(connection)
    return Facts(
        at=at,
        hosts=[HostTick(**row) for row in rows(_HOSTS)],
        killed=[KilledTicks(**row) for row in rows(_KILLED_TICKS, since=-PERIOD, before=-limits.killed_after)],
        due=_behind(connection, at, limits, list(_due(connection, limits))),
        dead=[DeadType(**row) for row in rows(_DEAD, since=-PERIOD)],
        expired=ExpiredLeases(**rows(_EXPIRED_LEASES, before=-limits.expired_for)[0]),
        uncertain=UncertainEffects(**rows(_UNCERTAIN_EFFECTS)[0]),
        broken=[BrokenDefinition(**row) for row in rows(_BROKEN_DEFINITIONS, ahead=_CLOCK_STEP)],
        pauses=[OldPause(**row) for row in rows(_OLD_PAUSES, before=-limits.paused_for)],
    )


def _due(connection: Connection, limits: Limits) -> Iterator[DueType]:
    for job_type in connection.execute(Prepared("findings.waiting_types")).scalars():
        values = {"of_type": job_type, "most": limits.most + 1}
        for row in connection.execute(Prepared("findings.due_of_type"), values):
            yield DueType(job_type, **row._asdict())


def _behind(connection: Connection, at: datetime, limits: Limits, found: list[DueType]) -> list[DueType]:
    # Whole hours, because the tallies have no smaller spans.
    since = (at - limits.behind).replace(minute=0, second=0, microsecond=0)
    if all(each.run_at >= since for each in found):
        return found
    ended = defaultdict[str, int](int)
    for (_, key), tally in tallies.since(connection, since).items():
        ended[key.job_type] += tally.ends * (key.status in FINISHED)

    def flow(each: DueType) -> Flow:
        # Enough to tell which of the two is more.
        most = max(limits.most, min(ended[each.job_type], 10 * limits.most)) + 1
        values = {"of_type": each.job_type, "since": since, "most": most}
        came = connection.execute(Prepared("findings.came_since"), values).scalar_one()
        return Flow(since, came, ended[each.job_type])

    return [replace(each, flow=flow(each)) if each.run_at < since else each for each in found]
