"""loop: a tick each minute, without cron: in a container, or as a service of systemd."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import click

from jobrunner.cli import environment, garbage, options, streams
from jobrunner.cli.options.tick import of_tick, words_of
from jobrunner.cli.parameters import Checked
from jobrunner.durations import parse_duration
from jobrunner.errors import UsageError


def _period(text: str) -> timedelta:
    found = parse_duration(text)
    if not timedelta(seconds=1) <= found <= timedelta(hours=1):
        raise UsageError("must lie between 1s and 1h")
    return found


@click.command()
@click.option(
    "--every",
    type=Checked(_period),
    metavar="DURATION",
    default="1m",
    show_default=True,
    help="Start a tick at each full DURATION of the clock.",
)
@click.option(
    "--ready-file",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="A file that exists while ticks do their work, for a readiness probe.",
)
@of_tick
@click.pass_context
def loop(context: click.Context, /, every: timedelta, ready_file: str | None, **given: Any) -> int:
    """Start a tick each minute, until SIGTERM: in a container or as a service, without cron.

    Each tick is a process of its own, with these options, and starts beside those that are still at work. Before the
    first one it makes sure, by jobrunner tick --probe, that a tick can work here, and tries again while the database
    cannot be reached. A wrong configuration ends it with 78. From then on it is ready, which it reports to systemd, and
    no tick that fails ends it.

    On SIGTERM, SIGINT or SIGHUP it starts no more, passes the stop on to the ticks at work, waits for them and exits
    with 0. A second signal ends their grace period.

    Example: jobrunner loop --linger --log /dev/stdout
    """
    from jobrunner.ticker.readiness import Readiness
    from jobrunner.ticker.ticker import Ticker

    garbage.collect()
    environ = environment.for_another()
    readiness = Readiness(environ, ready_file)
    words = [*options.files_of(context), *words_of(context, set(given))]
    return Ticker(words, environ, every, readiness, lambda line: streams.report_error(line, 0)).run()
