"""crontab install: put the line into the crontab."""

from __future__ import annotations

from pathlib import Path

import click

from jobrunner.cli import render
from jobrunner.cli.crontab_line import LOG, Installation
from jobrunner.crontab import host, tick_line


@click.command()
@LOG
@click.pass_context
def install(context: click.Context, log: Path | None) -> None:
    """Put the line of `jobrunner crontab line` into your crontab; all other lines stay.

    It replaces an older line with the same env file. A second call changes nothing.

    Example: jobrunner crontab install
    """
    installation = Installation(context)
    line = installation.line(log)
    changed = host.change_crontab(lambda text: tick_line.with_line(text, line, installation.identity))
    render.done(f"{'installed' if changed else 'installed already'}: {line}")
