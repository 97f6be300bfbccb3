"""schedule list, show."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import click

from jobrunner.cli import environment, render, session
from jobrunner.cli.status import SCHEDULES, next_slot
from jobrunner.cli.types import Checked
from jobrunner.durations import format_duration
from jobrunner.errors import BadSchedule
from jobrunner.model import PLACES
from jobrunner.schedules.describe import describe
from jobrunner.schedules.options import DURATIONS, OPTIONS
from jobrunner.schedules.recurrence import Recurrence
from jobrunner.store import definitions
from jobrunner.store.schedules import definition_of
from jobrunner.text import whole_number
from jobrunner.worker import expansion

_KEPT_IN = {"command": "a command", **PLACES}
_FIRST = {"from": 0, "to": 1, "count": 2}


@click.command(name="list")
@click.option("--all", "removed", is_flag=True, help="Also list removed schedules.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def list_(removed: bool, as_json: bool) -> None:
    """List the schedules with their next slots."""
    database = session.open_database(environment.load())
    found = database.read(lambda connection: definitions.listed(connection, removed=removed))
    if as_json:
        render.echo_json(found)
    elif found:
        shown = [row | {"next_slot": next_slot(row)} for row in found]
        render.table(list(SCHEDULES), [[row[each] for each in SCHEDULES.values()] for row in shown], indent="")
    else:
        click.echo("no schedules")


@click.command()
@click.argument("name")
@click.option(
    "--limit",
    type=Checked(partial(whole_number, least=1, most=100_000)),
    default=10,
    metavar="N",
    help="How many of the newest runs and events. [default: 10]",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object, with runs and events.")
def show(name: str, limit: int, as_json: bool) -> None:
    """Show one schedule: its declaration, its next slot, its newest runs, and who changed it."""
    config = environment.load()
    database = session.open_database(config)
    found = database.read(lambda connection: definitions.show(connection, name, limit))
    found |= {"in_words": _in_words(found), "problem": _problem(found, config.payload_limit)}
    if as_json:
        render.echo_json(found)
        return
    render.fields(_declared(found))
    if found["runs"]:
        click.echo("\nruns")
        render.table(("ID", "SLOT", "ORIGIN", "STATUS", "STARTED", "LATE", "ERROR"), map(_run, found["runs"]))
    if found["events"]:
        click.echo("\nevents")
        render.table(("AT", "WHO", "WHAT", "RUN", "DETAIL"), map(_event, found["events"]))


def _in_words(found: Mapping[str, Any]) -> str | None:
    try:
        return describe(Recurrence.parse(found["schedule"], found["timezone"]).expression)
    except BadSchedule:
        return None


def _problem(found: Mapping[str, Any], payload_limit: int) -> str | None:
    known: str | None = found["problem"]
    if known is not None or found["schedule"] is None:
        return known
    # A person may have changed the row by hand since the last tick. At its watermark no slot is due.
    return expansion.plan(definition_of(found), found["last_slot_at"], payload_limit=payload_limit).problem


def _declared(found: Mapping[str, Any]) -> dict[str, object]:
    paused_at, kept_in = found["paused_at"], _KEPT_IN.get(found["source"], found["source"])
    shown: dict[str, object] = {
        "schedule": found["name"],
        "description": found["description"],
        "job type": found["job_type"],
        "fires at": found["schedule"] and f"{found['schedule']} ({found['timezone']})",
        "in words": found["in_words"],
        "payload": found["payload"],
        "kept in": kept_in,
        **_options(found),
        "expanded until": found["last_slot_at"],
        "next slot": next_slot(found),
        "paused": paused_at and f"since {render.instant(paused_at)} by {found['paused_by'] or 'an unknown user'}",
        "removed": found["removed_at"],
        "problem": found["problem"],
        "created": found["created_at"],
        "changed": found["updated_at"],
    }
    return {name: value for name, value in shown.items() if value is not None}


def _options(found: Mapping[str, Any]) -> dict[str, str]:
    row = {name: _text(name, value) for name, value in found.items()}
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


def _run(row: Mapping[str, Any]) -> tuple[object, ...]:
    late = row["late_seconds"]
    return (
        row["id"],
        render.instant(row["scheduled_for"]),
        row["origin"],
        row["status"],
        render.instant(row["first_started_at"]),
        None if late is None else _duration(late),
        None if row["last_error"] is None else f"{row['error_type']}: {row['last_error']}",
    )


def _event(row: Mapping[str, Any]) -> tuple[object, ...]:
    return render.instant(row["at"]), row["actor"], row["action"], row["run_id"], _words(row["detail"])


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


COMMANDS = (list_, show)
