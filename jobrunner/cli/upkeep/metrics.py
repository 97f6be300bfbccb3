"""metrics: numbers for Prometheus."""

from __future__ import annotations

from pathlib import Path

import click

from jobrunner.cli import environment, session


@click.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Replace this file, as each tick does with JOBRUNNER_METRICS_FILE.",
)
def metrics(output: Path | None) -> None:
    """Print the metrics of the whole database in the text format of Prometheus.

    With --output it writes only the part of this host, so that the sum over all hosts is right: the numbers of its own
    ticks, and on one of the hosts those of the database.

    Example: jobrunner metrics --output /var/lib/prometheus/node-exporter/jobrunner.prom
    """
    from jobrunner.worker import metrics as numbers

    config = environment.load()
    database = session.open_database(config)
    if output is None:
        click.echo(numbers.everything(database), nl=False)
    else:
        numbers.write_file(database, config.host, output)
