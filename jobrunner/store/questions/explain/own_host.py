"""What is said of runs and schedules that belong to one host, and of schedules that each host has for itself."""

from __future__ import annotations

from typing import NamedTuple

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions.definitions import HostSchedule, on_hosts
from jobrunner.store.questions.explain.explanation import ago
from jobrunner.store.questions.explain.hosts import Hosts
from jobrunner.store.sql.statement import Prepared

_LISTED = 5


class Shares(NamedTuple):
    """How a schedule of every host stands: in words, and the first of its schedules whose host is away."""

    words: str
    away: HostSchedule | None


def away(connection: Connection, hosts: Hosts, host: str) -> str | None:
    """Since when a host has had no tick, in words. None: its ticks come."""
    if any(kind.host == host for kind in hosts.ticks if kind not in hosts.gone):
        return None
    newest = connection.execute(Prepared("explain.newest_tick"), {"host": host}).first()
    if newest is None:
        return "which has had no tick for as long as ticks are kept"
    return f"whose newest tick began {ago((hosts.at - newest.started_at).total_seconds())} ago"


def shares(connection: Connection, hosts: Hosts, template: str) -> Shares:
    """What the hosts have of a schedule that each has for itself."""
    found = on_hosts(connection, template)
    said, first_away = [], None
    for each in found:
        since = away(connection, hosts, each.host)
        first_away = first_away or (each if since is not None else None)
        state = "no run yet" if each.run_id is None else f"run {each.run_id}, {each.run_status}"
        if isinstance(each.next_slot, str):
            state = each.next_slot
        said.append(f"{each.host} ({state if since is None else since})")
    more = f" and {len(said) - _LISTED} more" if len(said) > _LISTED else ""
    return Shares(", ".join(said[:_LISTED]) + more, first_away)
