"""migrate: create the tables, or bring them to this version."""

from __future__ import annotations

import click

from jobrunner.cli import environment, render, session
from jobrunner.store.drivers import waits


@click.command()
def migrate() -> None:
    """Create the tables, or bring them to this version. It is safe at every deploy, and from many hosts at once.

    Example: jobrunner migrate
    """
    from jobrunner.store.upkeep import migrate as migrations

    config = environment.load()
    database = session.unopened(config, waits.of_migration(config.patience))
    # A database that does not answer is reported as soon as by other commands, in spite of the longer waits.
    session.check_answers(config)
    with render.progress(None, "migration") as progress:
        done = migrations.migrate(database, progress)
    render.done(f"{database.location.label}: {done}")
