"""What was: the ticks of each host, the effects of which nobody knows, and the audit trail."""

from __future__ import annotations

from jobrunner.errors import UsageError
from jobrunner.store import pauses, trails, uncertain
from jobrunner.store.uncertain import Settled
from jobrunner.text import whole_number
from jobrunner.web.call import Call, NotFound, Page, Redirect
from jobrunner.web.pages import pausing
from jobrunner.web.visitors import Verb

_A_PAGE = 100
_LARGEST = 10**18 - 1


def hosts(call: Call) -> Page:
    """The last tick of each host, and the newest ticks of all."""
    before = _before(call)
    at, (last, found, paused) = call.read(
        lambda connection: (
            trails.last_ticks(connection),
            trails.ticks(connection, _A_PAGE, before),
            pauses.listed(connection),
        )
    )
    more = found[-1].id if len(found) == _A_PAGE else None
    done = pausing.DONE.get(call.query.get("done", ""))
    values = {"at": at, "hosts": last, "ticks": found, "more": more, "paused": paused, "done": done}
    return Page("hosts.html", values, {"hosts": last, "ticks": found})


def audit(call: Call) -> Page:
    """What people and ticks changed, the newest first."""
    before = _before(call)
    at, found = call.read(lambda connection: trails.events(connection, _A_PAGE, before))
    found = [call.masks.event(each) for each in found]
    more = found[-1].id if len(found) == _A_PAGE else None
    return Page("audit.html", {"at": at, "events": found, "more": more}, found)


def effects(call: Call) -> Page:
    """The same as the command ``effects list``."""
    at, found = call.read(lambda connection: uncertain.listed(connection, _A_PAGE))
    values = {"at": at, "effects": found, "may_settle": Verb.SETTLE in call.verbs}
    return Page("effects.html", {**values, "done": "Settled." if call.query.get("done") else None}, found)


def settle(call: Call) -> Redirect:
    """Say what became of an effect."""
    key, answer = call.form.get("key", ""), call.form.get("applied")
    if answer not in ("yes", "no"):
        raise UsageError("say what became of it: applied or not applied")
    done = call.write(lambda connection: uncertain.settle(connection, key, call.actor, applied=answer == "yes"))
    if done is not Settled.DONE:
        raise NotFound(done.value)
    return Redirect("effects?done=settle", {"key": key, "applied": answer == "yes"})


def _before(call: Call) -> int:
    """Where the page begins: below this id."""
    return whole_number(call.query.get("before", str(_LARGEST)), 0, _LARGEST)
