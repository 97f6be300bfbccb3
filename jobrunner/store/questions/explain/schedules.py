"""Why a schedule makes no run now: what stands in its row, or what became of its last slot."""

from __future__ import annotations

import shlex
from dataclasses import replace
from datetime import timedelta
from typing import Any

from sqlalchemy import func, select

from jobrunner.model import OVERLAPS, SOURCE_NAMES
from jobrunner.schedules.slot_plan import NEVER_AGAIN
from jobrunner.settings.health import TICK_AGE
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.reading import read
from jobrunner.store.questions import lockers, obstacles
from jobrunner.store.questions.explain import hosts as tick_hosts
from jobrunner.store.questions.explain import own_host
from jobrunner.store.questions.explain.explanation import START_AGAIN, Explanation, ago, let_end
from jobrunner.store.questions.explain.reasons import REASONS
from jobrunner.store.questions.explain.runs import explain_run
from jobrunner.store.schema import IS_UNFINISHED, job_definitions, job_events, job_runs
from jobrunner.store.sql.dialect.values import now
from jobrunner.store.sql.statement import Row
from jobrunner.store.timetable.records import ReadDefinition
from jobrunner.text import iso_instant


def explain_schedule(connection: Connection, name: str, tick_age: timedelta = TICK_AGE) -> Explanation | None:
    """Why a schedule makes no run now. None: there is no such schedule. Expects a read transaction."""
    found = read(
        connection, ReadDefinition, select(job_definitions, now().label("now")).where(job_definitions.c.name == name)
    )
    return _of_row(connection, found[0], tick_age) if found else None


def _of_row(connection: Connection, row: ReadDefinition, tick_age: timedelta) -> Explanation:
    at, name = row.now, shlex.quote(row.name)
    if row.removed_at is not None:
        return _removed(row, _event(connection, row.id, "remove schedule"))
    if row.paused_at is not None:
        by = _event(connection, row.id, "pause schedule")
        why = _reason(by)
        said = f"{_by(by)}{f': {why}' if why else ''}"
        sentence = f"has been paused for {ago((at - row.paused_at).total_seconds())}{said}."
        return _say(row, "paused", sentence, f"jobrunner schedule resume {name}", paused_at=row.paused_at, why=why)
    if row.schedule is None:
        return _say(row, "no_schedule", "has no times: it makes runs only when somebody enqueues them.")
    if row.last_error is not None:
        sentence = f"cannot be expanded: {row.last_error}."
        return _say(row, "unreadable", sentence, _mend(row), problem=row.last_error)
    if obstacles.is_ahead(row.last_slot_at, at):
        until = iso_instant(row.last_slot_at.replace(microsecond=0))
        sentence = f"makes no run before {until}: a clock was ahead, and the slots until then count as handled."
        return _say(row, "clock", sentence, f"jobrunner schedule resume {name} --from now", last_slot_at=until)
    if row.is_template:
        return _of_hosts(connection, row, tick_age)
    if row.next_run_at == NEVER_AGAIN:
        ended = _event(connection, row.id, "schedule ended")
        why = f": {ended.detail.get('reason')}" if ended is not None and isinstance(ended.detail, dict) else ""
        return _say(row, "ended", f"has ended{why}.", runs_made=row.runs_made, ends_at=row.ends_at)
    return _of_slots(connection, row, tick_age)


def _of_hosts(connection: Connection, row: ReadDefinition, tick_age: timedelta) -> Explanation:
    found = own_host.shares(connection, tick_hosts.look(connection, tick_age), row.name)
    if not found.words:
        sentence = f"makes no run: no host that ticked in the last day has its type {row.job_type!r}."
        remedy = f"give a host the type {row.job_type}, and let it tick: jobrunner types"
        return _say(row, "no_hosts", sentence, remedy)
    look = None if found.away is None else f"jobrunner explain {shlex.quote(found.away.name)}"
    return _say(row, "on_hosts", f"gives each of its hosts slots of its own: {found.words}.", look)


def _removed(row: ReadDefinition, by: Row | None) -> Explanation:
    assert row.removed_at is not None
    since, name, why = ago((row.now - row.removed_at).total_seconds()), shlex.quote(row.name), _reason(by)
    because = f": {why}" if why else ""
    source = SOURCE_NAMES.get(row.source)
    if source is None:
        sentence = f"was removed {since} ago{_by(by)}{because}."
        remedy = f"if it is missed, add it again: jobrunner schedule add {name}, with the options of its audit trail"
    else:
        # Nothing else may remove it.
        sentence = f"was removed {since} ago by jobrunner apply{_by(by, ', which was started by ')}: {source} no longer"
        sentence = f"{sentence} declared it{because}."
        remedy = f"declare {row.name} in {source} again, and run: jobrunner apply"
    return _say(row, "removed", sentence, remedy, removed_at=row.removed_at, why=why)


def _mend(row: ReadDefinition) -> str:
    source = SOURCE_NAMES.get(row.source)
    if source is not None:
        return f"correct {row.name} in {source}, and run: jobrunner apply"
    name = shlex.quote(row.name)
    return f"give {row.name} a time that can be read: jobrunner schedule edit {name} --cron … --timezone …"


