"""verify: whether the history of a database keeps the promises."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

import click

from jobrunner.cli import environment, render, session
from jobrunner.cli.answers import answers
from jobrunner.cli.options.shared import of_time
from jobrunner.cli.parameters import Checked
from jobrunner.durations import parse_duration
from jobrunner.settings.config import Config
from jobrunner.verify import verifier
from jobrunner.verify.known import Kept
from jobrunner.verify.promise import SLACK

_NAMED = 10


@click.command()
@of_time("--since", "Only runs that were created since then: ISO 8601 with an offset, or 2d for two days ago.")
@click.option(
    "--within",
    type=Checked(parse_duration),
    metavar="DURATION",
    help="Stop after this time, and print the position at which --position goes on.",
)
@click.option(
    "--slack",
    type=Checked(parse_duration),
    metavar="DURATION",
    default=SLACK,
    show_default="1m",
    help="How far the database's clock may have stepped without a trace: closer times prove nothing.",
)
@click.option("--position", metavar="TEXT", help="Go on where an earlier call has stopped.")
@answers(verifier.Verdict)
@click.pass_context
def verify(
    context: click.Context,
    since: datetime | timedelta | None,
    within: timedelta | None,
    slack: timedelta,
    position: str | None,
    as_json: bool,
) -> None:
    """Judge by the history in the database whether jobrunner has kept its promises. It only reads, beside ticks.

    It reads short slices, one after the other, with statements of its own. Exit status 0: all promises hold. 1: one is
    broken, and each breach is a line. 69: the database cannot be reached.

    Example: jobrunner verify --since 2d
    """
    config = environment.load()
    database = session.open_database(config, for_many_rows=True)
    scope = verifier.Scope(kept(config), since, within, position, slack)
    with render.progress(None, "runs") as report:
        verdict = verifier.verify(database, scope, partial(report))
    if as_json:
        render.echo_json(verdict)
    else:
        for breach in verdict.breaches:
            render.line(str(breach), is_wrong=True)
        for each in verdict.not_judged:
            render.line(f"not judged: {each}")
        if verdict.lost_leases:
            render.line(f"a lease was lost, and the run begun again: {_listed(verdict.lost_leases)}")
        render.line(verdict.sentence)
    context.exit(0 if verdict.holds else 1)


def _listed(runs: list[int]) -> str:
    more = len(runs) - _NAMED
    return ", ".join(f"run {each}" for each in runs[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def kept(config: Config) -> Kept:
    """How long the ticks keep what is judged, by the settings of this host."""
    runs = [config.keep[status] for status in ("succeeded", "cancelled", "dead")]
    return Kept(config.keep["events"], min([*runs, *config.keep_types.values()]))
