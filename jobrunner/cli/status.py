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
    # With broken handlers an operator needs the status most of all.
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
    _section(
        "running",
        ("ID", "TYPE", "HOST", "SINCE", "LAST BEAT", "ATTEMPT", "PROGRESS"),
        [
            (
                row["id"],
                row["job_type"],
                row["host"],
                _ago(at, row["started_at"]),
                _ago(at, row["heartbeat_at"]),
                f"{row['attempt']} of {row['max_attempts']}",
                _progress(row["progress"]),
            )
            for row in found["running"]
        ],
    )
    _section(
        "failing",
        ("ID", "TYPE", "ATTEMPTS", "NEXT TRY", "ERROR"),
        [
            (
                row["id"],
                row["job_type"],
                f"{row['attempts']} of {row['max_attempts']}",
                render.instant(row["next_try_at"]),
                _error(row),
            )
            for row in found["failing"]
        ],
    )
    _section(
        "dead",
        ("ID", "TYPE", "ATTEMPTS", "SINCE", "ERROR"),
        [
            (row["id"], row["job_type"], row["attempts"], render.instant(row["finished_at"]), _error(row))
            for row in found["dead"]
        ],
    )
    _section(
        "schedules",
        ("NAME", "TYPE", "SCHEDULE", "TIME ZONE", "NEXT SLOT", "PROBLEM"),
        [schedule_row(row) for row in found["schedules"]],
    )
    _section(
        "waiting, but unknown on this host",
        ("TYPE", "RUNS", "OLDEST"),
        [(row["job_type"], row["waiting"], render.instant(row["oldest_run_at"])) for row in found["unknown_types"]],
    )
    _section(
        "limited",
        ("TYPE", "WAITING", "MOST", "WHEN FULL", "DROPPED", "LAST DROPPED"),
        [
            (
                row["job_type"],
                row["waiting"],
                row["max_waiting"],
                row["when_full"],
                row["dropped"],
                render.instant(row["dropped_at"]),
            )
            for row in found["limits"]
        ],
    )
    _section(
        "last tick per host",
        ("HOST", "STARTED", "ENDED", "DONE", "ERROR"),
        [
            (
                row["host"],
                render.instant(row["started_at"]),
                "at work, or killed" if row["finished_at"] is None else render.instant(row["finished_at"]),
                _done(row["counts"]),
                row["error"],
            )
            for row in found["ticks"]
        ],
    )


def schedule_row(row: dict[str, Any]) -> tuple[object, ...]:
    """One definition for a table: name, type, schedule, zone, next slot, problem."""
    return (
        row["name"],
        row["job_type"],
        row["schedule"],
        row["timezone"],
        next_slot(row),
        row["problem"],
    )


def next_slot(row: Mapping[str, Any]) -> str:
    """When a definition has its next slot, or why it has none."""
    if row.get("removed_at") is not None:
        return "removed"
    if row["paused_at"] is not None:
        return "paused"
    at = row["next_run_at"]
    # So the hint says that no slot will ever come.
    return "never again" if at is not None and at.year == MAXYEAR else render.instant(at)


def _section(title: str, headings: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    if rows:
        click.echo(f"\n{title}")
        render.table(headings, rows)


def _ago(at: datetime, then: datetime | None) -> str:
    return "-" if then is None else f"{format_duration(max(at - then, timedelta(0)))} ago"


def _done(counts: object) -> str:
    if not isinstance(counts, dict):
        return "nothing" if counts is None else str(counts)[:40]
    # As a tick goes, and not as its runs happened to end; a database keeps no order either.
    known = {name: place for place, name in enumerate(_COUNTED)}
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
    # What a handler says is its own affair; showing it must not fail.
    if not isinstance(value, int | float):
        return str(value)[:40]
    try:
        return f"{value:g}"
    except OverflowError:
        return f"{Decimal(value):.6g}"


def _error(row: dict[str, Any]) -> str:
    return f"{row['error_type']}: {row['last_error']}"


COMMANDS = (status,)
