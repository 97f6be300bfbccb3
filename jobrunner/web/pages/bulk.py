"""One change to many runs: those that are selected, or all that match the filter. It is counted and asked first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from jobrunner.admin import bulk as many
from jobrunner.admin.bulk import ChangeAt, Counted
from jobrunner.application.enqueueing import check_run_at
from jobrunner.errors import UsageError
from jobrunner.jobs.run_options import PRIORITY
from jobrunner.store.changes import run_changes
from jobrunner.store.changes.bulk import Batch
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions.runs import run_list
from jobrunner.store.questions.runs.run_list import SelectedRun
from jobrunner.store.questions.selection import Selection
from jobrunner.text import iso_instant, whole_number
from jobrunner.web import fields
from jobrunner.web.call import Call, Page
from jobrunner.web.masking import Masks
from jobrunner.web.pages.runs import LARGEST_ID, Filter, is_shown, selection_of
from jobrunner.web.permissions import Verb

_AT_ONCE = 500
MOST = 10_000
"""Runs that one request changes, so that it ends soon. The same again changes the next."""


@dataclass(frozen=True)
class _Asked:
    change_at: ChangeAt
    selection: Selection
    over: timedelta | None
    begin: Callable[[datetime], datetime] | None


def change(call: Call, verb: Verb) -> Page:
    """Count the runs and ask; or, when the form says that the user has agreed, change them."""
    asked = _asked(call, verb)
    _, (counted, others) = call.read(partial(_count, asked=asked, masks=call.masks))
    more, runs = len(counted.runs) > MOST, dict(list(counted.runs.items())[:MOST])
    counted = Counted(counted.at, counted.change, counted.selection, runs)
    done = _change(call, asked, counted) if call.is_agreed else None
    # In the second step "2h ago" means the same runs as in the first.
    given = {**call.form_lists, **_instants(counted.selection)}
    asked_filter = Filter({name: given[name] for name in given if any(given[name])})
    values = {
        "verb": verb,
        "words": str(counted),
        "total": len(runs),
        "more": more,
        "done": done,
        "refusals": [] if done is None else many.refusals(done),
        "others": others,
        "again": [(name, values) for name, values in given.items() if name not in call.request.hidden],
        "has_reason": bool(call.actor.reason),
        "back": asked_filter.link(),
        "at": counted.at,
    }
    return Page("bulk.html", values, counted.changed(done))


def _count(connection: Connection, asked: _Asked, masks: Masks) -> tuple[Counted, list[SelectedRun]]:
    counted = many.count(connection, asked.selection, asked.change_at, MOST + 1)
    if asked.selection.error is not None:
        shown = _with_shown_error(connection, masks, tuple(counted.runs), asked.selection.error)
        counted = replace(counted, runs={id_: status for id_, status in counted.runs.items() if id_ in shown})
    ids = asked.selection.ids
    others = run_list.page(connection, Selection(ids=ids), len(ids)).runs if set(ids) - counted.runs.keys() else []
    return counted, [run for run in others if run.id not in counted.runs]


def _with_shown_error(connection: Connection, masks: Masks, ids: tuple[int, ...], part: str) -> set[int]:
    """Those of the runs whose error has this part also as the page shows it."""
    found = set()
    for begin in range(0, len(ids), _AT_ONCE):
        some = ids[begin : begin + _AT_ONCE]
        runs = run_list.page(connection, Selection(ids=some), len(some)).runs
        shown = masks.leaving(runs, masks.known(connection, runs))
        found |= {run.id for run in shown if is_shown(part, run.error_type, run.last_error)}
    return found


def _change(call: Call, asked: _Asked, counted: Counted) -> Batch:
    changing = many.changing(counted, call.actor, asked.over)
    begin = None if asked.begin is None else asked.begin(counted.at)
    return many.total(call.write(partial(changing, batch=batch)) for batch in many.batches(counted, asked.over, begin))


def _asked(call: Call, verb: Verb) -> _Asked:
    form = call.form
    over = fields.duration(form.get("over", "")) if verb in (Verb.RETRY, Verb.RESCHEDULE) else None
    begin: Callable[[datetime], datetime] | None = None
    if verb is Verb.RETRY:
        change_at: ChangeAt = _always(run_changes.retry(force=form.get("force") == "yes"))
        begin = _same
    elif verb is Verb.CANCEL:
        change_at = _always(run_changes.cancel())
    elif verb is Verb.DISCARD:
        if not call.actor.reason and call.is_agreed:
            raise UsageError("give the reason, which the audit trail keeps")
        change_at = _always(run_changes.discard(call.actor.reason or ""))
    elif verb is Verb.RESCHEDULE:
        begin = begin_at(form.get("run_at", ""))
        change_at = partial(_rescheduling, begin=begin, is_spread=over is not None)
    else:
        change_at = _always(run_changes.set_priority(priority_of(form.get("priority", ""))))
    return _Asked(change_at, _selection(call), over, begin)


def _always(change: run_changes.Change) -> ChangeAt:
    return lambda _: change


def _same(at: datetime) -> datetime:
    return at


def _rescheduling(at: datetime, begin: Callable[[datetime], datetime], is_spread: bool) -> run_changes.Change:
    return run_changes.reschedule(begin(at), is_spread=is_spread)


def begin_at(text: str) -> Callable[[datetime], datetime]:
    """The new time of runs, for an instant of the database's clock."""
    run_at = fields.instant_or_later(text)
    check_run_at(run_at)
    return lambda at: at + run_at if isinstance(run_at, timedelta) else run_at


def priority_of(text: str) -> int:
    """A priority."""
    return PRIORITY.read(text)


def _selection(call: Call) -> Selection:
    if call.form.get("which") == "all":
        return selection_of(Filter({name: [each for each in given if each] for name, given in call.form_lists.items()}))
    ids = tuple(whole_number(each, 1, LARGEST_ID) for each in call.form_lists.get("id", []))
    if not ids:
        raise UsageError("no run is selected; select some, or choose: all that match the filter")
    return Selection(ids=ids)


def _instants(selection: Selection) -> dict[str, list[str]]:
    named: dict[str, Any] = {"since": selection.since, "until": selection.until}
    return {name: [iso_instant(at)] for name, at in named.items() if isinstance(at, datetime)}
