"""The job types: how their runs fared in a period, and when, as a drawing with a table beside it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta, tzinfo
from functools import partial

from jobrunner.admin import stats
from jobrunner.admin.stats import Hour, Stats
from jobrunner.lifecycle import Status
from jobrunner.store import pauses
from jobrunner.store.connection import Connection
from jobrunner.store.pauses import Pause
from jobrunner.store.statement import Prepared
from jobrunner.web.call import Call, Page
from jobrunner.web.pages import pausing

PERIODS = {"24h": timedelta(hours=24), "7d": timedelta(days=7), "30d": timedelta(days=30)}
_WIDTH, _HEIGHT = 960, 120
_MOST_BARS = 96
_STEPS = (1, 2, 24)
"""Hours of a bar. Old ends are known by the day only."""
_STACK = (Status.DEAD, Status.CANCELLED, Status.SUCCEEDED)


@dataclass(frozen=True)
class Bar:
    """The ends of some hours: where each status begins and how high it is, from the bottom."""

    x: float
    width: float
    parts: list[tuple[str, float, float]]
    title: str


def types(call: Call) -> Page:
    """The same as the command ``stats``, for a period that the address chooses."""
    chosen = call.query.get("since", "24h")
    chosen = chosen if chosen in PERIODS else "24h"
    period = PERIODS[chosen]
    at, (found, hours, paused, waiting) = call.read(partial(_read, period=period))
    bars, most = _bars(hours, call.zone)
    paused_types = {each.name for each in paused if each.kind == "type"}
    names = sorted({*waiting, *(each.job_type for each in found.types)} - paused_types)
    done = pausing.DONE.get(call.query.get("done", ""))
    values = {
        "at": at,
        "stats": found,
        "paused": paused,
        "names": names,
        "done": done,
        "bars": bars,
        "most": most,
        "size": (_WIDTH, _HEIGHT),
    }
    return Page("types.html", {**values, "periods": list(PERIODS), "chosen": chosen}, found)


def _read(connection: Connection, period: timedelta) -> tuple[Stats, list[Hour], list[Pause], list[str]]:
    waiting = connection.execute(Prepared("findings.waiting_types")).scalars()
    return stats.stats(connection, period), stats.hours(connection, period), pauses.listed(connection), waiting


def _bars(hours: list[Hour], zone: tzinfo) -> tuple[list[Bar], int]:
    """The bars of a drawing, the oldest first, and the highest count."""
    step = next(each for each in _STEPS if len(hours) <= each * _MOST_BARS)
    groups = [hours[index : index + step] for index in range(0, len(hours), step)] if hours else []
    counts = [{status: sum(each.ended[status] for each in group) for status in _STACK} for group in groups]
    most = max((sum(count.values()) for count in counts), default=0)
    width = _WIDTH / max(1, len(groups))
    bars = []
    for index, (group, count) in enumerate(zip(groups, counts, strict=True)):
        parts, bottom = [], float(_HEIGHT)
        for status in _STACK:
            height = round(_HEIGHT * count[status] / max(1, most), 1)
            bottom -= height
            if height:
                parts.append((status.value, round(bottom, 1), height))
        words = ", ".join(f"{count[status]} {status.value}" for status in reversed(_STACK))
        title = f"{group[0].begin.astimezone(zone):%Y-%m-%d %H:%M}: {words}"
        bars.append(Bar(round(index * width, 1), round(width * 0.85, 1), parts, title))
    return bars, most
