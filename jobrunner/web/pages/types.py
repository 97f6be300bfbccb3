"""The job types: how their runs fared in a period, and when, as a drawing with a table beside it."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from jobrunner.admin import stats
from jobrunner.admin.stats import Parts, Stats
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.queue import pauses, set_limits
from jobrunner.store.queue.pauses import Pause
from jobrunner.store.queue.set_limits import SetLimit
from jobrunner.store.sql.statement import Prepared
from jobrunner.web.call import Call, Page
from jobrunner.web.pages import limiting, pausing
from jobrunner.web.pages.charts import chart, part_of, spark
from jobrunner.web.pages.spans import spans

_DRAWN = 100
"""So many types have a small drawing."""
PERIODS = {"24h": timedelta(hours=24), "7d": timedelta(days=7), "30d": timedelta(days=30)}
REFRESHED_SECONDS = {"24h": 5, "7d": 15, "30d": 30}
"""How often a browser asks again. A longer period costs more to read, and changes less."""


def types(call: Call) -> Page:
    """The same as the command ``stats``, for a period that the address chooses."""
    chosen = call.query.get("since", "24h")
    chosen = chosen if chosen in PERIODS else "24h"
    period = PERIODS[chosen]
    at, (found, hours, paused, limited, waiting) = call.read(partial(_read, period=period))
    paused_types = {each.name for each in paused if each.kind == "type"}
    names = {*waiting, *(each.job_type for each in found.types)}
    done = {**pausing.DONE, **limiting.DONE}.get(call.query.get("done", ""))
    values = {
        "at": at,
        "stats": found,
        "paused": paused,
        "limited": limited,
        "names": sorted(names - paused_types),
        "all_names": sorted(names | {each.job_type for each in limited}),
        "done": done,
        "chart": chart(hours.of_all, call.zone),
        "drawn": spans(found.types),
        "charts": {name: spark(of_type) for name, of_type in hours.of_types.items()},
    }
    values |= {"periods": list(PERIODS), "chosen": chosen, "refreshed_seconds": REFRESHED_SECONDS[chosen]}
    return Page("types.html", values, found)


def _read(connection: Connection, period: timedelta) -> tuple[Stats, Parts, list[Pause], list[SetLimit], list[str]]:
    waiting = connection.execute(Prepared("findings.waiting_types")).scalars()
    found, ended = stats.stats(connection, period), stats.ends(connection, period, part_of(period), _DRAWN)
    return found, ended, pauses.listed(connection), set_limits.listed(connection), waiting
