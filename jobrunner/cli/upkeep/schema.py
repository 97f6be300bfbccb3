"""schema: the SQL of the tables."""

from __future__ import annotations

import click

from jobrunner.cli import environment, session
from jobrunner.store.drivers import waits
from jobrunner.store.sql.versions import SCHEMA_REVISION


@click.command()
@click.option(
    "--from-version",
    type=click.IntRange(1, SCHEMA_REVISION - 1),
    metavar="N",
    help="Print the steps from schema N on instead, for a database that has it.",
)
def schema(from_version: int | None) -> None:
    """Print the SQL that creates the tables of this version, for an administrator to run. It changes nothing.

    Example: jobrunner schema
    """
    from jobrunner.store.upkeep import script

    config = environment.load()
    database = session.unopened(config, waits.of_migration(config.patience))
    click.echo(script.of_schema(database.location, from_version or 0), nl=False)
