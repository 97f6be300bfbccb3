"""What to say of a run that is running, was running on a host that is silent, or has ended."""

from __future__ import annotations

import shlex

from jobrunner.lifecycle import Status
from jobrunner.store.questions.explain.asked_run import Asked, stopped
from jobrunner.store.questions.explain.explanation import Explanation
from jobrunner.store.sql.statement import Prepared, Row


def running(asked: Asked) -> Explanation:
    run = asked.run
    facts = {
        "host": run.host,
        "worker": run.locked_by,
        "started_at": run.started_at,
        "heartbeat_at": run.heartbeat_at or run.claimed_at,
        "locked_until": run.locked_until,
    }
    silent = asked.since(facts["heartbeat_at"])
    if run.is_expired:
        sentence = (
            f"was running on {run.host}, whose tick has been silent for {silent}: its lease has expired. The next tick"
            " of any host recovers it."
        )
        if asked.hosts.have_stopped:
            return stopped(asked, sentence, **facts)
        return asked.say("lease_expired", sentence, "jobrunner tick", **facts)
    stops = "" if run.cancel_requested_at is None else ", and its cancellation was requested"
    since = asked.since(run.started_at or run.claimed_at)
    sentence = f"is running on {run.host} for {since}; its last heartbeat was {silent} ago{stops}."
    return asked.say("running", sentence, None, **facts)


def again(run: Row) -> str:
    """What queues a run again. With the payload that its handler cannot take it would end in the same way."""
    command = f"jobrunner retry {run.id}"
    return f"repair its payload: {command} --payload '{{…}}'" if run.error_type == "bad_payload" else command


def ended(asked: Asked) -> Explanation:
    run = asked.run
    since = asked.since(run.finished_at)
    effect = _open_effect(asked) if run.status != Status.SUCCEEDED else None
    error = f"{run.error_type}: {run.last_error}"
    facts = {"finished_at": run.finished_at, "error_type": run.error_type, "last_error": run.last_error}
    retry = again(run)
    if effect is not None:
        sentence = f"is {run.status}, and it is not known whether its effect '{effect}' was applied."
        settle = f"jobrunner effects settle {shlex.quote(effect)}"
        remedy = f"find out whether it was applied, and say so: {settle} --applied (or --not-applied)"
        return asked.say("uncertain_effect", sentence, remedy, effect=effect, **facts)
    if run.status == Status.SUCCEEDED:
        return asked.say("succeeded", f"succeeded {since} ago.", None, **facts)
    who = _last_event(asked)
    if run.status == Status.CANCELLED:
        by, why = ("", None) if who is None else _by_whom(who)
        said = f"was cancelled {since} ago{by}{f': {why}' if why else ''}."
        return asked.say("cancelled", said, retry, why=why, **facts)
    if run.error_type == "start_deadline":
        sentence = f"has been dead for {since}: {run.last_error}."
        return asked.say("start_deadline", sentence, retry, start_deadline_at=run.start_deadline_at, **facts)
    if run.error_type == "discarded":
        by = "" if who is None else f" by {who.actor}"
        return asked.say("discarded", f"was given up {since} ago{by}: {run.last_error}.", retry, **facts)
    # A run of a type that no claim has met has no limit of its own.
    of = "" if run.max_attempts is None else f" of {run.max_attempts}"
    tries = f"{run.attempts}{of} attempt{'s' * (run.attempts != 1 or bool(of))}"
    sentence = f"has been dead for {since}, after {tries}: {error}."
    return asked.say("dead", sentence, retry, max_attempts=run.max_attempts, **facts)


def _last_event(asked: Asked) -> Row | None:
    return asked.connection.execute(Prepared("explain.last_event"), {"run": asked.run.id}).first()


def _by_whom(event: Row) -> tuple[str, str | None]:
    """By whom it was done, and the reason that was given."""
    detail = event.detail if isinstance(event.detail, dict) else {}
    if event.action == "replace":
        return f" by {event.actor}, replaced by run {detail.get('by')}", None
    why = detail.get("why") or detail.get("reason")
    return f" by {event.actor}", None if why is None else str(why)


def _open_effect(asked: Asked) -> str | None:
    found = asked.connection.execute(Prepared("explain.open_effect"), {"run": asked.run.id})
    key: str | None = found.scalar_one_or_none()
    return key
