"""The first page: what is wrong, what is due, running, failing and dead, and the last tick of each host."""

from __future__ import annotations

import os

from jobrunner.admin.findings import Finding, findings
from jobrunner.errors import ConfigurationError
from jobrunner.settings import config
from jobrunner.store import overview
from jobrunner.store.connection import Connection
from jobrunner.store.overview import State
from jobrunner.web.call import Call, Page
from jobrunner.web.pages import pausing


def now(call: Call) -> Page:
    """The same as the command ``status``. The page runs no handlers, so it does not know the types of this host."""
    at, (state, wrong) = call.recent.get("now", lambda: call.read(_read))
    label = call.access.location.label
    data = {"database": label, **vars(state), "handlers_problem": None, "state_problem": None}
    done = pausing.DONE.get(call.query.get("done", ""))
    return Page("now.html", {"at": at, "state": state, "findings": wrong, "database": label, "done": done}, data)


def _read(connection: Connection) -> tuple[State, list[Finding] | None]:
    return overview.status(connection, None), _findings(connection)


def _findings(connection: Connection) -> list[Finding] | None:
    """What is wrong. None: the settings of this process cannot be read, and the thresholds stand there."""
    try:
        return findings(connection, config.load(os.environ), None)
    except ConfigurationError:
        return None
