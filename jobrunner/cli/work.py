"""tick, migrate, types: the commands for a host."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from jobrunner.cli import environment, known, options, render, session
from jobrunner.cli.types import Checked
from jobrunner.durations import format_duration
from jobrunner.model import Policy
from jobrunner.names import check_job_type
from jobrunner.store.drivers import waits


@click.command()
@options.of_settings
@click.option("--strict/--no-strict", default=None, help="Commit each result before the same child starts another run.")
@click.option(
    "--linger",
    metavar="[DURATION]",
    is_flag=False,
    flag_value="2m",
    help="Keep listening for new runs until the next tick takes over. [at most DURATION; --linger alone: 2m]",
)
@click.option(
    "--type",
    "types",
    multiple=True,
    type=Checked(check_job_type),
    metavar="TYPE",
    shell_complete=known.job_types,
    help="Work on this job type only; repeatable.",
)
@click.option(
    "--log-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Append the log to this file, as JSON lines.",
)
@click.option("-v", "--verbose", is_flag=True, help="Log to stderr, also without a terminal.")
def tick(verbose: bool, log_file: Path | None, types: tuple[str, ...], **flags: Any) -> None:
    """Work on what is due, then exit. Cron calls this every minute; ticks may overlap.

    A tick recovers runs whose owner died, makes the runs of due schedules, and works on due runs until none is left,
    the batch is full or the budget is used. Then it claims no more, waits for its handlers and exits. Without a
    terminal it prints nothing, unless something is wrong with the tick itself.

    With --linger it listens for new runs, whatever the batch and the budget, until the next tick of the same host and
    types has taken over: a run that is enqueued meanwhile starts at once.

    Example: jobrunner tick --linger
    """
    from jobrunner.cli import ticking

    config = environment.load({**flags, "log": log_file})
    ticking.run(config, types=types or None, on_stderr=verbose or session.on_terminal())


@click.command()
@click.option("--sql", is_flag=True, help="Print the SQL that creates the schema, for an administrator to run.")
def migrate(sql: bool) -> None:
    """Create the tables, or bring them to this version. It is safe at every deploy, and from many hosts at once.

    Example: jobrunner migrate
    """
    from jobrunner.store.upkeep import migrate as migrations

    config = environment.load()
    database = session.unopened(config, waits.of_migration(config.patience))
    if sql:
        click.echo(migrations.migration_sql(database.location), nl=False)
        return
    # A database that does not answer is reported as soon as by other commands, in spite of the longer waits.
    session.check_answers(config)
    with render.progress(None, "migration") as progress:
        changes = migrations.migrate(database, progress)
    render.done(f"{database.location.label}: {'; '.join(changes) or 'up to date'}")


@click.command(name="types")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def types_(as_json: bool) -> None:
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


COMMANDS = (tick, migrate, types_)
