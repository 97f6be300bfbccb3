"""The first page: what is wrong, what is due, running, failing and dead, and the last tick of each host."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import timedelta
from functools import partial

from jobrunner.admin import stats
from jobrunner.admin.findings import Finding, asked, findings
from jobrunner.admin.stats import Hour
from jobrunner.errors import ConfigurationError
from jobrunner.settings import config
from jobrunner.store import findings as facts
from jobrunner.store import overview, trails
from jobrunner.store.connection import Connection
from jobrunner.store.explain import ahead
from jobrunner.store.explain.runs import OLDEST_DUE, explain_run, oldest_due_id
from jobrunner.store.joined import together
from jobrunner.store.overview import State
from jobrunner.store.statement import Question
from jobrunner.store.trails import LeftBehind
from jobrunner.web.call import Call, Page
from jobrunner.web.masking import Masks
from jobrunner.web.pages import backlog, pausing
from jobrunner.web.pages.charts import chart
from jobrunner.web.pages.run_secrets import RunSecrets
from jobrunner.web.pages.thresholds import tick_age

_DAY = timedelta(hours=24)


def now(call: Call) -> Page:
    """The same as the command ``status``. The page runs no handlers, so it does not know the types of this host."""
    label = call.access.location.label
    if call.wants_json:
        _, (state, wrong) = call.recent.get("status", lambda: call.read(partial(_read_all, masks=call.masks)))
        listed = None if wrong is None else [each.as_data() for each in wrong]
        problems = {"handlers_problem": None, "state_problem": None}
        return Page("", {}, {"database": label, "findings": listed, **vars(state), **problems})
    at, (state, wrong, hours, left) = call.recent.get(
        "now", lambda: call.read(partial(_read_with_hours, masks=call.masks))
    )
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


def _read_with_hours(
    connection: Connection, masks: Masks
) -> tuple[State, list[Finding] | None, list[Hour], list[LeftBehind]]:
    left = trails.left_behind(connection, backlog.PERIOD, backlog.MOST_TICKS)
    _, state, wrong = _read(connection)
    secrets = RunSecrets(connection, masks, _shown(state))
    return _masked(state, secrets), wrong, stats.hours(connection, _DAY).of_all, left


def _read_all(connection: Connection, masks: Masks) -> tuple[State, list[Finding] | None]:
    """The same with an explanation of the run that is due for the longest time."""
    known, state, wrong = _read(connection, OLDEST_DUE)
    oldest = oldest_due_id(known)
    if oldest is None:
        return _masked(state, RunSecrets(known, masks, _shown(state))), wrong
    secrets = RunSecrets(known, masks, _shown(state) | {oldest})
    why = explain_run(ahead.of_run(known, oldest), oldest, tick_age=tick_age())
    brief = None if why is None else why.masked(secrets.hiding(oldest)).brief()
    return replace(_masked(state, secrets), oldest_due=brief), wrong


def _shown(state: State) -> set[int]:
    """The runs of which a text is shown."""
    return {run.id for runs in (state.running, state.failing, state.dead) for run in runs}


def _masked(state: State, secrets: RunSecrets) -> State:
    return replace(
        state,
        running=secrets.hide(state.running, "progress"),
        failing=secrets.hide(state.failing),
        dead=secrets.hide(state.dead),
    )
