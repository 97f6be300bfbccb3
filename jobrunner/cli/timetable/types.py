"""types: the job types that this host can run."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, TypedDict

import click

from jobrunner.cli import environment, render, session
from jobrunner.cli.answers import answers
from jobrunner.durations import format_duration
from jobrunner.jobs.job_options import OF_POLICY, FormerNames, Length, Names, Waits
from jobrunner.jobs.options import Kind, Number, OneOf, Row, parse_timeout
from jobrunner.jobs.policy import as_data, options_of
from jobrunner.model import Policy


def _of_option(row: Row) -> Any:
    """What the JSON of a job type has for an option."""
    kinds: dict[type[Kind], Any] = {Number: int, Length: float, Waits: dict[str, Any]}
    kinds |= dict.fromkeys((Names, FormerNames), list[str])
    kind = kinds.get(type(row.kind), str)
    return kind | None if row.default is None or row.kind == Length(parse_timeout) else kind


JobType: Any = TypedDict(  # type: ignore[misc]  # its fields are those of the table
    "JobType",
    {"job_type": str, "is_async": bool} | {name: _of_option(row) for name, row in OF_POLICY.items()},
)
JobType.__doc__ = "A job type with its policy. ``backoff`` has what the pauses are computed from, in seconds."


@click.command()
@answers(list[JobType])
def types(as_json: bool) -> None:
    """List the job types that this host can run, with their options. An option that no type has is not shown.

    Example: jobrunner types
    """
    config = environment.load()
    found = [policy for policy in session.policies(config) if policy.current_name is None]
    if as_json:
        render.echo_json([as_data(policy) for policy in found])
        return
    if not found:
        from jobrunner.admin.doctor.handlers import why_none

        click.echo(f"no handlers: {'; '.join(why_none(config.imports))}")
        return
    listed = [_cells(policy) for policy in found]
    columns = [name for name in listed[0] if any(cells[name] for cells in listed)]
    head = [name.replace("_", " ").upper() for name in columns]
    render.table(head, [[cells[name] for name in columns] for cells in listed], indent="")


def _cells(policy: Policy) -> dict[str, str | None]:
    """A row of the table, by the name of the option. None: the type does not have it."""
    options = {name: _shown(name, value) for name, value in options_of(policy).items()}
    return {"job_type": policy.job_type, **options, "async": "yes" if policy.is_async else None}


def _shown(name: str, value: Any) -> str | None:
    row = OF_POLICY[name]
    if value is None:
        # A limit that there is if nothing is said, and here there is none.
        return None if row.default is None else "none"
    if isinstance(row.kind, OneOf) and value == row.default:
        return None
    if isinstance(value, timedelta):
        return format_duration(value)
    if isinstance(row.kind, Names | FormerNames):
        return ", ".join(value) or None
    return str(value)
