"""tick: work on what is due. A plain command line does without this module (jobrunner.cli.ticking)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from jobrunner.cli import environment, options, session
from jobrunner.cli.options.types import of_types
from jobrunner.names import check_job_type


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
@of_types("Work on this job type only", check_job_type, "types")
@click.option(
    "--log",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Append the log to this file, as JSON lines.",
)
@click.option("-v", "--verbose", is_flag=True, help="Log to stderr, also without a terminal.")
def tick(verbose: bool, log: Path | None, types: tuple[str, ...], **flags: Any) -> None:
    """Work on what is due, then exit. Cron calls this every minute; ticks may overlap.

    A tick recovers runs whose owner died, makes the runs of due schedules, and works on due runs until none is left,
    the batch is full or the budget is used. Then it claims no more, waits for its handlers and exits. Without a
    terminal it prints nothing, unless something is wrong with the tick itself.

    With --linger it listens for new runs, whatever the batch and the budget, until the next tick of the same host and
    types has taken over: a run that is enqueued meanwhile starts at once.

    Example: jobrunner tick --linger
    """
    from jobrunner.cli import ticking

    config = environment.load({**flags, "log": log})
    ticking.run(config, types=types or None, on_stderr=verbose or session.on_terminal())
