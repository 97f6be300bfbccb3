"""Limits of a job type that operators set at run time: they hold instead of those of the code until they end.

They are behind the same gates and the same lock as the limits of the code: a claim reads them with the row of the type
that it locks (``limits.py``). Every function that writes is the body of one write transaction.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar, NamedTuple

from jobrunner import clock
from jobrunner.errors import UsageError
from jobrunner.model import LAST_INSTANT, Actor
from jobrunner.rates import Rate
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.reading import read
from jobrunner.store.queue.pauses import Concerned, concerned
from jobrunner.store.queue.ticks import audit, hosts
from jobrunner.store.sql.statement import Prepared
from jobrunner.text import iso_instant, one_line

_PATIENCE_SECONDS, _LOOK_SECONDS = 1.0, 0.02


@dataclass(frozen=True)
class SetLimit:
    """What is set for a job type instead of the limits of its code. None: there the code's limit holds.

    ``ends_at`` None: until somebody takes it back.
    """

    job_type: str
    max_running: int | None
    rate: str | None
    burst: int | None
    reason: str | None
    actor: str
    set_at: datetime
    ends_at: datetime | None
    COLUMNS: ClassVar = "type=job_type, limits, since=set_at, until=ends_at, by=actor, reason"

    @property
    def limits(self) -> str:
        """The limits in words."""
        return describe_limits(self.max_running, self.rate)


class Wanted(NamedTuple):
    """The limits to set for a type, and until when: an instant, or so long from now. None: without an end."""

    job_type: str
    max_running: int | None
    rate: Rate | None
    until: datetime | timedelta | None = None


class Done(NamedTuple):
    """What is set now, and what was set ``before``. ``under_way``: hosts with a claim that did not end in a second.

    What such a claim begins is not held back any more, but counts.
    """

    now: SetLimit
    before: SetLimit | None
    under_way: list[str]


def describe_limits(max_running: int | None, rate: str | None) -> str:
    """Limits of a type in words, by the names of their options."""
    given = {"max_running": max_running, "rate": rate}
    return ", ".join(f"{name} {value}" for name, value in given.items() if value is not None)


def listed(connection: Connection) -> list[SetLimit]:
    """What is set and has not ended. Expects any transaction."""
    return read(connection, SetLimit, Prepared("set_limits.listed"))


def set_limit(connection: Connection, wanted: Wanted, actor: Actor) -> Done:
    """Set these limits of a type, instead of all that were set for it. Raises UsageError if the end has passed.

    They are set under each name that the type has or had. Claims that are under way end first, so that no run begins
    that this transaction does not see.
    """
    names = hosts.reported_names_of(connection, wanted.job_type)
    # The lock of every claim of the type. First, because a claim that stalls may hold it: to wait for it with the
    # locks of all hosts in hand would keep these from claiming anything.
    _lock(connection, names)
    under_way = _wait_for_claims(connection)
    at: datetime = connection.execute(Prepared("tallies.clock")).scalar_one()
    ends_at = at + wanted.until if isinstance(wanted.until, timedelta) else wanted.until
    if ends_at is not None and ends_at <= at:
        raise UsageError(f"{iso_instant(ends_at)} has passed; it is {iso_instant(at)} by the database's clock")
    if ends_at is not None and ends_at > LAST_INSTANT:
        raise UsageError("the end is after the year 9998; leave it out for a limit without an end")
    done, *_ = [_set(connection, wanted._replace(job_type=each), ends_at, actor, under_way) for each in names]
    return done


def _lock(connection: Connection, names: Iterable[str]) -> None:
    for name in sorted(names):
        connection.execute(Prepared("set_limits.lock_type"), {"of_type": name})


def _set(connection: Connection, wanted: Wanted, ends_at: datetime | None, actor: Actor, under_way: list[str]) -> Done:
    before = _of_type(connection, wanted.job_type)
    rate = wanted.rate
    values = {
        "max_running": wanted.max_running,
        "rate": rate and rate.text,
        "burst": rate and rate.burst,
        "ends_at": ends_at,
    }
    row = {**values, "actor": actor.name, "reason": actor.reason and one_line(actor.reason)}
    set_at, ends_at = connection.execute(Prepared("set_limits.add"), {"of_type": wanted.job_type, **row}).one()
    replaced = None if before is None else _limits_of(before)
    noted = {"under_way": under_way} if under_way else {}
    detail = {"name": wanted.job_type, **values, "before": replaced, **noted}
    audit.record(connection, [audit.event(actor, "limit type", None, detail, set_at)])
    return Done(SetLimit(wanted.job_type, **{**row, "set_at": set_at, "ends_at": ends_at}), before, under_way)


def unset(connection: Connection, job_type: str, actor: Actor) -> SetLimit | None:
    """End what is set for a type, under each of its names, and return it. None: nothing is."""
    names = [each for each in hosts.reported_names_of(connection, job_type) if _of_type(connection, each) is not None]
    _lock(connection, names)
    ended = [_unset(connection, each, actor) for each in names]
    return next((each for each in ended if each is not None), None)


def _unset(connection: Connection, job_type: str, actor: Actor) -> SetLimit | None:
    # Now under the lock: somebody else may have changed it.
    before = _of_type(connection, job_type)
    if before is None:
        return None
    at = connection.execute(Prepared("set_limits.end"), {"of_type": job_type}).scalar_one()
    detail = {"name": job_type, "set_at": before.set_at, **_limits_of(before)}
    audit.record(connection, [audit.event(actor, "unlimit type", None, detail, at)])
    return before


def _limits_of(limit: SetLimit) -> dict[str, Any]:
    return {name: getattr(limit, name) for name in ("max_running", "rate", "burst", "ends_at")}


def _of_type(connection: Connection, job_type: str) -> SetLimit | None:
    return next((each for each in listed(connection) if each.job_type == job_type), None)


def _wait_for_claims(connection: Connection) -> list[str]:
    """Keep claims from beginning until the transaction ends. Returns the hosts with one that does not end."""
    give_up_at = clock.elapsed() + _PATIENCE_SECONDS
    while True:
        held = {*connection.execute(Prepared("set_limits.hold_claimers")).scalars()}
        under_way = [name for name in connection.execute(Prepared("set_limits.claimers")).scalars() if name not in held]
        if not under_way or clock.elapsed() >= give_up_at:
            return [name.removeprefix("places of ") for name in under_way]
        clock.sleep(_LOOK_SECONDS)


def running_and_waiting(connection: Connection, job_type: str) -> Concerned:
    """How many runs of the type wait and are at work. Expects any transaction."""
    return concerned(connection, "type", job_type)
