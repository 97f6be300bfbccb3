"""schema: the SQL of the tables."""

from __future__ import annotations

import click

from jobrunner.cli import environment, session
from jobrunner.store.drivers import waits


@click.command()
def schema() -> None:
    """Print the SQL that creates the tables of this version, for an administrator to run. It changes nothing.

    Example: jobrunner schema
    """
    from jobrunner.store.upkeep import migrate

    config = environment.load()
    database = session.unopened(config, waits.of_migration(config.patience))
    click.echo(migrate.migration_sql(database.location), nl=False)
