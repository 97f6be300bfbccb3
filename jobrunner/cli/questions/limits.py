"""limits: what is set instead of the limits of the code."""

from __future__ import annotations

import click

from jobrunner.cli import environment, render, session
from jobrunner.cli.answers import answers
from jobrunner.store.queue import set_limits as store
from jobrunner.store.queue.set_limits import SetLimit


@click.command()
@answers(list[SetLimit])
def limits(as_json: bool) -> None:
    """List the limits that `jobrunner limit` has set: since when, until when, by whom and why.

    Those of the code, and how many runs are at work and wait for them, are in `jobrunner status`.

    Example: jobrunner limits
    """
    found = session.open_database(environment.load()).read(store.listed)
    render.listed(found, "no limits are set", as_json=as_json)
