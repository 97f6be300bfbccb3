"""schedule remove: its runs and its history stay."""

from __future__ import annotations

import click

from jobrunner.cli import environment, options, render, schedule_options, session, suggestions
from jobrunner.store.changes import edits
from jobrunner.text import visible


@click.command()
@click.argument("name", shell_complete=suggestions.schedules)
@options.REASON
def remove(name: str) -> None:
    """Remove a schedule. Its runs and its history stay, and slots that are already due still get their runs.

    Example: jobrunner schedule remove nightly
    """
    who = session.actor()
    config = environment.load()
    session.open_database(config).write(lambda each: edits.remove(each, name, schedule_options.plan(config), who))
    render.done(f"schedule {visible(name)}: removed")
