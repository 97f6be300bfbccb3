"""The list of runs by a filter that the address holds, and the errors of those that failed, grouped."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

from jobrunner.errors import DatabaseUnavailable, NotFoundError, UsageError
from jobrunner.lifecycle import Status
from jobrunner.masking import MASK
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions import error_groups
from jobrunner.store.questions.error_groups import ErrorGroup, Errors
from jobrunner.store.questions.runs import run_list
from jobrunner.store.questions.runs.run_list import Page as Listed
from jobrunner.store.questions.selection import WAITING_FOR, Selection
from jobrunner.text import storable, whole_number
from jobrunner.web import fields
from jobrunner.web.call import Call, Page
from jobrunner.web.permissions import Verb

_A_PAGE = 50
_SECONDS = 1.2
"""Of the two seconds of a page: for the search. Then it says how far back it has looked."""
_OF_ERRORS = 0.06
"""The same for the errors, which are read in a bounded number of looks."""
_MOST_GROUPS = 200
"""Errors that a page shows: of each it reads the payload of one run."""
LARGEST_ID = 10**18 - 1
_TEXTS = ("schedule", "key", "error")
BULK = (Verb.RETRY, Verb.RESCHEDULE, Verb.PRIORITY, Verb.CANCEL, Verb.DISCARD)
"""What can be done to many runs at once."""
_SPAN = ("since", "until", "schedule", "key")
"""What of a filter narrows the runs of a group of errors, too."""
_FIELDS = ("status", "type", *_TEXTS, "since", "until", "waiting_for")


@dataclass(frozen=True)
class Filter:
    """What the form shows: each field as it was written, also when it cannot be read."""

    written: dict[str, list[str]]

    def first(self, name: str) -> str:
        """The text of a field."""
        return next(iter(self.written.get(name, [])), "")

    def fields(self) -> list[tuple[str, list[str]]]:
        """The fields that are given, for a form that repeats them."""
        return [(name, self.written[name]) for name in _FIELDS if self.written.get(name)]

    def link(self, **changes: object) -> str:
        """An address with this filter, that somebody can send to another."""
        return "?" + urlencode(
            {**dict(self.fields()), **{name: str(value) for name, value in changes.items()}}, doseq=True
        )


def runs(call: Call) -> Page:
    """The same as the command ``runs``. When the filter cannot be used, or takes too long, it can still be changed."""
    asked = Filter({name: [each for each in values if each] for name, values in call.lists.items()})
    found, problem, status = Listed([], None, None), None, 200
    at = None
    try:
        selection, before = selection_of(asked), _before(asked)
        at, found = call.read(
            partial(run_list.page, selection=selection, limit=_A_PAGE, before=before, seconds=_SECONDS)
        )
        kept = [run for run in found.runs if is_shown(selection.error, run.error_type, run.last_error)]
        # Nor does a link tell of runs that are not shown.
        found = replace(found, runs=kept, next_before=found.next_before if kept or not found.runs else None)
    except (UsageError, NotFoundError) as error:
        problem, status = f"{error}.", 400
    except DatabaseUnavailable as error:
        problem, status = f"{error}. A narrower filter, such as since or type, is quicker.", 503
    verbs = [verb for verb in BULK if verb in call.verbs]
    values = {"filter": asked, "found": found, "problem": problem, "at": at, "verbs": verbs, **_choices()}
    return Page("runs.html", values, found if problem is None else {"error": problem}, status)


def errors(call: Call) -> Page:
    """The same as the command ``errors``, with the largest groups."""
    asked = Filter({name: [each for each in values if each] for name, values in call.lists.items()})
    found, problem, status = Errors([], 0, None), None, 200
    at, others = None, 0
    try:
        selection = selection_of(asked)
        at, found = call.read(partial(_grouped, selection=selection))
        groups = [each for each in found.groups if is_shown(selection.error, each.error_type, each.error)]
        runs = found.runs if selection.error is None else sum(each.count for each in groups)
        found = replace(found, groups=groups, runs=runs)
        others = found.runs - sum(group.count for group in found.groups)
    except (UsageError, NotFoundError) as error:
        problem, status = f"{error}.", 400
    except DatabaseUnavailable as error:
        problem, status = f"{error}. A narrower filter, such as since or type, is quicker.", 503
    values = {"filter": asked, "found": found, "problem": problem, "at": at, "others": others}
    values |= {"retry_all": _retry_all, "runs_of": partial(_runs_of, asked)}
    return Page("errors.html", values, found if problem is None else {"error": problem}, status)


def _grouped(connection: Connection, selection: Selection) -> Errors:
    found = error_groups.errors(connection, selection, seconds=_OF_ERRORS, looks=2)
    return replace(found, groups=found.groups[:_MOST_GROUPS])


def is_shown(part: str | None, error_type: str | None, error: str | None) -> bool:
    """Whether an error, as the page shows it, has this part.

    The database has found it in the error as it is. To look for parts of a secret, one after the other, must tell
    nothing.
    """
    return part is None or part.casefold() in f"{error_type or ''}: {error or ''}".casefold()


def _retry_all(group: ErrorGroup) -> list[tuple[str, list[str]]]:
    """The fields of a form that retries the runs of a group. The text goes up to the first number or secret."""
    text = f"{group.error_type or ''}: {group.error}".partition("#")[0].partition(MASK)[0]
    return [("type", [group.job_type]), ("status", [each.value for each in error_groups.STATUSES]), ("error", [text])]


def _runs_of(asked: Filter, group: ErrorGroup, *statuses: str) -> str:
    """The address of the list of the runs of a group, of all its statuses or of these, below the mount."""
    fields = dict(_retry_all(group)) | {name: asked.written[name] for name in _SPAN if asked.written.get(name)}
    return "runs?" + urlencode(fields | ({"status": list(statuses)} if statuses else {}), doseq=True)


def _choices() -> dict[str, Any]:
    return {"statuses": [each.value for each in Status], "waits": list(WAITING_FOR)}


def selection_of(asked: Filter) -> Selection:
    """The runs that a filter means. Raises UsageError."""
    schedule, key, error = (_stored(asked.first(name)) or None for name in _TEXTS)
    return Selection(
        statuses=tuple(_status(each) for each in asked.written.get("status", [])),
        job_types=tuple(_stored(each) for each in asked.written.get("type", [])),
        since=fields.instant_or_ago(asked.first("since")),
        until=fields.instant_or_ago(asked.first("until")),
        waiting_for=tuple(_wait(each) for each in asked.written.get("waiting_for", [])),
        schedule=schedule,
        key=key,
        error=error,
    )


def _before(asked: Filter) -> int | None:
    written = asked.first("before")
    return whole_number(written, 1, LARGEST_ID) if written else None


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
        raise UsageError(f"{text[:60]!r} cannot be searched for; give a text in UTF-8")
    return text
