"""pauses: what is paused."""

from __future__ import annotations

import click

from jobrunner.cli import environment, render, session
from jobrunner.cli.answers import answers
from jobrunner.store.queue import pauses as store
from jobrunner.store.queue.pauses import Pause


@click.command()
@answers(list[Pause])
def pauses(as_json: bool) -> None:
    """List what is paused, since when, by whom and why.

    Example: jobrunner pauses
    """
    found = session.open_database(environment.load()).read(store.listed)
    if as_json:
        render.echo_json(found)
    elif found:
        render.records(found, indent="")
    else:
        click.echo("nothing is paused")
