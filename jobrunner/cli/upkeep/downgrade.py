"""downgrade: bring the schema back to an earlier version."""

from __future__ import annotations

import click

from jobrunner.cli import environment, render, session
from jobrunner.store.drivers import waits


@click.command()
@click.argument("version", type=click.IntRange(0))
@click.option("--delete-data", is_flag=True, help="Delete data for which the older schema has no place.")
def downgrade(version: int, delete_data: bool) -> None:
    """Bring the schema down to VERSION; 0 removes all tables.

    If data would be lost, it does nothing unless you give --delete-data.

    Example: jobrunner downgrade 0 --delete-data
    """
    from jobrunner.store.upkeep import migrate as migrations

    config = environment.load()
    database = session.unopened(config, waits.of_migration(config.patience))
    # A database that does not answer is reported as soon as by other commands, in spite of the longer waits.
    session.check_answers(config)
    done = migrations.go_down(database, version, delete_data=delete_data)
    render.done(f"{database.location.label}: {done}")
