"""Why a run has not run, is not running, did not run, or will not run: the first condition of the claim that fails."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from jobrunner.lifecycle import QUARANTINE_AFTER_EXPIRIES, Status
from jobrunner.settings.health import TICK_AGE
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions import lockers
from jobrunner.store.questions.explain import hosts as tick_hosts
from jobrunner.store.questions.explain import own_host, past, queue
from jobrunner.store.questions.explain.asked_run import Asked, stopped
from jobrunner.store.questions.explain.explanation import START_AGAIN, Explanation, HostView, ago, let_end
from jobrunner.store.questions.explain.hosts import Hosts
from jobrunner.store.questions.lockers import Locker
from jobrunner.store.sql.statement import Prepared, Question, Row
from jobrunner.text import iso_instant

_ALTERNATING = timedelta(hours=1)
"""Two machines that used one name before this time may have got names of their own."""


OLDEST_DUE: Question = (Prepared("explain.oldest_due"), {})
"""What ``oldest_due_id`` asks, for a page that asks it together with others."""


def oldest_due(connection: Connection, tick_age: timedelta = TICK_AGE) -> Explanation | None:
    """Why the run that is due for the longest time does not run. None: no run is due."""
    run_id = oldest_due_id(connection)
    return None if run_id is None else explain_run(connection, run_id, tick_age=tick_age)


def oldest_due_id(connection: Connection) -> int | None:
    """The run that is due for the longest time. None: no run is due."""
    run_id: int | None = connection.execute(*OLDEST_DUE).scalar_one_or_none()
    return run_id


def explain_run(
    connection: Connection, run_id: int, hosts: Hosts | None = None, tick_age: timedelta = TICK_AGE
) -> Explanation | None:
    """Why a run does not run now. None: there is no such run. Expects a read transaction.

    ``hosts`` are those of this transaction, if the caller has looked at them. ``tick_age`` is the threshold of
    ``health``.
    """
    found = _read(connection, run_id)
    if found is None:
        return None
    asked = Asked(connection, found, hosts or tick_hosts.look(connection, tick_age))
    if found.status == Status.RUNNING:
        return past.running(asked)
    if not found.is_waiting:
        return past.ended(asked)
    return _waiting(asked)


def _read(connection: Connection, run_id: int) -> Row | None:
    return connection.execute(Prepared("explain.run"), {"run": run_id}).first()


# Waiting: in the order of what must be true first.


def _waiting(asked: Asked) -> Explanation:
    run = asked.run
    if not run.is_due:
        return _not_due(asked)
    if not run.is_start_deadline:
        sentence = (
            f"was not started by its start deadline, {iso_instant(run.start_deadline_at)}; a tick ends it as dead."
        )
        return asked.say("start_deadline", sentence, f"jobrunner reschedule {run.id} --run-at +0s", run_at=run.run_at)
    if run.gate == "after" and run.is_seen:
        return _after(asked)
    if not (run.is_type_unpaused and run.is_all_unpaused):
        return _paused(asked, run.job_type)
    # By code that knows of no such names, or before a host has reported them.
    if (other := next((name for name in asked.names if asked.hosts.pause("type", name) is not None), None)) is not None:
        return _paused(asked, other)
    if asked.hosts.have_stopped:
        return stopped(asked, f"is due for {asked.since(run.run_at)}.", run_at=run.run_at)
    if not run.is_key:
        return _key(asked)
    return _for_a_host(asked)


def _for_a_host(asked: Asked) -> Explanation:
    """Why no host has claimed a run that nothing else is in the way of."""
    run = asked.run
    views = asked.hosts.views(run.job_type)
    if run.only_host is not None:
        if (away := own_host.away(asked.connection, asked.hosts, run.only_host)) is not None:
            return _away(asked, run.only_host, away)
        views = tuple(view for view in views if view.host == run.only_host)
    able = [view for view in views if view.knows is not False]
    free = [view for view in able if view.free is None or view.free > 0]
    if free:
        return replace(_in_line(asked, free), hosts=views)
    found = _full(asked, able) if able else _unknown(asked)
    return replace(_two_machines(asked, found, able or views), hosts=views)


def _away(asked: Asked, host: str, away: str) -> Explanation:
    sentence = f"waits for {host}, {away}: its schedule gives each host a run, and no other host may run this one."
    remedy = f"{START_AGAIN.format(host=host)}; if it is gone for good: jobrunner cancel {asked.run.id}"
    return asked.say("host_away", sentence, remedy, run_at=asked.run.run_at)


def _not_due(asked: Asked) -> Explanation:
    run = asked.run
    wait = ago((run.run_at - asked.at).total_seconds())
    facts = {"run_at": run.run_at, "scheduled_for": run.scheduled_for}
    at_once = f"jobrunner reschedule {run.id} --run-at +0s"
    if run.status == Status.FAILED:
        is_late = run.start_deadline_at is not None and run.start_deadline_at <= run.run_at
        ends = f", but is dead from its start deadline on, {iso_instant(run.start_deadline_at)}" if is_late else ""
        sentence = f"waits for its next try in {wait}{ends}; the last failed with {run.error_type}: {run.last_error}."
        return asked.say(
            "retry", sentence, past.again(run), error_type=run.error_type, last_error=run.last_error, **facts
        )
    if run.scheduled_for is not None and run.scheduled_for <= asked.at and not run.attempts and not run.releases:
        sentence = f"starts in {wait}: the jitter of its schedule delays it."
        return asked.say("jitter", sentence, at_once, **facts)
    return asked.say("not_due", f"is not due before {iso_instant(run.run_at)}, in {wait}.", at_once, **facts)


def _after(asked: Asked) -> Explanation:
    found = asked.connection.execute(Prepared("explain.parents"), {"run": asked.run.id})
    waits_for = {row.parent_id: row.status for row in found}
    if not waits_for:
        return asked.say("parents", "follows runs that have ended; the next tick lets it go.", "jobrunner tick")
    listed = ", ".join(f"{run_id} ({status})" for run_id, status in waits_for.items())
    first = next(iter(waits_for))
    return asked.say("parents", f"waits for the end of run {listed}.", let_end(first), parents=sorted(waits_for))


def _behind_stray_gate(asked: Asked) -> Explanation:
    run = asked.run
    others = "but no other run is left that it waits for" if run.gate == "after" else "which no claim checks"
    sentence = f"is due, and behind the gate {run.gate}, {others}: the next tick that can lock it takes it from there."
    return asked.say("gate", sentence, "jobrunner tick", gate=run.gate, run_at=run.run_at)


def _paused(asked: Asked, job_type: str) -> Explanation:
    what, words, of = f"the type {job_type}", f"--type {shlex.quote(job_type)}", "type"
    if not asked.run.is_all_unpaused:
        what, words, of = "everything", "--all", "all"
    found = asked.hosts.pause(of, job_type if of == "type" else "")
    by = "" if found is None else f" for {asked.since(found.paused_at)}{tick_hosts.why(found)}"
    facts = {} if found is None else {"paused_at": found.paused_at, "why": found.reason}
    return asked.say("paused", f"waits: {what} has been paused{by}.", f"jobrunner resume {words}", **facts)


def _key(asked: Asked) -> Explanation:
    key = asked.run.concurrency_key
    other = asked.connection.execute(Prepared("explain.other_of_key"), {"run": asked.run.id, "key": key}).one()
    sentence = f"waits for run {other.id} ({other.status}), which has the same key '{key}': one run of a key at a time."
    return asked.say("key", sentence, let_end(other.id), key=key, other=other.id)


def _unknown(asked: Asked) -> Explanation:
    run, near = asked.run, asked.hosts.nearest_type(asked.run.job_type)
    if run.only_host is not None:
        sentence = f"waits: only {run.only_host} may run it, and its newest ticks have no handler for {run.job_type!r}."
        remedy = f"deploy a handler for {run.job_type!r} on {run.only_host}, or cancel it: jobrunner cancel {run.id}"
        return asked.say("unknown_type", sentence, remedy)
    if problems := asked.hosts.problems():
        host, problem = next(iter(problems.items()))
        sentence = f"waits: the ticks of {', '.join(problems)} cannot run their handlers: {problem}."
        remedy = f"repair that on {host}: the module, or JOBRUNNER_IMPORT and JOBRUNNER_APP_DIR of its ticks"
        return asked.say("no_handlers", sentence, remedy, problem=problem, failing_hosts=sorted(problems))
    if lost := asked.hosts.lost(run.job_type):
        return _lost(asked, *lost)
    meant = "" if near is None else f" Did you mean {near!r}?"
    nobody = f"no host that ticked in {asked.hosts.recently} has a handler"
    sentence = f"waits: {nobody} for {run.job_type!r} that it works on.{meant}"
    remedy = f"deploy a handler for {run.job_type!r}, or set JOBRUNNER_IMPORT for the ticks: jobrunner types"
    return asked.say("unknown_type", sentence, remedy, nearest_type=near)


def _lost(asked: Asked, host: str, silent: timedelta | None) -> Explanation:
    job_type = repr(asked.run.job_type)
    if silent is None:
        sentence = f"waits: the newest tick of {host} has no handler for {job_type}; earlier ones had."
        remedy = f"set JOBRUNNER_IMPORT and JOBRUNNER_APP_DIR where the ticks of {host} are started: jobrunner doctor"
    else:
        sentence = f"waits: only {host} had a handler for {job_type}, and its ticks have not come for"
        sentence = f"{sentence} {ago(silent.total_seconds())}."
        remedy = START_AGAIN.format(host=host)
    return asked.say("unknown_type", sentence, remedy)


def _two_machines(asked: Asked, found: Explanation, views: Sequence[HostView]) -> Explanation:
    """What is known of a name that two machines use is known of one of them only, and both count the runs of both."""
    twins = sorted({view.host for view in views} & set(asked.hosts.twins(_ALTERNATING)))
    if not twins or found.reason == "host_paused":
        return found
    host = twins[0]
    sentence = (
        f"{found.sentence.removeprefix(f'Run {asked.run.id} ')} But two machines tick under the name {host}, and each"
        " replaces what the other one reports and counts its runs: give one of them a name of its own."
    )
    remedy = f"JOBRUNNER_HOST={shlex.quote(f'{host}-2')} jobrunner tick"
    return asked.say("two_machines", sentence, remedy, **{**found.facts, "hosts": twins})


def _full(asked: Asked, able: list[HostView]) -> Explanation:
    run = asked.run
    paused = [view.host for view in able if asked.hosts.pause("host", view.host) is not None]
    if len(paused) == len(able):
        hosts = sorted(set(paused))
        sentence = f"waits: the hosts that can run it are paused: {', '.join(hosts)}."
        remedy = "jobrunner resume " + " ".join(f"--host {shlex.quote(host)}" for host in hosts)
        return asked.say("host_paused", sentence, remedy, paused_hosts=hosts)
    where = ", ".join(sorted({view.host for view in able}))
    own = {asked.hosts.is_full_of(view, run.job_type) for view in able}
    if None in own:
        of_type, sentence = (
            None,
            f"waits for a free place: as many runs are running on {where} as JOBRUNNER_CONCURRENCY allows.",
        )
    else:
        most = ", ".join(map(str, sorted(filter(None, own))))
        of_type = run.job_type
        sentence = f"waits: as many runs of its type are running on {where} as its concurrency allows ({most})."
    holders = sorted({each for view in able for each in asked.hosts.holders(view.host, of_type)})
    first = let_end(holders[0]) if holders else None
    return asked.say("host_full", sentence, first, running=holders[:20], run_at=run.run_at)


def _locked(asked: Asked, locker: Locker) -> Explanation:
    sentence = f"is due, but ticks cannot claim it: {locker}."
    held_since = None if locker.seconds is None else asked.at - timedelta(seconds=round(locker.seconds))
    remedy = f"let it end its transaction, or end it: {locker.remedy}"
    return asked.say("locked", sentence, remedy, session=locker.pid, held=locker.what, held_since=held_since)


def _in_line(asked: Asked, free: list[HostView]) -> Explanation:
    run = asked.run
    if not run.is_seen:
        return _behind_stray_gate(asked)
    place = queue.place_of(asked.connection, run, asked.names)
    if (limit := queue.limit_in_the_way(asked.connection, run, place)) is not None:
        return asked.say(limit.reason, f"waits for {limit.sentence}.", limit.remedy, **limit.facts)
    if (locker := lockers.of_run(asked.connection, run.id, run.job_type)) is not None:
        return _locked(asked, locker)
    forecast = queue.forecast(asked.connection, run, place)
    hosts = ", ".join(sorted({view.host for view in free}))
    says = [view.host for view in free if view.knows]
    lone = " It starts alone in its tick, because its lease expired twice." * (
        run.lease_expiries >= QUARANTINE_AFTER_EXPIRIES
    )
    facts = {"run_at": run.run_at, "due_for_seconds": (asked.at - run.run_at).total_seconds()}
    if not says:
        sentence = f"is due; the next tick of {hosts} finds out whether it can run it.{lone}"
        return asked.say("unreported", sentence, "jobrunner tick", **facts)
    if place.keys and forecast.in_front:
        sentence = f"is due, and {queue.in_line(place)}: {forecast}."
        return asked.say("fair", sentence, "jobrunner tick", forecast, keys=place.keys, **facts)
    late = [view for view in free if view.ended_by in ("budget", "batch")]
    if late and forecast.in_front:
        ended_by = late[0].ended_by
        sentence = f"waits in a queue: the last tick of {late[0].host} used up its {ended_by}; {forecast}."
        return asked.say("budget", sentence, "jobrunner tick --budget 10m", forecast, **facts)
    line = f", after {forecast.in_front} of its type in front of it" if forecast.in_front else ""
    sentence = f"is due, and nothing is in its way: it would be claimed now by the next tick of {hosts}{line}.{lone}"
    failed, error = asked.hosts.failures({view.host for view in free}), None
    if failed.keys() >= {view.host for view in free}:
        host, error = next(iter(failed.items()))
        tries = f"is due, and the next tick of {hosts} tries to claim it"
        sentence = f"{tries}; the last one of {host} failed: {error}.{lone}"
    return asked.say("ready", sentence, "jobrunner tick", forecast, problem=error, **facts)
