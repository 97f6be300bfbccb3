"""Why a run has not run, is not running, did not run, or will not run: the first condition of the claim that fails."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from jobrunner.lifecycle import QUARANTINE_AFTER_EXPIRIES, Status
from jobrunner.store.connection import Connection
from jobrunner.store.explain import hosts as tick_hosts
from jobrunner.store.explain import queue
from jobrunner.store.explain.explanation import Explanation, HostView, ago
from jobrunner.store.explain.hosts import Hosts
from jobrunner.store.statement import Prepared, Question, Row
from jobrunner.text import iso_instant


@dataclass(frozen=True)
class _Asked:
    """What all answers about a run are made from."""

    connection: Connection
    run: Row
    hosts: Hosts

    @property
    def at(self) -> datetime:
        at: datetime = self.run.now
        return at

    def since(self, then: datetime | None) -> str:
        return "an unknown time" if then is None else ago((self.at - then).total_seconds())

    def say(self, reason: str, sentence: str, remedy: str | None = None, **facts: Any) -> Explanation:
        run = self.run
        known = {"id": run.id, "job_type": run.job_type, "status": run.status, "attempts": run.attempts, **facts}
        notes = [f"two machines tick under the name {name}: set JOBRUNNER_HOST on one" for name in self.hosts.twins]
        filled = {name: value for name, value in known.items() if value is not None}
        return Explanation(f"run {run.id}", reason, f"Run {run.id} {sentence}", filled, remedy, notes=tuple(notes))


def oldest_due(connection: Connection) -> Explanation | None:
    """Why the run that is due for the longest time does not run. None: no run is due."""
    run_id = connection.execute(Prepared("explain.oldest_due")).scalar_one_or_none()
    return None if run_id is None else explain_run(connection, run_id)


def explain_run(connection: Connection, run_id: int) -> Explanation | None:
    """Why a run does not run now. None: there is no such run. Expects a read transaction."""
    found = _read(connection, run_id)
    if found is None:
        return None
    asked = _Asked(connection, found, tick_hosts.look(connection))
    if found.status == Status.RUNNING:
        return _running(asked)
    if not found.is_waiting:
        return _ended(asked)
    return _waiting(asked)


def _read(connection: Connection, run_id: int) -> Row | None:
    return connection.execute(Prepared("explain.run", (connection.database,)), {"run": run_id}).first()


def questions(database: str, run_id: int) -> list[Question]:
    """What is asked about any run, for a page that asks it together."""
    of_run = {"run": run_id}
    names = ("explain.last_event", "explain.open_effect", "explain.parents")
    return [
        (Prepared("explain.run", (database,)), of_run),
        *((Prepared(name), of_run) for name in names),
        *tick_hosts.QUESTIONS,
    ]


def questions_of_line(connection: Connection, run_id: int) -> list[Question]:
    """What may be asked about its place in the queue."""
    found = _read(connection, run_id)
    return [] if found is None or not found.is_waiting else queue.questions(found)


# Not waiting.


def _running(asked: _Asked) -> Explanation:
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
            return _stopped(asked, sentence, **facts)
        return asked.say("lease_expired", sentence, "jobrunner tick", **facts)
    stops = "" if run.cancel_requested_at is None else ", and its cancellation was requested"
    since = asked.since(run.started_at or run.claimed_at)
    sentence = f"is running on {run.host} for {since}; its last heartbeat was {silent} ago{stops}."
    return asked.say("running", sentence, None, **facts)


def _ended(asked: _Asked) -> Explanation:
    run = asked.run
    since = asked.since(run.finished_at)
    effect = _open_effect(asked) if run.status != Status.SUCCEEDED else None
    error = f"{run.error_type}: {run.last_error}"
    facts = {"finished_at": run.finished_at, "error_type": run.error_type, "last_error": run.last_error}
    retry = f"jobrunner retry {run.id}"
    if effect is not None:
        sentence = f"is {run.status}, and it is not known whether its effect '{effect}' was applied."
        remedy = f"jobrunner effects settle {shlex.quote(effect)} --not-applied"
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
    sentence = f"has been dead for {since}, after {run.attempts} of {run.max_attempts} attempts: {error}."
    return asked.say("dead", sentence, retry, max_attempts=run.max_attempts, **facts)


def _last_event(asked: _Asked) -> Row | None:
    return asked.connection.execute(Prepared("explain.last_event"), {"run": asked.run.id}).first()


def _by_whom(event: Row) -> tuple[str, str | None]:
    """By whom it was done, and the reason that was given."""
    detail = event.detail if isinstance(event.detail, dict) else {}
    if event.action == "replace":
        return f" by {event.actor}, replaced by run {detail.get('by')}", None
    why = detail.get("why") or detail.get("reason")
    return f" by {event.actor}", None if why is None else str(why)


def _open_effect(asked: _Asked) -> str | None:
    found = asked.connection.execute(Prepared("explain.open_effect"), {"run": asked.run.id})
    key: str | None = found.scalar_one_or_none()
    return key


# Waiting: in the order of what must be true first.


def _waiting(asked: _Asked) -> Explanation:
    run = asked.run
    if not run.is_due:
        return _not_due(asked)
    if not run.is_start_deadline:
        sentence = (
            f"was not started by its start deadline, {iso_instant(run.start_deadline_at)}; a tick ends it as dead."
        )
        return asked.say("start_deadline", sentence, f"jobrunner retry {run.id}", run_at=run.run_at)
    if run.gate == "after":
        return _after(asked)
    if not (run.is_type_unpaused and run.is_all_unpaused):
        return _paused(asked)
    if asked.hosts.have_stopped:
        return _stopped(asked, f"is due for {asked.since(run.run_at)}.", run_at=run.run_at)
    if not run.is_key:
        return _key(asked)
    views = asked.hosts.views(run.job_type)
    able = [view for view in views if view.knows is not False]
    if not able:
        return replace(_unknown(asked), hosts=views)
    free = [view for view in able if view.free is None or view.free > 0]
    if not free:
        return replace(_full(asked, able), hosts=views)
    return replace(_in_line(asked, free), hosts=views)


def _not_due(asked: _Asked) -> Explanation:
    run = asked.run
    wait = ago((run.run_at - asked.at).total_seconds())
    facts = {"run_at": run.run_at, "scheduled_for": run.scheduled_for}
    if run.status == Status.FAILED:
        sentence = f"waits for its next try in {wait}; the last failed with {run.error_type}: {run.last_error}."
        remedy = f"jobrunner retry {run.id}"
        return asked.say("retry", sentence, remedy, error_type=run.error_type, last_error=run.last_error, **facts)
    if run.scheduled_for is not None and run.scheduled_for <= asked.at and not run.attempts and not run.releases:
        sentence = f"starts in {wait}: the jitter of its schedule delays it."
        return asked.say("jitter", sentence, None, **facts)
    return asked.say("not_due", f"is not due before {iso_instant(run.run_at)}, in {wait}.", None, **facts)


def _after(asked: _Asked) -> Explanation:
    found = asked.connection.execute(Prepared("explain.parents"), {"run": asked.run.id})
    waits_for = {row.parent_id: row.status for row in found}
    if not waits_for:
        return asked.say("parents", "follows runs that have ended; the next tick lets it go.", "jobrunner tick")
    listed = ", ".join(f"{run_id} ({status})" for run_id, status in waits_for.items())
    remedy = f"jobrunner explain {next(iter(waits_for))}"
    return asked.say("parents", f"waits for the end of run {listed}.", remedy, parents=sorted(waits_for))


def _paused(asked: _Asked) -> Explanation:
    what, words, of = f"the type {asked.run.job_type}", f"--type {shlex.quote(asked.run.job_type)}", "type"
    if not asked.run.is_all_unpaused:
        what, words, of = "everything", "--all", "all"
    found = asked.hosts.pause(of, asked.run.job_type if of == "type" else "")
    by = "" if found is None else f" for {asked.since(found.paused_at)}{tick_hosts.why(found)}"
    facts = {} if found is None else {"paused_at": found.paused_at, "why": found.reason}
    return asked.say("paused", f"waits: {what} is paused{by}.", f"jobrunner resume {words}", **facts)


def _stopped(asked: _Asked, sentence: str, **facts: Any) -> Explanation:
    newest = asked.hosts.newest
    where = None if newest is None else newest.host
    said = f"{sentence} But ticks have stopped: {tick_hosts.last_tick(asked.hosts)}."
    facts |= {
        "last_tick_at": None if newest is None else newest.started_at,
        "last_tick_host": where,
        "cron_line": "* * * * * jobrunner tick",
    }
    return asked.say("ticks_stopped", said, "jobrunner tick", **facts)


def _key(asked: _Asked) -> Explanation:
    key = asked.run.concurrency_key
    other = asked.connection.execute(Prepared("explain.other_of_key"), {"run": asked.run.id, "key": key}).one()
    sentence = f"waits for run {other.id} ({other.status}), which has the same key '{key}': one run of a key at a time."
    return asked.say("key", sentence, f"jobrunner explain {other.id}", key=key, other=other.id)


def _unknown(asked: _Asked) -> Explanation:
    run, near = asked.run, asked.hosts.nearest_type(asked.run.job_type)
    meant = "" if near is None else f" Did you mean {near!r}?"
    sentence = (
        f"waits: no host that ticked in the last hour has a handler for {run.job_type!r} that it works on.{meant}"
    )
    return asked.say("unknown_type", sentence, "jobrunner jobs", nearest_type=near)


def _full(asked: _Asked, able: list[HostView]) -> Explanation:
    run = asked.run
    paused = [view.host for view in able if asked.hosts.pause("host", view.host) is not None]
    if len(paused) == len(able):
        hosts = sorted(set(paused))
        sentence = f"waits: the hosts that can run it are paused: {', '.join(hosts)}."
        remedy = "jobrunner resume " + " ".join(f"--host {shlex.quote(host)}" for host in hosts)
        return asked.say("host_paused", sentence, remedy, paused_hosts=hosts)
    holders = sorted({each for view in able for each in asked.hosts.holders(view.host)})
    where = ", ".join(sorted({view.host for view in able}))
    sentence = f"waits for a free place: as many runs are running on {where} as may."
    first = f"jobrunner explain {holders[0]}" if holders else None
    return asked.say("host_full", sentence, first, running=holders[:20], run_at=run.run_at)


def _in_line(asked: _Asked, free: list[HostView]) -> Explanation:
    run = asked.run
    if (limit := queue.limit_in_the_way(asked.connection, run)) is not None:
        return asked.say(limit.reason, f"waits for {limit.sentence}.", limit.remedy, **limit.facts)
    forecast = queue.forecast(asked.connection, run)
    hosts = ", ".join(sorted({view.host for view in free}))
    says = [view.host for view in free if view.knows]
    lone = " It starts alone in its tick, because its lease expired twice." * (
        run.lease_expiries >= QUARANTINE_AFTER_EXPIRIES
    )
    facts = {"run_at": run.run_at, "due_for_seconds": (asked.at - run.run_at).total_seconds()}
    if not says:
        sentence = f"is due; the next tick of {hosts} finds out whether it can run it.{lone}"
        return asked.say("unreported", sentence, "jobrunner tick", **facts)
    late = [view for view in free if view.ended_by in ("budget", "batch")]
    if late and forecast.in_front:
        ended_by = late[0].ended_by
        sentence = f"waits in a queue: the last tick of {late[0].host} used up its {ended_by}; {forecast}."
        return replace(asked.say("budget", sentence, "jobrunner tick --budget 10m", **facts), forecast=forecast)
    line = f", after {forecast.in_front} of its type in front of it" if forecast.in_front else ""
    sentence = f"is due, and nothing is in its way: it would be claimed now by the next tick of {hosts}{line}.{lone}"
    return replace(asked.say("ready", sentence, "jobrunner tick", **facts), forecast=forecast)
