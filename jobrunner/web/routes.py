"""All routes, as data: the method, the path below the mount, what it does, and the page."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from jobrunner.web.call import Answer, Call, Page
from jobrunner.web.pages import (
    all_schedules,
    bulk,
    calendar,
    limiting,
    now,
    pausing,
    run,
    runs,
    schedules,
    trails,
    types,
    zone,
)
from jobrunner.web.permissions import Verb


class Route(NamedTuple):
    """One route. ``{name}`` in the path stands for one part of it.

    ``form``: the page that has its form, which shows again what was typed when it has a mistake.
    """

    method: str
    path: str
    verb: Verb
    view: Callable[[Call], Answer]
    form: Callable[[Call], Page] | None = None


@dataclass(frozen=True)
class Found:
    """The route of a request, and the parts of the path that it names."""

    route: Route
    names: Mapping[str, str]


def _page_of_pauses(call: Call) -> Page:
    """The page that has the form for what somebody wants to pause or to resume."""
    return {"type": types.types, "host": trails.hosts}.get(call.form.get("kind", ""), now.now)(call)


ROUTES = (
    Route("GET", "/", Verb.LOOK, now.now),
    Route("GET", "/runs", Verb.LOOK, runs.runs),
    Route("GET", "/errors", Verb.LOOK, runs.errors),
    Route("GET", "/types", Verb.LOOK, types.types),
    Route("GET", "/schedules", Verb.LOOK, schedules.schedules),
    Route("GET", "/schedules/calendar", Verb.LOOK, calendar.calendar),
    Route("GET", "/schedule", Verb.LOOK, schedules.schedule),
    Route("GET", "/hosts", Verb.LOOK, trails.hosts),
    Route("GET", "/effects", Verb.LOOK, trails.effects),
    Route("GET", "/audit", Verb.LOOK, trails.audit),
    Route("GET", "/zone", Verb.LOOK, zone.choose),
    Route("GET", "/runs/{id}", Verb.LOOK, run.show),
    Route("GET", "/runs/{id}/attempts/{sequence}/{text}", Verb.LOOK, run.download),
    Route("POST", "/keep-zone", Verb.LOOK, zone.chosen, zone.choose),
    Route("POST", "/runs/{id}/retry", Verb.RETRY, run.retry, run.show),
    Route("POST", "/runs/{id}/payload", Verb.PAYLOAD, run.replace_payload, run.show),
    Route("POST", "/runs/{id}/cancel", Verb.CANCEL, run.cancel, run.show),
    Route("POST", "/runs/{id}/discard", Verb.DISCARD, run.discard, run.show),
    Route("POST", "/runs/{id}/reschedule", Verb.RESCHEDULE, run.reschedule, run.show),
    Route("POST", "/runs/{id}/priority", Verb.PRIORITY, run.set_priority, run.show),
    *(Route("POST", f"/bulk/{verb}", verb, partial(bulk.change, verb=verb), runs.runs) for verb in runs.BULK),
    Route("POST", "/pause", Verb.PAUSE, pausing.pause, _page_of_pauses),
    Route("POST", "/resume", Verb.RESUME, pausing.resume, _page_of_pauses),
    Route("POST", "/limit", Verb.LIMIT, limiting.limit, types.types),
    Route("POST", "/unlimit", Verb.UNLIMIT, limiting.unlimit, types.types),
    Route("POST", "/schedules/pause", Verb.PAUSE, all_schedules.pause, schedules.schedules),
    Route("POST", "/schedules/resume", Verb.RESUME, all_schedules.resume, schedules.schedules),
    Route("POST", "/schedule/pause", Verb.PAUSE, schedules.pause, schedules.schedule),
    Route("POST", "/schedule/resume", Verb.RESUME, schedules.resume, schedules.schedule),
    Route("POST", "/schedule/trigger", Verb.TRIGGER, schedules.trigger, schedules.schedule),
    Route("POST", "/schedule/backfill", Verb.BACKFILL, schedules.fill, schedules.schedule),
    Route("POST", "/effects/settle", Verb.SETTLE, trails.settle, trails.effects),
)
PAGES = ("", "runs", "errors", "types", "schedules", "hosts", "effects", "audit")
"""The pages of the navigation, by their paths; the first one is called "now"."""
_PATTERNS = [(re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", route.path)), route) for route in ROUTES]


def find(method: str, path: str) -> Found | tuple[str, ...] | None:
    """The route. A tuple has the methods that the path takes instead. None: there is no such page."""
    methods: set[str] = set()
    for pattern, route in _PATTERNS:
        if match := pattern.fullmatch(path):
            if method == route.method or (method, route.method) == ("HEAD", "GET"):
                return Found(route, match.groupdict())
            methods |= {"GET", "HEAD"} if route.method == "GET" else {route.method}
    return tuple(methods) or None
