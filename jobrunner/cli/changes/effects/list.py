"""effects list: the effects of which nobody knows whether they were applied."""

from __future__ import annotations

import click

from jobrunner.cli import environment, render, session
from jobrunner.cli.answers import answers
from jobrunner.store.questions import uncertain


@click.command()
@answers(list[uncertain.OpenEffect])
def list_(as_json: bool) -> None:
    """List the uncertain effects: nobody knows whether they were applied.

    Example: jobrunner effects list
    """
    database = session.open_database(environment.load())
    found = database.read(uncertain.listed)
    render.listed(found, "no effect is uncertain", as_json=as_json, indent="  ")
