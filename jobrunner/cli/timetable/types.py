"""types: the job types that this host can run."""

from __future__ import annotations

from collections.abc import Callable

import click

from jobrunner.cli import environment, render, session
from jobrunner.durations import format_duration
from jobrunner.model import Policy


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def types(as_json: bool) -> None:
    """List the job types that this host can run, with their policies.

    Example: jobrunner types
    """
    config = environment.load()
    found = session.policies(config)
    if as_json:
        render.echo_json([policy.as_data() for policy in found])
        return
    if not found:
        from jobrunner.admin.doctor.handlers import why_none

        click.echo(f"no handlers: {'; '.join(why_none(config.imports))}")
        return
    columns = {name: show for name, show in _COLUMNS.items() if name in _ALWAYS or any(map(show, found))}
    render.table(list(columns), [[show(policy) for show in columns.values()] for policy in found], indent="")


_COLUMNS: dict[str, Callable[[Policy], object]] = {
    "JOB TYPE": lambda policy: policy.job_type,
    "ATTEMPTS": lambda policy: policy.max_attempts,
    "TIMEOUT": lambda policy: "none" if policy.timeout is None else format_duration(policy.timeout),
    "KILL AFTER": lambda policy: format_duration(policy.kill_after),
    "BACKOFF": lambda policy: policy.backoff,
    "AT ONCE": lambda policy: policy.concurrency and f"{policy.concurrency}{', async' if policy.is_async else ''}",
    "MAX WAITING": lambda policy: policy.max_waiting and f"{policy.max_waiting}, then {policy.when_full}",
    "ON STOP": lambda policy: None if policy.on_stop == "release" else policy.on_stop,
    "KEYS": lambda policy: (
        f"window {format_duration(policy.key_window)}"
        if policy.key_window
        else None
        if policy.key_scope == "forever"
        else policy.key_scope
    ),
}
_ALWAYS = ("JOB TYPE", "ATTEMPTS", "TIMEOUT", "KILL AFTER", "BACKOFF")
"""Other columns are shown only if a job type has a value for them."""
