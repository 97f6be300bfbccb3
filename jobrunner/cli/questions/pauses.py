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
    render.listed(found, "nothing is paused", as_json=as_json)
