"""Pauses of a job type, a host or everything: no run of it is claimed until it is resumed.

The views, which every claim reads, leave out what is paused. Runs at work go on, and so do schedules, recovery,
deadlines and cancellations. Every function that writes is the body of one write transaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Literal, TypeAlias

from jobrunner.model import Actor, describe_pause
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.reading import read
from jobrunner.store.queue.ticks import audit, hosts
from jobrunner.store.sql.statement import Prepared
from jobrunner.text import one_line

Kind: TypeAlias = Literal["all", "type", "host"]
MOST_COUNTED = 100_000


@dataclass(frozen=True)
class Pause:
    """Something that is paused. ``name`` is the job type or the host, and "" for everything."""

    kind: str
    name: str
    reason: str | None
    actor: str
    paused_at: datetime
    COLUMNS: ClassVar = "paused=what, since=paused_at, by=actor, reason"
    what = property(lambda self: describe_pause(self.kind, self.name))


@dataclass(frozen=True)
class Concerned:
    """How many runs a pause concerns, each up to ``MOST_COUNTED``. ``is_known``: this type or host was ever seen."""

    waiting: int
    running: int
    is_known: bool


def listed(connection: Connection) -> list[Pause]:
    """What is paused. Expects any transaction."""
    return read(connection, Pause, Prepared("pauses.listed"))


def names_meant(connection: Connection, kind: Kind, name: str) -> list[str]:
    """What a pause of this name is about: a type under each name that it has or had. Expects any transaction."""
    return hosts.reported_names_of(connection, name) if kind == "type" else [name]


def pause(connection: Connection, kind: Kind, name: str, actor: Actor) -> Pause | None:
    """Pause it, a type under each of its names. If it is paused already, that pause stays, and is returned."""
    first, *others = names_meant(connection, kind, name)
    before = _pause(connection, kind, first, actor)
    for each in others:
        _pause(connection, kind, each, actor)
    return before


def _pause(connection: Connection, kind: Kind, name: str, actor: Actor) -> Pause | None:
    row = {"kind": kind, "name": name, "actor": actor.name, "reason": actor.reason and one_line(actor.reason)}
    at = connection.execute(Prepared("pauses.add"), row).scalar_one_or_none()
    if at is None:
        return next(each for each in listed(connection) if (each.kind, each.name) == (kind, name))
    audit.record(connection, [audit.event(actor, f"pause {kind}", None, {"name": name}, at)])
    return None


def resume(connection: Connection, kind: Kind, name: str, actor: Actor) -> datetime | None:
    """End this pause, and return since when it was. None: it is not paused. Other pauses stay.

    A type is resumed under each of its names, and was paused since the first of these pauses.
    """
    ended = [_resume(connection, kind, each, actor) for each in names_meant(connection, kind, name)]
    return min((each for each in ended if each is not None), default=None)


def _resume(connection: Connection, kind: Kind, name: str, actor: Actor) -> datetime | None:
    gone = connection.execute(Prepared("pauses.remove"), {"kind": kind, "name": name}).one_or_none()
    if gone is None:
        return None
    since: datetime = gone.paused_at
    detail = {"name": name, "paused_at": since}
    audit.record(connection, [audit.event(actor, f"resume {kind}", None, detail, gone.now)])
    return since


def concerned(connection: Connection, kind: Kind, name: str) -> Concerned:
    """The runs that a pause concerns. Expects any transaction."""
    values = {"name": name, "most": MOST_COUNTED}
    # A run waits for no host.
    waiting = 0 if kind == "host" else connection.execute(Prepared("pauses.waiting", (kind,)), values).scalar_one()
    running = connection.execute(Prepared("pauses.running", (kind,)), values).scalar_one()
    is_known = kind != "host" or running > 0 or bool(connection.execute(Prepared("pauses.ticked"), values).all())
    return Concerned(waiting, running, is_known)
