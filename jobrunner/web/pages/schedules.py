"""The schedules: in words, with their next slots in their own zone, and pause, resume and trigger."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any
from urllib.parse import urlencode

from jobrunner.errors import BadSchedule, NotFoundError, UsageError
from jobrunner.schedules import timezones
from jobrunner.schedules.describe import describe
from jobrunner.schedules.recurrence import Recurrence
from jobrunner.settings import config
from jobrunner.store.changes import backfill, pausing
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions import calendar, definitions, shown_schedule
from jobrunner.store.questions.calendar import SlotRun
from jobrunner.store.questions.definitions import ListedDefinition, ShownDefinition
from jobrunner.store.questions.explain.explanation import Explanation
from jobrunner.store.questions.explain.schedules import explain_schedule
from jobrunner.store.queue.ticks import tallies
from jobrunner.web import fields
from jobrunner.web.call import Call, NotFound, Page, Redirect
from jobrunner.web.pages import heat
from jobrunner.web.pages.slots import Slot
from jobrunner.web.pages.thresholds import tick_age
from jobrunner.web.permissions import Verb
from jobrunner.worker import expansion

_COMING = 5
_NEWEST = 30
_MOST_SLOTS = 1000
_STRIPS = 200
"""So many schedules have the strip of their newest slots in the list."""
_DONE = {
    "pause": "Paused: its slots get no runs until it is resumed.",
    "resume": "Resumed.",
    "triggered": "Triggered on each of its hosts.",
    "dropped": "Dropped: as many runs of its type wait as its max_waiting allows.",
}


@dataclass(frozen=True)
class InWords:
    """What a schedule means, and its next slots in its own zone. A row that cannot be read has neither."""

    words: str | None
    coming: list[datetime]


def schedules(call: Call) -> Page:
    """The same as the command ``schedule list``."""
    at, (found, runs) = call.read(_read)
    strips: dict[int, list[SlotRun]] = {}
    for run in runs:
        strips.setdefault(run.definition_id, []).append(run)
    rows = [(each, _in_words(each, at, 1), strips.get(each.id, [])) for each in found]
    return Page("schedules.html", {"at": at, "rows": rows}, found)


def _read(connection: Connection) -> tuple[list[ListedDefinition], list[SlotRun]]:
    found = definitions.listed(connection)
    return found, calendar.newest(connection, [each.id for each in found[:_STRIPS]], _NEWEST)


def schedule(call: Call) -> Page:
    """The same as the command ``schedule show``, for the schedule that the address names."""
    name, hour = call.query.get("name", ""), heat.asked(call.query)
    try:
        at, (found, why, hours, slots) = call.read(partial(_show, name=name, explains=call.wants_json, hour=hour))
    except NotFoundError as error:
        raise NotFound(str(error)) from None
    meant = _in_words(found, at, _COMING)
    values = {
        "at": at,
        "schedule": found,
        "meant": meant,
        "verbs": [] if found.removed_at else [verb for verb in _verbs(found) if verb in call.verbs],
        "done": _DONE.get(call.query.get("done", "")),
        "strip": list(reversed(found.runs)),
        "heat": heat.drawn(hours, found, at) if hours else None,
        "signs": heat.SIGNS,
        "slots": slots,
        "hour": hour and hour.begin.astimezone(heat.zone_of(found)),
    }
    return Page("schedule.html", values, shown_schedule.of_schedule(found, why))


def _show(
    connection: Connection, name: str, explains: bool, hour: heat.Asked | None
) -> tuple[ShownDefinition, Explanation | None, list[heat.Hour], list[Slot]]:
    """The page says what is wrong with it in other words."""
    found = definitions.show(connection, name, _NEWEST)
    if explains:
        return found, explain_schedule(connection, name, tick_age()), [], []
    if found.removed_at is not None or found.has_hosts or not _is_read(found):
        return found, None, [], []
    at = tallies.now(connection)
    return (
        found,
        None,
        heat.read(connection, found, at),
        [] if hour is None else heat.slots(connection, found, at, hour),
    )


def _is_read(found: ListedDefinition) -> bool:
    """Whether it has slots, as far as this version can read."""
    try:
        return found.schedule is not None and Recurrence.parse(found.schedule, found.timezone) is not None
    except BadSchedule:
        return False


def _verbs(found: ListedDefinition) -> tuple[Verb, ...]:
    has_slots = found.schedule is not None and not found.has_hosts
    return (Verb.TRIGGER, Verb.RESUME if found.paused_at else Verb.PAUSE, *([Verb.BACKFILL] if has_slots else []))


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
    """Make one run now, and show it; or one for each host."""
    name = call.form.get("name", "")
    made = call.write(lambda connection: backfill.trigger(connection, name, _payload_limit(), call.actor))
    ids = [each.id for each in made if each.id is not None]
    if len(made) > 1:
        return _back(name, "triggered" if ids else "dropped")
    return Redirect(f"runs/{ids[0]}", {"id": ids[0]}) if ids else _back(name, "dropped")


def fill(call: Call) -> Page:
    """Make runs for past slots that have none. First it shows what it would make."""
    name = call.form.get("name", "")
    begin, end = (fields.instant(call.form.get(each, "")) for each in ("since", "until"))
    if begin > end:
        raise UsageError("since is later than until; no slot lies between them")
    settings = config.load(os.environ)
    kept = min(settings.keep[status] for status in ("succeeded", "cancelled", "dead"))
    span = backfill.Span(begin, end, _MOST_SLOTS, kept, call.form.get("again") == "yes")
    given: dict[str, Any] = {"name": name, "span": span, "payload_limit": settings.payload_limit}
    slots = (
        call.write(partial(backfill.backfill, **given, actor=call.actor))
        if call.is_agreed
        else call.read(partial(backfill.preview, **given))[1]
    )
    counts = Counter(each.answer for each in slots)
    again = ("name", "since", "until", "again", "reason")
    values = {
        "name": name,
        "slots": slots,
        "counts": counts,
        "makes": counts["would be made"] + counts["would be retried"],
        "is_done": call.is_agreed,
        "again": [(each, call.form[each]) for each in again if each in call.form],
    }
    return Page("backfill.html", values, slots)


def _back(name: str, done: str) -> Redirect:
    return Redirect(f"schedule?{urlencode({'name': name, 'done': done})}", {"name": name, "done": done})


def _payload_limit() -> int:
    return config.for_enqueue(os.environ).payload_limit
