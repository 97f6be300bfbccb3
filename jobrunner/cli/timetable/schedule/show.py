"""schedule show: one schedule, with its runs and events."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import click

from jobrunner.admin.own_ticks import add_own_ticks
from jobrunner.cli import environment, render, session, suggestions
from jobrunner.cli.answers import answers
from jobrunner.cli.options.shared import of_limit
from jobrunner.durations import format_duration
from jobrunner.model import SOURCE_NAMES
from jobrunner.schedules.options import DURATIONS, OPTIONS
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions import definitions, shown_schedule
from jobrunner.store.questions.definitions import DefinitionEvent, ListedRun, ShownDefinition
from jobrunner.store.questions.explain.explanation import Explanation
from jobrunner.store.questions.explain.schedules import explain_schedule
from jobrunner.store.timetable.schedules import definition_of
from jobrunner.worker import expansion

_KEPT_IN = {"command": "a command", "host": "the schedule of every host that it is made of", **SOURCE_NAMES}
_FIRST = {"from": 0, "to": 1, "count": 2}


@click.command()
@click.argument("name", shell_complete=suggestions.schedules)
@of_limit("How many of the newest runs and events.", 10, most=100_000)
@answers(shown_schedule.Schedule, ", with runs and events")
def show(name: str, limit: int, as_json: bool) -> None:
    """Show one schedule: its declaration, its next slot, its newest runs, and who changed it.

    Example: jobrunner schedule show nightly
    """
    config = environment.load()
    database = session.open_database(config)

    def work(connection: Connection) -> tuple[ShownDefinition, Explanation | None]:
        shown = definitions.show(connection, name, limit)
        return shown, explain_schedule(connection, name, config.health.tick_age)

    found, explanation = database.read(work)
    if explanation is not None:
        explanation = add_own_ticks(explanation, config, database.location.label)
    found = replace(found, problem=_problem(found, config.payload_limit))
    answer = shown_schedule.of_schedule(found, explanation)
    if as_json:
        render.echo_json(answer)
        return
    render.fields(_declared(answer))
    if found.on_hosts:
        click.echo("\nhosts")
        render.listed(found.on_hosts, "no hosts", as_json=False)
    if found.runs:
        click.echo("\nruns")
        render.table(("ID", "SLOT", "ORIGIN", "STATUS", "STARTED", "LATE", "ERROR"), map(_run, found.runs))
    if found.events:
        click.echo("\nevents")
        render.table(("AT", "WHO", "WHAT", "RUN", "DETAIL"), map(_event, found.events))


def _problem(found: ShownDefinition, payload_limit: int) -> str | None:
    if found.problem is not None or found.schedule is None:
        return found.problem
    # Somebody may have changed the row by hand since the last tick. At its watermark no slot is due.
    return expansion.plan(definition_of(vars(found)), found.last_slot_at, payload_limit=payload_limit).problem


def _declared(found: shown_schedule.Schedule) -> dict[str, object]:
    paused_at, kept_in = found.paused_at, _KEPT_IN.get(found.source, found.source)
    shown: dict[str, object] = {
        "schedule": found.name,
        "description": found.description,
        "job type": found.job_type,
        "fires at": found.schedule and f"{found.schedule} ({found.timezone})",
        "in words": found.in_words,
        "payload": found.payload,
        "kept in": kept_in,
        **_options(found),
        "expanded until": found.last_slot_at,
        "of": found.template and f"{found.template}, on the host {found.host}",
        "next slot": render.text_of(found.next_slot),
        "paused": paused_at and f"since {render.instant(paused_at)} by {found.paused_by or 'an unknown user'}",
        "removed": found.removed_at,
        "problem": found.problem,
        "created": found.created_at,
        "changed": found.updated_at,
        "explanation": found.explanation and found.explanation["sentence"],
    }
    return {name: value for name, value in shown.items() if value is not None}


def _options(found: ShownDefinition) -> dict[str, str]:
    row = {name: _text(name, value) for name, value in vars(found).items()}
    lines: dict[str, str] = {}
    for option in OPTIONS.values():
        if (words := option.say(row)) is not None:
            lines[option.line] = f"{lines[option.line]}, {words}" if option.line in lines else words
    return lines


def _text(name: str, value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, datetime):
        return render.instant(value)
    return _duration(value) if name in DURATIONS else str(value)


def _duration(seconds: float) -> str:
    return format_duration(timedelta(seconds=seconds))


def _run(run: ListedRun) -> tuple[object, ...]:
    late = run.late_seconds
    return (
        run.id,
        render.instant(run.scheduled_for),
        run.origin,
        run.status,
        render.instant(run.first_started_at),
        None if late is None else _duration(late),
        None if run.last_error is None else f"{run.error_type}: {run.last_error}",
    )


def _event(event: DefinitionEvent) -> tuple[object, ...]:
    return render.instant(event.at), event.actor, event.action, event.run_id, _words(event.detail)


def _words(detail: object) -> str:
    if not isinstance(detail, dict):
        return str(detail)
    changed = detail.get("changed")
    if isinstance(changed, dict):
        return "; ".join(f"{name}: {_change(each)}" for name, each in changed.items())
    # PostgreSQL keeps no order.
    pairs = sorted(detail.items(), key=lambda item: (_FIRST.get(item[0], len(_FIRST)), item[0]))
    return ", ".join(f"{name} {_change(value)}" for name, value in pairs if value is not None) or "-"


def _change(each: object) -> str:
    if isinstance(each, dict) and each.keys() == {"from", "to"}:
        return f"{_plain(each['from'])} to {_plain(each['to'])}"
    return _plain(each)


def _plain(value: object) -> str:
    return "none" if value is None else render.text_of(value)
