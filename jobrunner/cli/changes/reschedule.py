"""reschedule: give waiting runs another time."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

import click

from jobrunner.application.enqueueing import check_run_at
from jobrunner.cli import session
from jobrunner.cli.bulk import NOT_WAITING, OVER, Many, change_each, change_many, of_many
from jobrunner.cli.parameters import Checked, parse_run_at
from jobrunner.store.changes import one_run, run_changes


@click.command()
@of_many
@OVER
@click.option(
    "--run-at",
    type=Checked(parse_run_at),
    required=True,
    metavar="TIME",
    help="The new earliest start: ISO 8601 with an offset, or +5m from now.",
)
def reschedule(many: Many, run_at: datetime | timedelta) -> None:
    """Give waiting runs another time. This removes their start deadlines.

    Example: `jobrunner reschedule --type report.send --run-at +2h --over 30m`
    """
    check_run_at(run_at)

    def begin(at: datetime) -> datetime:
        return at + run_at if isinstance(run_at, timedelta) else run_at

    if not many.is_by_ids:
        change_many(many, lambda at: run_changes.reschedule(begin(at), is_spread=many.over is not None), begin)
        return
    change = partial(one_run.reschedule, actor=session.actor(), run_at=run_at)
    change_each(many.job_ids, change, "rescheduled", NOT_WAITING)
