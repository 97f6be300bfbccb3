"""The first page: what is wrong, what is due, running, failing and dead, and the last tick of each host."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from jobrunner.admin import stats
from jobrunner.admin.finding import Finding
from jobrunner.admin.findings import asked, findings
from jobrunner.admin.stats import Part
from jobrunner.admin.status import Status as Shown
from jobrunner.errors import ConfigurationError
from jobrunner.lifecycle import FINISHED, Status
from jobrunner.settings import config
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions import findings as facts
from jobrunner.store.questions import last_hour, overview, trails
from jobrunner.store.questions.combined_questions import together
from jobrunner.store.questions.explain import prefetched
from jobrunner.store.questions.explain.explanation import Explanation
from jobrunner.store.questions.explain.runs import OLDEST_DUE, explain_run, oldest_due_id
from jobrunner.store.questions.last_hour import MINUTE, LastHour
from jobrunner.store.questions.state import DeadRun, FailingRun, State
from jobrunner.store.questions.trails import LeftBehind
from jobrunner.store.sql.statement import Question
from jobrunner.text import picked
from jobrunner.web.call import Call, Page
from jobrunner.web.pages import backlog, pausing
from jobrunner.web.pages.charts import chart, part_of
from jobrunner.web.pages.leads import led
from jobrunner.web.pages.thresholds import tick_age

_DAY = timedelta(hours=24)
_MOST = 10
"""Runs of a list. The link beside its heading leads to all."""
_FOLDED = {
    "schedules": "Schedules",
    "uncertain_effects": "Uncertain effects",
    "limits": "Limits of waiting runs",
    "running_limits": "Limits over all hosts",
    "unsent_notifications": "Notifications that were not sent",
}
"""The tables below, which are closed at first."""


@dataclass(frozen=True)
class Ended:
    """The runs that ended in the last 24 hours by the hour, or in the last hour by the minute.

    ``since`` None: they are all. Otherwise so many ended that only those since then were counted.
    """

    period: str
    parts: list[Part]
    since: datetime | None = None


def now(call: Call) -> Page:
    """The same as the command ``status``. The page runs no handlers, so it does not know the types of this host."""
    label = call.access.location.label
    if call.wants_json:
        _, (state, wrong, why) = call.recent.get("status", lambda: call.read(_read_all))
        due, of_host = None if why is None else why.brief(), {"handlers_problem": None, "state_problem": None}
        return Page("", {}, picked(Shown, state, database=label, findings=wrong, oldest_due=due, **of_host))
    is_hour = call.query.get("ended") == "1h"
    read = partial(_read_with_charts, is_hour=is_hour)
    at, (state, wrong, ended, left) = call.recent.get(f"now {is_hour}", lambda: call.read(read))
    done = pausing.DONE.get(call.query.get("done", ""))
    return Page(
        "now.html",
        {
            "at": at,
            "state": state,
            "most": _MOST,
            "troubled": _troubled(state),
            "tables": [(title, getattr(state, name)) for name, title in _FOLDED.items()],
            "findings": None if wrong is None else [led(each, call.verbs) for each in wrong],
            "database": label,
            "done": done,
            "chart": chart(ended.parts, call.zone),
            "ended": ended,
            "backlog": backlog.backlog(left, at, call.zone),
        },
    )


def _troubled(state: State) -> list[tuple[FailingRun | DeadRun, Status, datetime]]:
    """Runs that fail, with the time of their next try, and the newest dead ones, with that of their end."""
    found: list[tuple[FailingRun | DeadRun, Status, datetime]] = []
    found += [(run, Status.FAILED, run.next_try_at) for run in state.failing[: _MOST // 2]]
    found += [(run, Status.DEAD, run.finished_at) for run in state.dead]
    return found[:_MOST]


def _read(connection: Connection, *also: Question) -> tuple[Connection, State, list[Finding] | None]:
    """What is wrong, None if the settings of this process cannot be read, and the thresholds stand there."""
    try:
        settings = config.load(os.environ)
    except ConfigurationError:
        settings = None
    of_findings = [] if settings is None else facts.questions(asked(settings))
    known = together(connection, [*overview.questions(), *also, *of_findings])
    state = overview.status(known, None, explains=False)
    return known, state, None if settings is None else findings(known, settings, None)


def _read_with_charts(
    connection: Connection, *, is_hour: bool
) -> tuple[State, list[Finding] | None, Ended, list[LeftBehind]]:
    left = trails.left_behind(connection, backlog.PERIOD, backlog.MOST_TICKS)
    _, state, wrong = _read(connection)
    if is_hour:
        return state, wrong, _by_minute(last_hour.last_hour(connection, state.at), state.at), left
    return state, wrong, Ended("24 hours", stats.ends(connection, _DAY, part_of(_DAY)).of_all), left


def _by_minute(found: LastHour, at: datetime) -> Ended:
    count = (at - found.begin) // MINUTE + 1
    parts = [Part(found.begin + number * MINUTE, dict.fromkeys(map(str, FINISHED), 0)) for number in range(count)]
    for minute, status, runs in found.ended:
        if minute <= at:
            parts[(minute - found.begin) // MINUTE].ended[status] += runs
    return Ended("hour", parts, found.begin if not found.is_whole else None)


def _read_all(connection: Connection) -> tuple[State, list[Finding] | None, Explanation | None]:
    """The same with an explanation of the run that is due for the longest time."""
    known, state, wrong = _read(connection, OLDEST_DUE)
    oldest = oldest_due_id(known)
    if oldest is None:
        return state, wrong, None
    return state, wrong, explain_run(prefetched.of_run(known, oldest), oldest, tick_age=tick_age())
