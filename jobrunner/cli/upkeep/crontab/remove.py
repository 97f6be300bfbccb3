"""crontab remove: take the line out of the crontab."""

from __future__ import annotations

import click

from jobrunner.cli import render
from jobrunner.cli.crontab_line import Installation
from jobrunner.crontab import host, tick_line


@click.command()
@click.pass_context
def remove(context: click.Context) -> None:
    """Remove the line of this installation from your crontab; all other lines stay.

    Example: jobrunner crontab remove
    """
    identity = Installation(context).identity
    was_there = host.change_crontab(lambda text: tick_line.without_line(text, identity))
    render.done("removed from the crontab" if was_there else "the crontab has no line of this installation")
