"""The schedules: in words, with their next slots in their own zone, and pause, resume and trigger."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import islice
from urllib.parse import urlencode

from jobrunner.errors import BadSchedule, NotFoundError
from jobrunner.schedules import timezones
from jobrunner.schedules.describe import describe
from jobrunner.schedules.recurrence import Recurrence
from jobrunner.settings import config
from jobrunner.store import backfill, definitions, pausing
from jobrunner.store.definitions import ListedDefinition
from jobrunner.web.call import Call, NotFound, Page, Redirect
from jobrunner.web.visitors import Verb
from jobrunner.worker import expansion

_COMING = 5
_NEWEST = 30
_DONE = {"pause": "Paused: its slots get no runs until it is resumed.", "resume": "Resumed."}


@dataclass(frozen=True)
class InWords:
    """What a schedule means, and its next slots in its own zone. A row that cannot be read has neither."""

    words: str | None
    coming: list[datetime]


def schedules(call: Call) -> Page:
    """The same as the command ``schedule list``."""
    at, found = call.read(definitions.listed)
    rows = [(each, _in_words(each, at, 1)) for each in found]
    return Page("schedules.html", {"at": at, "rows": rows}, found)


def schedule(call: Call) -> Page:
    """The same as the command ``schedule show``, for the schedule that the address names."""
    name = call.query.get("name", "")
    try:
        at, found = call.read(lambda connection: definitions.show(connection, name, _NEWEST))
    except NotFoundError as error:
        raise NotFound(str(error)) from None
    meant = _in_words(found, at, _COMING)
    values = {
        "at": at,
        "schedule": found,
        "meant": meant,
        "payload": call.masks.value(found.payload),
        "verbs": [] if found.removed_at else [verb for verb in _verbs(found) if verb in call.visitor.verbs],
        "done": _DONE.get(call.query.get("done", "")),
        "strip": list(reversed(found.runs)),
    }
    return Page("schedule.html", values, {**vars(found), "payload": values["payload"], "in_words": meant.words})


def _verbs(found: ListedDefinition) -> tuple[Verb, ...]:
    return (Verb.TRIGGER, Verb.RESUME if found.paused_at else Verb.PAUSE)


def _in_words(found: ListedDefinition, at: datetime, count: int) -> InWords:
    if found.schedule is None:
        return InWords(None, [])
    try:
        recurrence = Recurrence.parse(found.schedule, found.timezone)
        zone = timezones.find(recurrence.timezone)
        begin = max(at, found.last_slot_at)
        coming = [slot.astimezone(zone) for slot in islice(_after(recurrence, begin), count)]
        return InWords(describe(recurrence.expression), [] if found.paused_at else coming)
    except BadSchedule:
        return InWords(None, [])


def _after(recurrence: Recurrence, begin: datetime) -> Iterator[datetime]:
    slot = recurrence.next_after(begin)
    while slot is not None:
        yield slot
        slot = recurrence.next_after(slot)


def pause(call: Call) -> Redirect:
    """Let its slots make no runs."""
    name = call.form.get("name", "")
    call.write(lambda connection: pausing.pause(connection, name, call.actor))
    return _back(name, "pause")


def resume(call: Call) -> Redirect:
    """End a pause; ``missed`` lets the next tick decide on the slots that were missed."""
    name, missed = call.form.get("name", ""), call.form.get("missed") == "yes"
    plan = partial(expansion.plan, payload_limit=_payload_limit())
    call.write(lambda connection: pausing.resume(connection, name, plan, call.actor, missed=missed))
    return _back(name, "resume")


def trigger(call: Call) -> Redirect:
    """Make one run now, and show it."""
    name = call.form.get("name", "")
    made = call.write(lambda connection: backfill.trigger(connection, name, _payload_limit(), call.actor))
    return _back(name, "") if made.id is None else Redirect(f"runs/{made.id}", {"id": made.id})


def _back(name: str, done: str) -> Redirect:
    return Redirect(f"schedule?{urlencode({'name': name, 'done': done})}", {"name": name, "done": done})


def _payload_limit() -> int:
    return config.for_enqueue(os.environ).payload_limit
