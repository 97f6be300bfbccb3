"""status: everything at a glance."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import MAXYEAR, datetime, timedelta
from decimal import Decimal
from typing import Any

import click

from jobrunner.cli import environment, render, session
from jobrunner.durations import format_duration
from jobrunner.errors import HandlersUnavailable
from jobrunner.settings.config import Config
from jobrunner.store import queries
from jobrunner.text import visible


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def status(as_json: bool) -> None:
    """Show what is due, running, failing and dead, the schedules, and the last tick of each host."""
    config = environment.load()
    database = session.open_database(config)
    known, problem = _known_types(config)
    found = database.read(lambda connection: queries.status(connection, known))
    found = {"database": database.location.label, **found, "handlers_problem": problem}
    found["state_problem"] = session.problem_of_state(config)
    if as_json:
        render.echo_json(found)
    else:
        _show(found)


def _known_types(config: Config) -> tuple[list[str] | None, str | None]:
    # The status must work with broken handlers, because then an operator needs it.
    try:
        return [policy.job_type for policy in session.policies(config)], None
    except HandlersUnavailable as error:
        return None, str(error)


def _show(found: dict[str, Any]) -> None:
    click.echo(f"database   {visible(found['database'])}")
    click.echo("runs       " + "  ".join(f"{name} {count}" for name, count in found["runs"].items()))
    oldest = found["oldest_due_seconds"]
    since = "" if oldest is None else f", the oldest for {format_duration(timedelta(seconds=oldest))}"
    click.echo(f"due now    {found['due']}{since}")
    if found["handlers_problem"]:
        click.echo(f"handlers   {visible(found['handlers_problem'])}")
    if found["state_problem"]:
        click.echo(f"state      {visible(found['state_problem'])}")
    at = found["at"]
    for row in found["running"]:
        row["since"], row["beat"] = _ago(at, row["started_at"]), _ago(at, row["heartbeat_at"])
        row["attempt"], row["progress"] = f"{row['attempt']} of {row['max_attempts']}", _progress(row["progress"])
    for row in found["failing"]:
        row["attempts"] = f"{row['attempts']} of {row['max_attempts']}"
    for row in found["failing"] + found["dead"]:
        row["error"] = f"{row['error_type']}: {row['last_error']}"
    for row in found["schedules"]:
        row["next_slot"] = next_slot(row)
    for row in found["ticks"]:
        row["ended"] = row["finished_at"] or "at work, or killed"
        row["done"] = _done(row["counts"])
    for name, (title, columns) in _SECTIONS.items():
        if found[name]:
            click.echo(f"\n{title}")
            render.table(list(columns), [[row[each] for each in columns.values()] for row in found[name]])


SCHEDULES = {
    "NAME": "name", "TYPE": "job_type", "SCHEDULE": "schedule", "TIME ZONE": "timezone", "NEXT SLOT": "next_slot",
    "PROBLEM": "problem",
}  # fmt: skip
_TYPE = {"ID": "id", "TYPE": "job_type"}
# What of the answer is shown as a table: its title, and each heading with the field below it.
_SECTIONS: dict[str, tuple[str, dict[str, str]]] = {
    "running": (
        "running",
        _TYPE | {"HOST": "host", "SINCE": "since", "LAST BEAT": "beat", "ATTEMPT": "attempt", "PROGRESS": "progress"},
    ),
    "failing": ("failing", _TYPE | {"ATTEMPTS": "attempts", "NEXT TRY": "next_try_at", "ERROR": "error"}),
    "dead": ("dead", _TYPE | {"ATTEMPTS": "attempts", "SINCE": "finished_at", "ERROR": "error"}),
    "schedules": ("schedules", SCHEDULES),
    "unknown_types": (
        "waiting, but unknown on this host",
        {"TYPE": "job_type", "RUNS": "waiting", "OLDEST": "oldest_run_at"},
    ),
    "limits": (
        "limited",
        {
            "TYPE": "job_type", "WAITING": "waiting", "MOST": "max_waiting", "WHEN FULL": "when_full",
            "DROPPED": "dropped", "LAST DROPPED": "dropped_at",
        },
    ),
    "ticks": (
        "last tick per host",
        {"HOST": "host", "STARTED": "started_at", "ENDED": "ended", "DONE": "done", "ERROR": "error"},
    ),
}  # fmt: skip


def next_slot(row: Mapping[str, Any]) -> str:
    """When a definition has its next slot, or why it has none."""
    if row.get("removed_at") is not None:
        return "removed"
    if row["paused_at"] is not None:
        return "paused"
    at = row["next_run_at"]
    # This year means that no slot will ever come.
    return "never again" if at is not None and at.year == MAXYEAR else render.instant(at)


def _ago(at: datetime, then: datetime | None) -> str:
    return "-" if then is None else f"{format_duration(max(at - then, timedelta(0)))} ago"


def _done(counts: object) -> str:
    if not isinstance(counts, dict):
        return "nothing" if counts is None else str(counts)[:40]
    # In the order of the steps of a tick, because the database keeps no order.
    known = {name: index for index, name in enumerate(_COUNTED)}
    names = sorted(counts, key=lambda name: (known.get(name, len(known)), name))
    return " ".join(f"{name} {counts[name]}" for name in names) or "nothing"


_COUNTED = (
    "recovered", "expanded", "skipped", "pruned", "kept", "claimed", "succeeded", "failed", "postponed", "dead",
    "cancelled",
)  # fmt: skip


def _progress(progress: object) -> str:
    if not isinstance(progress, dict):
        return "-" if progress is None else str(progress)[:40]
    total = "" if progress.get("total") is None else f"/{_number(progress['total'])}"
    return f"{_number(progress.get('done', 0))}{total} {progress.get('message', '')}".strip()


def _number(value: object) -> str:
    # A handler may report any value. To show it must not fail.
    if not isinstance(value, int | float):
        return str(value)[:40]
    try:
        return f"{value:g}"
    except OverflowError:
        return f"{Decimal(value):.6g}"


COMMANDS = (status,)
