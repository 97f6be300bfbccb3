"""The ticks that this database has seen."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from jobrunner.admin.doctor.checks import Check, ok, warning, wrong
from jobrunner.durations import format_duration
from jobrunner.store.upkeep.inspection import LastTick
from jobrunner.text import iso_instant

RECENT = timedelta(hours=1)


def last_tick(host: str, at: datetime, ticks: Sequence[LastTick], too_old: timedelta) -> Check:
    """Whether ticks of this host use this database. From ``too_old`` on they do not, as for ``health``."""
    name = "last tick"
    own = next((each for each in ticks if each.host == host), None)
    others = others_at_work(host, at, ticks)
    elsewhere = f"; others do: {', '.join(others)}" if others else ""
    remedy = (
        "look at what starts ticks here: the crontab line (jobrunner crontab line prints it), jobrunner loop or the"
        " timer of systemd; and at the database and the host name that it uses"
    )
    if own is None:
        kind = warning if others else wrong
        return kind(name, f"no tick of this host, {host}, has ever used this database{elsewhere}", remedy)
    age = at - own.started_at
    since = f"{format_duration(max(timedelta(0), timedelta(seconds=round(age.total_seconds()))))} ago"
    if age >= too_old:
        kind = warning if others else wrong
        began = iso_instant(own.started_at.replace(microsecond=0))
        return kind(name, f"the last one of this host, {host}, began {since} ({began}){elsewhere}", remedy)
    return ok(name, f"of this host, {host}, in this database, {since}")


def others_at_work(host: str, at: datetime, ticks: Sequence[LastTick]) -> list[str]:
    """The other hosts that started a tick in the last hour."""
    return [each.host for each in ticks if each.host != host and at - each.started_at < RECENT]
