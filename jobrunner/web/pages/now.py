"""The first page: what is wrong, what is due, running, failing and dead, and the last tick of each host."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import timedelta

from jobrunner.admin import stats
from jobrunner.admin.findings import Finding, asked, findings
from jobrunner.admin.stats import Hour
from jobrunner.errors import ConfigurationError
from jobrunner.settings import config
from jobrunner.store import findings as facts
from jobrunner.store import overview, trails
from jobrunner.store.connection import Connection
from jobrunner.store.explain.runs import oldest_due
from jobrunner.store.joined import together
from jobrunner.store.overview import State
from jobrunner.store.trails import LeftBehind
from jobrunner.web.call import Call, Page
from jobrunner.web.pages import backlog, pausing
from jobrunner.web.pages.charts import chart
from jobrunner.web.pages.thresholds import tick_age

_DAY = timedelta(hours=24)


def now(call: Call) -> Page:
    """The same as the command ``status``. The page runs no handlers, so it does not know the types of this host."""
    label = call.access.location.label
    if call.wants_json:
        _, (state, wrong) = call.recent.get("status", lambda: call.read(_read_all))
        listed = None if wrong is None else [each.as_data() for each in wrong]
        problems = {"handlers_problem": None, "state_problem": None}
        return Page("", {}, {"database": label, "findings": listed, **vars(state), **problems})
    at, (state, wrong, hours, left) = call.recent.get("now", lambda: call.read(_read_with_hours))
    done = pausing.DONE.get(call.query.get("done", ""))
    return Page(
        "now.html",
        {
            "at": at,
            "state": state,
            "findings": wrong,
            "database": label,
            "done": done,
            "chart": chart(hours, call.zone),
            "backlog": backlog.backlog(left, at, call.zone),
        },
    )


def _read(connection: Connection) -> tuple[State, list[Finding] | None]:
    """What is wrong, None if the settings of this process cannot be read, and the thresholds stand there."""
    try:
        settings = config.load(os.environ)
    except ConfigurationError:
        return overview.status(together(connection, overview.questions()), None, explains=False), None
    connection = together(connection, [*overview.questions(), *facts.questions(asked(settings))])
    return overview.status(connection, None, explains=False), findings(connection, settings, None)


def _read_with_hours(connection: Connection) -> tuple[State, list[Finding] | None, list[Hour], list[LeftBehind]]:
    left = trails.left_behind(connection, backlog.PERIOD, backlog.MOST_TICKS)
    return *_read(connection), stats.hours(connection, _DAY).of_all, left


def _read_all(connection: Connection) -> tuple[State, list[Finding] | None]:
    state, wrong = _read(connection)
    found = oldest_due(connection, tick_age())
    return replace(state, oldest_due=None if found is None else found.brief()), wrong
