"""What was: the ticks of each host, the effects of which nobody knows, and the audit trail."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from jobrunner.errors import UsageError
from jobrunner.store.changes import settlement
from jobrunner.store.changes.settlement import Settled
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions import trails, uncertain
from jobrunner.store.queue import pauses
from jobrunner.text import whole_number
from jobrunner.web.call import Call, NotFound, Page, Redirect, Typed
from jobrunner.web.pages import pausing
from jobrunner.web.permissions import Verb

_A_PAGE = 100
_LARGEST = 10**18 - 1


def hosts(call: Call) -> Page:
    """The last tick of each host, and the newest ticks of all, or of the one that the address names."""
    before, only = _before(call), call.query.get("host") or None
    at, (last, found, paused) = call.read(
        lambda connection: (
            trails.last_ticks(connection),
            trails.newest_ticks(connection, _A_PAGE, before, only),
            pauses.listed(connection),
        )
    )
    more = found[-1].id if len(found) == _A_PAGE else None
    done = pausing.DONE.get(call.query.get("done", ""))
    values = {"at": at, "hosts": last, "ticks": found, "more": more, "paused": paused, "done": done, "only": only}
    return Page("hosts.html", values, {"hosts": last, "ticks": found})


def audit(call: Call) -> Page:
    """What people and ticks changed, the newest first."""
    before = _before(call)
    at, found = call.read(lambda connection: trails.newest_events(connection, _A_PAGE, before))
    more = found[-1].id if len(found) == _A_PAGE else None
    return Page("audit.html", {"at": at, "events": found, "more": more}, found)


def effects(call: Call) -> Page:
    """The same as the command ``effects list``."""
    at, read = call.read(
        lambda connection: [(each, digest(each.key)) for each in uncertain.listed(connection, _A_PAGE)]
    )
    found = [effect for effect, _ in read]
    # A key may have a secret in it, which the page hides. Its form then names the effect by the digest.
    hidden = {effect.key: of_key for effect, of_key in read if digest(effect.key) != of_key}
    values = {"at": at, "effects": read, "hidden_keys": hidden, "may_settle": Verb.SETTLE in call.verbs}
    return Page("effects.html", {**values, "done": "Settled." if call.query.get("done") else None}, found)


def settle(call: Call) -> Page | Redirect:
    """Say what became of an effect. Where another was quicker, the list comes again with the reason that was typed."""
    key, answer = call.form.get("key", ""), call.form.get("applied")
    if answer not in ("yes", "no"):
        raise UsageError("say whether the effect was applied: applied or not applied")
    of_key = call.form.get("digest")

    def work(connection: Connection) -> Settled:
        listed = uncertain.listed(connection) if of_key else []
        meant = next((each.key for each in listed if digest(each.key) == of_key), key)
        return settlement.settle(connection, meant, call.actor, applied=answer == "yes")

    done = call.write(work)
    if done is not Settled.DONE:
        if call.wants_json:
            raise NotFound(done.value)
        page = effects(call)
        typed = Typed(Verb.SETTLE, call.form_lists)
        return replace(page, values={**page.values, "problem": f"Not done: {done.value}.", "typed": typed}, status=404)
    return Redirect("effects?done=settle", {"key": key, "applied": answer == "yes"})


def digest(key: str) -> str:
    """What identifies the key of an effect without showing it."""
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()


def _before(call: Call) -> int:
    """Where the page begins: below this id."""
    return whole_number(call.query.get("before", str(_LARGEST)), 0, _LARGEST)
