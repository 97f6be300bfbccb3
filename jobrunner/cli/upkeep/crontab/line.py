"""crontab line: print it."""

from __future__ import annotations

from pathlib import Path

import click

from jobrunner.cli.crontab_line import LOG, Installation


@click.command()
@LOG
@click.pass_context
def line(context: click.Context, log: Path | None) -> None:
    """Print the crontab line that runs a tick of this installation each minute.

    It has the absolute paths of this program, of its env file and of its configuration file.

    Example: jobrunner crontab line
    """
    click.echo(Installation(context).line(log))
