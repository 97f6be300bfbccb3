"""One run: its columns, its attempts, what people did to it, and the buttons that change it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial

from jobrunner.application.enqueueing import check_run_at
from jobrunner.errors import UsageError
from jobrunner.jobs.run_options import PRIORITY
from jobrunner.jobs.trace_context import trace_id
from jobrunner.lifecycle import Event, Status, allowed
from jobrunner.store.changes import one_run
from jobrunner.store.changes.one_run import Answer as Done
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions.explain import prefetched
from jobrunner.store.questions.explain.explanation import Explanation
from jobrunner.store.questions.runs import run_details, run_view, shown_run
from jobrunner.store.questions.runs.run_details import Run
from jobrunner.web import fields
from jobrunner.web.call import Call, Download, NotFound, Page, Redirect, Typed
from jobrunner.web.pages import life, payload, timeline
from jobrunner.web.pages.thresholds import tick_age
from jobrunner.web.permissions import Verb
from jobrunner.web.rendering import since

_ALONE = ("payload", "result", "progress", "checkpoint", "last_error", "output", "attempt_log", "event_log")
_INSIDE = ("lease_token", "turn_at", "gate", "has_dependants")
_EVENTS = {
    Verb.RETRY: (Event.RETRY, Event.FORCE_RETRY),
    # Of whatever a claim takes.
    Verb.RESCHEDULE: (Event.CLAIM,),
    Verb.PRIORITY: (Event.CLAIM,),
    Verb.CANCEL: (Event.CANCEL,),
    Verb.DISCARD: (Event.DISCARD,),
}
_DONE = {
    Verb.RETRY: "Queued again.",
    Verb.PAYLOAD: "It has another payload.",
    Verb.CANCEL: "Cancelled, or its handler is being stopped.",
    Verb.DISCARD: "Discarded.",
    Verb.RESCHEDULE: "It has another time.",
    Verb.PRIORITY: "It has another priority.",
}


def show(call: Call, problem: str | None = None, verb: Verb | None = None) -> Page:
    """The run. ``problem`` says why it was not changed by this verb."""
    run_id = call.number("id")
    status = 200 if problem is None else 409
    if call.wants_json:
        return Page("", {}, _data(call, run_id) if problem is None else {"error": problem}, status)
    at, looked = call.read(partial(run_view.look, run_id=run_id, tick_age=tick_age()))
    if looked is None:
        raise NotFound(f"there is no run {run_id}")
    found, why = looked
    run = found.run
    fields = {
        name: value
        for name, value in vars(run).items()
        if value is not None and name not in _ALONE and name not in _INSIDE
    }
    if (trace := trace_id(run.traceparent)) is not None:
        fields["trace_id"] = trace
    values = {
        "at": at,
        "run": run,
        # What has succeeded needs no explanation.
        "explained": None if run.status == Status.SUCCEEDED else why,
        "schedule": found.schedule,
        "neighbours": found.neighbours,
        "fields": fields,
        "life": life.life_of(run),
        "timeline": timeline.timeline(run, at),
        "progress": timeline.progress(run, at),
        "row": timeline.ROW,
        "tall": timeline.TALL,
        "ends": timeline.ENDS,
        "attempts": run.attempt_log[::-1],
        "older": found.older,
        "verbs": [verb for verb in _EVENTS if verb in call.verbs and _is_possible(verb, run)],
        "done": _DONE.get(call.query.get("done", "")),  # type: ignore[call-overload]
        "takes_payload": _takes_payload(call, run),
        "payload_text": payload.text_of(call, run),
        "typed": Typed(verb, call.form_lists),
        "in_bar": list(_EVENTS),
        "problem": problem and f"{problem} {_as_it_is(run, at)}",
    }
    return Page("run.html", values, None, status)


def _data(call: Call, run_id: int) -> shown_run.ShownRun:
    """The same as `show --json`."""

    def read(connection: Connection) -> tuple[Run, Explanation]:
        asked = [(each, {"run": run_id}) for each in run_details.statements().values()]
        return shown_run.run(prefetched.of_run(connection, run_id, asked), run_id, tick_age())

    _, (run, why) = call.read(read)
    return shown_run.of_run(run, why)


def _as_it_is(run: Run, at: datetime) -> str:
    """What somebody who was too late wants to know."""
    if run.finished_at is not None:
        how = "succeeded" if run.status == Status.SUCCEEDED else f"is {run.status}"
        return f"The run already {how}, {since(run.finished_at, at)}."
    began_at = run.started_at if run.status == Status.RUNNING else None
    return f"The run is {run.status}{f', {since(began_at, at)}' if began_at else ''}."


def _is_possible(verb: Verb, run: Run) -> bool:
    return any(allowed(event, Status(run.status)) for event in _EVENTS[verb])


def _takes_payload(call: Call, run: Run) -> bool:
    return Verb.PAYLOAD in call.verbs and (run.status == Status.QUEUED or _is_possible(Verb.RETRY, run))


def download(call: Call) -> Download:
    """The whole output or traceback of an attempt."""
    run_id, sequence, name = call.number("id"), call.number("sequence"), call.names["text"]
    _, found = call.read(lambda connection: run_details.show(connection, run_id))
    attempts = [] if found is None else found.attempt_log
    for attempt in attempts:
        if attempt.sequence == sequence and name in ("output", "traceback"):
            return Download(getattr(attempt, name) or "", f"run-{run_id}-{sequence}-{name}.txt")
    raise NotFound("there is no such attempt")


def retry(call: Call) -> Page | Redirect:
    """Queue the run again. The button of a run that has succeeded says so."""
    return _change(call, Verb.RETRY, partial(one_run.retry, force=call.form.get("force") == "yes"))


def replace_payload(call: Call) -> Page | Redirect:
    """Give the run another payload, and queue it again. The rules are those of the command."""
    new = payload.typed(call, call.number("id"))
    force = call.form.get("force") == "yes"
    return _change(call, Verb.PAYLOAD, partial(one_run.retry, force=force, payload=new))


def cancel(call: Call) -> Page | Redirect:
    """Cancel the run, or stop its handler."""
    return _change(call, Verb.CANCEL, one_run.cancel)


def discard(call: Call) -> Page | Redirect:
    """Give the run up, with a reason."""
    if not call.actor.reason:
        raise UsageError("give the reason, which the audit trail keeps")
    return _change(call, Verb.DISCARD, one_run.discard)


def reschedule(call: Call) -> Page | Redirect:
    """Give the run another time."""
    run_at = fields.instant_or_later(call.form.get("run_at", ""))
    check_run_at(run_at)
    return _change(call, Verb.RESCHEDULE, partial(one_run.reschedule, run_at=run_at))


def set_priority(call: Call) -> Page | Redirect:
    """Give the run another priority."""
    priority = PRIORITY.read(call.form.get("priority", ""))
    return _change(call, Verb.PRIORITY, partial(one_run.set_priority, priority=priority))


def _change(call: Call, verb: Verb, change: Callable[..., Done]) -> Page | Redirect:
    run_id = call.number("id")

    def work(connection: Connection) -> Done:
        return change(connection, run_id, actor=call.actor)

    done = call.write(work)
    if done.status is None:
        raise NotFound(f"there is no run {run_id}")
    if done.applied:
        answer = {"id": run_id, "applied": done.applied, "requested": done.requested}
        return Redirect(f"runs/{run_id}?done={verb}", answer)
    if done.key_holder is not None:
        return show(call, f"Not done: its key is taken by run {done.key_holder}. Cancel that one first.", verb)
    what = "another payload" if verb is Verb.PAYLOAD else str(verb)
    return show(call, f"Not done: {what} is not possible.", verb)
