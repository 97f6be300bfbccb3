"""The list of runs by a filter that the address holds, and the errors of those that failed, grouped."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import urlencode

from jobrunner.durations import parse_duration
from jobrunner.errors import DatabaseUnavailable, NotFoundError, UsageError
from jobrunner.lifecycle import Status
from jobrunner.store import error_groups, listing
from jobrunner.store.error_groups import Errors
from jobrunner.store.listing import Page as Listed
from jobrunner.store.selection import WAITING_FOR, Selection
from jobrunner.text import storable, whole_number
from jobrunner.web.call import Call, Page

_A_PAGE = 50
_SECONDS = 1.2
"""Of the two seconds of a page: for the search. Then it says how far back it has looked."""
_LARGEST = 10**18 - 1
_TEXTS = ("schedule", "key", "error")
_FIELDS = ("status", "type", *_TEXTS, "since", "until", "waiting_for")


@dataclass(frozen=True)
class Filter:
    """What the form shows: each field as it was written, also when it cannot be read."""

    written: dict[str, list[str]]

    def first(self, name: str) -> str:
        """The text of a field."""
        return next(iter(self.written.get(name, [])), "")

    def link(self, **changes: object) -> str:
        """An address with this filter, that a person can send to another."""
        fields = {name: self.written[name] for name in _FIELDS if self.written.get(name)}
        return "?" + urlencode({**fields, **{name: str(value) for name, value in changes.items()}}, doseq=True)


def runs(call: Call) -> Page:
    """The same as the command ``runs``. When the filter cannot be used, or takes too long, it can still be changed."""
    asked = Filter({name: [each for each in values if each] for name, values in call.lists.items()})
    found, problem, status = Listed([], None, None), None, 200
    at = None
    try:
        selection, before = _selection(asked), _before(asked)
        read = partial(listing.page, selection=selection, limit=_A_PAGE, before=before, seconds=_SECONDS)
        at, found = call.read(read)
    except (UsageError, NotFoundError) as error:
        problem, status = f"{error}.", 400
    except DatabaseUnavailable as error:
        problem, status = f"{error}. A narrower filter, such as since or type, is quicker.", 503
    values = {"filter": asked, "found": found, "problem": problem, "at": at, **_choices()}
    return Page("runs.html", values, found if problem is None else {"error": problem}, status)


def errors(call: Call) -> Page:
    """The same as the command ``errors``."""
    asked = Filter({name: [each for each in values if each] for name, values in call.lists.items()})
    found, problem, status = Errors([], 0, None), None, 200
    at = None
    try:
        at, found = call.read(partial(error_groups.errors, selection=_selection(asked), seconds=_SECONDS))
    except (UsageError, NotFoundError) as error:
        problem, status = f"{error}.", 400
    except DatabaseUnavailable as error:
        problem, status = f"{error}. A narrower filter, such as since or type, is quicker.", 503
    values = {"filter": asked, "found": found, "problem": problem, "at": at}
    return Page("errors.html", values, found if problem is None else {"error": problem}, status)


def _choices() -> dict[str, Any]:
    return {"statuses": [each.value for each in Status], "waits": list(WAITING_FOR)}


def _selection(asked: Filter) -> Selection:
    schedule, key, error = (_stored(asked.first(name)) or None for name in _TEXTS)
    return Selection(
        statuses=tuple(_status(each) for each in asked.written.get("status", [])),
        job_types=tuple(_stored(each) for each in asked.written.get("type", [])),
        since=_when(asked.first("since")),
        until=_when(asked.first("until")),
        waiting_for=tuple(_wait(each) for each in asked.written.get("waiting_for", [])),
        schedule=schedule,
        key=key,
        error=error,
    )


def _before(asked: Filter) -> int | None:
    written = asked.first("before")
    return whole_number(written, 1, _LARGEST) if written else None


def _status(text: str) -> Status:
    if text not in list(Status):
        raise UsageError(f"{text[:40]!r} is no status; there are {', '.join(Status)}")
    return Status(text)


def _wait(text: str) -> str:
    if text not in WAITING_FOR:
        raise UsageError(f"no run waits for {text[:40]!r}; there are {', '.join(WAITING_FOR)}")
    return text


def _stored(text: str) -> str:
    if storable(text) != text:
        raise UsageError(f"{text[:60]!r} is in no run; give a text in UTF-8")
    return text


def _when(text: str) -> datetime | timedelta | None:
    """An instant, in UTC unless it has an offset, or so long ago."""
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        try:
            return parse_duration(text)
        except UsageError:
            raise UsageError(
                f"{text[:40]!r} is no time; write 2h for two hours ago, or 2026-01-31 14:00 in UTC"
            ) from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
