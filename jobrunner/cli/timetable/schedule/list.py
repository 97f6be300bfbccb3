"""schedule list: the schedules with their next slots."""

from __future__ import annotations

import click

from jobrunner.cli import environment, render, session
from jobrunner.cli.answers import answers
from jobrunner.store.questions import definitions
from jobrunner.store.questions.definitions import ListedDefinition


@click.command()
@click.option("--all", "removed", is_flag=True, help="Also list removed schedules.")
@answers(list[ListedDefinition])
def list_(removed: bool, as_json: bool) -> None:
    """List the schedules with their next slots.

    Example: jobrunner schedule list
    """
    database = session.open_database(environment.load())
    found = database.read(lambda connection: definitions.listed(connection, removed=removed))
    render.listed(found, "no schedules", as_json=as_json)
