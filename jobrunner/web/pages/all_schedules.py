"""Pause and resume of all schedules at once. They are counted and asked first."""

from __future__ import annotations

import os
from functools import partial

from jobrunner.errors import UsageError
from jobrunner.settings import config
from jobrunner.store.changes import pausing
from jobrunner.store.questions import definitions
from jobrunner.web.call import Call, Page
from jobrunner.web.permissions import Verb
from jobrunner.worker import expansion


def pause(call: Call) -> Page:
    """Let no schedule make runs."""
    _, found = call.read(definitions.listed)
    names = [each.name for each in found if each.paused_at is None]
    if not call.is_agreed:
        return _page(call, Verb.PAUSE, names, None)
    return _page(call, Verb.PAUSE, names, call.write(partial(pausing.pause_all, actor=call.actor)))


def resume(call: Call) -> Page:
    """End the pauses of all schedules; from now also those that are not paused count from now."""
    given = call.form.get("missed", "")
    if given not in ("yes", "no"):
        raise UsageError("say whether the next tick decides on the missed slots: missed=yes or missed=no")
    missed = given == "yes"
    _, found = call.read(definitions.listed)
    names = [each.name for each in found if each.paused_at is not None or not missed]
    if not call.is_agreed:
        return _page(call, Verb.RESUME, names, None)
    plan = partial(expansion.plan, payload_limit=config.for_enqueue(os.environ).payload_limit)
    done = call.write(partial(pausing.resume_all, plan=plan, actor=call.actor, missed=missed))
    slots = sum(each.skipped.count for each in done)
    return _page(call, Verb.RESUME, names, [each.name for each in done], slots)


def _page(call: Call, verb: Verb, names: list[str], done: list[str] | None, slots: int = 0) -> Page:
    values = {
        "verb": verb,
        "names": names if done is None else done,
        "is_done": done is not None,
        "missed": call.form.get("missed"),
        "slots": slots,
        "has_reason": bool(call.actor.reason),
        "reason_given": call.actor.reason,
    }
    return Page("all_schedules.html", values, {"action": verb, "schedules": names, "done": done})
