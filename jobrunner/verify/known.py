"""What a database as a whole shows, before its rows are judged. Expects a snapshot."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.verify.reading import moment, read
from jobrunner.store.verify.records import Event, Host, Limit
from jobrunner.verify.promise import ONE_TICK, SLACK, Facts

_LIMITS = (
    "max_running", "rate", "burst", "concurrency_key", "max_running_per_key", "rate_per_key", "burst_per_key",
)  # fmt: skip
_PUT_BACK = ("restore", "archive restore")


class Kept(NamedTuple):
    """How long the ticks keep the audit trail, and the runs that they delete first."""

    events: timedelta
    runs: timedelta


def look(connection: Connection, kept: Kept, slack: timedelta = SLACK) -> Facts:
    """The facts, of which ``later`` changes those that change from slice to slice."""
    now = moment(connection).now
    archived: list[Event] = read(connection, "archived")
    facts = Facts(
        now=now,
        recorded_since=max([_recorded_since(connection, now, kept.events), *_until(archived, *_PUT_BACK)]),
        kept_since=max([now - kept.runs + ONE_TICK, *_until(archived, "archive runs")]),
        steps=read(connection, "steps"),
        slack=slack,
        lost=[(datetime.fromisoformat(each.detail["since"]), each.at) for each in read(connection, "put_back")],
        agreed=agreed(read(connection, "hosts"), read(connection, "limits")),
    )
    return later(connection, facts)


def later(connection: Connection, facts: Facts) -> Facts:
    """The same facts, as far as they do not change, in another snapshot."""
    worked = read(connection, "worked_tick")
    return facts._replace(now=moment(connection).now, tick_at=worked[0].started_at if worked else None)


def _recorded_since(connection: Connection, now: datetime, kept: timedelta) -> datetime:
    """From when on nothing is missing in the audit trail.

    What was restored comes from before the first tick and the first event of this database. The first release did not
    note what archives have restored or taken away.
    """
    first: list[datetime] = [each.started_at for each in read(connection, "first_tick")]
    first += [each.at for each in read(connection, "first_event")]
    old: list[datetime] = [each.started_at for each in read(connection, "last_old_tick")]
    return max([now - kept + ONE_TICK, min(first, default=now), *old])


def _until(archived: Iterable[Event], *actions: str) -> list[datetime]:
    """Up to when these actions have put back or taken away what had ended."""
    noted = [each for each in archived if each.action in actions]
    return [datetime.fromisoformat(each.detail["before"]) if "before" in each.detail else each.at for each in noted]


def agreed(hosts: Iterable[Host], limits: Iterable[Limit]) -> Mapping[str, datetime]:
    """The types whose limits all hosts report as they are stored, and since when the last of them has done so."""
    stored = {each.job_type: _declared(each._asdict()) for each in limits}
    reported = defaultdict[str, list[tuple[datetime, Mapping[str, Any]]]](list)
    for host in hosts:
        for job_type, told in host.can_run.items():
            reported[job_type].append((host.reported_at, _declared(told)))
    return {
        job_type: max(at for at, _ in told) + ONE_TICK
        for job_type, told in reported.items()
        if all(each == stored.get(job_type, {}) for _, each in told)
    }


def _declared(told: Mapping[str, Any]) -> Mapping[str, Any]:
    found = {name: told[name] for name in _LIMITS if told.get(name)}
    # A type that is only fair has its runs behind the gates of that argument.
    key = found.get("concurrency_key") or told.get("fair_by")
    found |= {"concurrency_key": key} if key else {}
    return found | ({"concurrency_key": ",".join(key)} if isinstance(key, list) else {})
