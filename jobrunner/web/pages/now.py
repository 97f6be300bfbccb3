"""The first page: what is due, running, failing and dead, and the last tick of each host."""

from __future__ import annotations

from jobrunner.store import overview
from jobrunner.web.call import Call, Page


def now(call: Call) -> Page:
    """The same as the command ``status``. The page runs no handlers, so it does not know the types of this host."""
    at, state = call.recent.get("status", lambda: call.read(lambda connection: overview.status(connection, None)))
    label = call.access.location.label
    data = {"database": label, **vars(state), "handlers_problem": None, "state_problem": None}
    return Page("now.html", {"at": at, "state": state, "database": label}, data)
