"""tick: work on what is due. A plain command line does without this module (jobrunner.cli.ticking)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from jobrunner.cli import environment, session, spread, streams
from jobrunner.cli.options.tick import of_tick
from jobrunner.settings.config import Config


@click.command()
@of_tick
@click.option("--probe", is_flag=True, help="Only check that a tick can work here: its database, schema and handlers.")
def tick(verbose: bool, log: Path | None, types: tuple[str, ...], probe: bool, **flags: Any) -> None:
    """Work on what is due, then exit. Cron calls this every minute; ticks may overlap.

    A tick recovers runs whose owner died, makes the runs of due schedules, and works on due runs until none is left,
    the batch is full or the budget is used. Then it claims no more, waits for its handlers and exits. Without a
    terminal it prints nothing, unless something is wrong with the tick itself.

    With --linger it listens for new runs, whatever the batch and the budget, until the next tick of the same host and
    types has taken over: a run that is enqueued meanwhile starts at once.

    With --probe it does no work, and prints the database and the job types of this host. Exit status 0: a tick can work
    here. 69: the database cannot be reached. 78: the configuration, the schema or the handlers are wrong.

    Example: jobrunner tick --linger
    """
    from jobrunner.cli import ticking

    config = environment.load({**flags, "log": log})
    if probe:
        _probe(config)
        return
    if not session.on_terminal():
        spread.wait(config)
    ticking.run(config, types=types or None, on_stderr=verbose or session.on_terminal())


def _probe(config: Config) -> None:
    from jobrunner.admin.doctor.handlers import why_none
    from jobrunner.log import open_log

    open_log(config.log, on_stderr=False)
    database = session.open_database(config, creates=True)
    types = [policy.job_type for policy in session.policies(config)]
    if not types:
        streams.report_error("; ".join(why_none(config.imports)), 0)
    click.echo(f"ok: {database.location.label}: {', '.join(types) or 'no job types'}")