def _of_slots(connection: Connection, row: ReadDefinition, tick_age: timedelta) -> Explanation:
    at = row.now
    former = obstacles.former_runs(connection, row.id).get(row.id)
    if former is not None:
        sentence = f"makes no run: {former.job_type!r} was its type, and run {former.run_id} of that type waits."
        return _say(row, "overlap", sentence, f"jobrunner cancel {former.run_id}", run=former.run_id)
    blocking = _blocking(connection, row)
    last = _last_run(connection, row.id)
    if blocking is not None:
        found = explain_run(connection, blocking, tick_age=tick_age)
        sentence = f"gives its slots no run before run {blocking} has ended (overlap {row.overlap})."
        texts = {} if found is None else found.texts_of_others()
        told = _say(row, "overlap", sentence, let_end(blocking), run=blocking, **texts)
        return told if found is None else replace(told, notes=(found.sentence,), forecast=found.forecast)
    hosts = tick_hosts.look(connection, tick_age)
    if hosts.have_stopped:
        sentence = f"makes no runs, because ticks have stopped: {tick_hosts.last_tick(hosts)}."
        facts = {"next_run_at": row.next_run_at, **tick_hosts.facts_of_last_tick(hosts)}
        return _say(row, "ticks_stopped", sentence, "jobrunner tick", **facts)
    if row.host is not None and (away := own_host.away(connection, hosts, row.host)) is not None:
        sentence = f"makes no runs before {row.host} is back, {away}: no other host may run them."
        name = shlex.quote(row.name)
        remedy = f"{START_AGAIN.format(host=row.host)}; if it is gone for good: jobrunner schedule remove {name}"
        return _say(row, "host_away", sentence, remedy, next_run_at=row.next_run_at)
    if row.next_run_at is None or row.next_run_at <= at:
        if (locker := lockers.of_schedule(connection, row.id)) is not None:
            sentence = f"is due, but ticks cannot make its run: {locker}."
            remedy = f"let it end its transaction, or end it: {locker.remedy}"
            return _say(row, "locked", sentence, remedy, session=locker.pid, held=locker.what)
        return _say(row, "ready", f"is due: the next tick of {row.host or 'any host'} makes its run.", "jobrunner tick")
    wait = f"its next slot is {iso_instant(row.next_run_at)}, in {ago((row.next_run_at - at).total_seconds())}"
    skipped = _event(connection, row.id, "skip slots")
    if skipped is not None and isinstance(skipped.detail, dict) and (last is None or skipped.at > last.created_at):
        why = str(skipped.detail.get("reason"))
        reason = f"skipped_{why}"
        _, _, because = REASONS["schedule"].get(reason, f": {why}").partition(": ")
        sentence = f"skipped its last slot ({skipped.detail.get('to')}): {because}; {wait}."
        remedy = f"jobrunner schedule trigger {shlex.quote(row.name)}"
        return _say(row, reason, sentence, remedy, skipped=skipped.detail, next_run_at=row.next_run_at)
    found = None if last is None else explain_run(connection, last.id, hosts)
    before, texts = ("", {}) if found is None else (f" {found.sentence}", found.texts_of_others())
    return _say(row, "not_due", f"waits: {wait}.{before}", None, next_run_at=row.next_run_at, **texts)


def _say(row: ReadDefinition, reason: str, sentence: str, remedy: str | None = None, **facts: Any) -> Explanation:
    known = {"name": row.name, "job_type": row.job_type, "schedule": row.schedule, "timezone": row.timezone, **facts}
    filled = {name: value for name, value in known.items() if value is not None}
    return Explanation(f"schedule {row.name}", reason, f"Schedule {row.name} {sentence}", filled, remedy)


def _blocking(connection: Connection, row: ReadDefinition) -> int | None:
    """The oldest unfinished run that keeps a slot of the schedule from getting its run."""
    columns = job_runs.c
    waits_for = OVERLAPS[row.overlap].waits_for
    if waits_for is None:
        return None
    found = select(func.min(columns.id)).where(IS_UNFINISHED, columns.definition_id == row.id)
    if waits_for == "waiting":
        found = found.where(columns.lease_token.is_(None))
    oldest: int | None = connection.execute(found).scalar_one()
    return oldest


def _last_run(connection: Connection, definition_id: int) -> Row | None:
    columns = job_runs.c
    last = select(func.max(columns.id)).where(columns.definition_id == definition_id).scalar_subquery()
    return connection.execute(select(columns.id, columns.created_at).where(columns.id == last)).first()


def _event(connection: Connection, definition_id: int, *actions: str) -> Row | None:
    columns = job_events.c
    found = select(columns.at, columns.actor, columns.detail).where(
        columns.definition_id == definition_id, columns.action.in_(actions)
    )
    return connection.execute(found.order_by(columns.id.desc()).limit(1)).first()


def _by(event: Row | None, words: str = " by ") -> str:
    return "" if event is None else f"{words}{event.actor}"


def _reason(event: Row | None) -> str | None:
    """The reason that was given with ``--reason``."""
    detail = event.detail if event is not None and isinstance(event.detail, dict) else {}
    return None if detail.get("reason") is None else str(detail["reason"])
