"""priority: give waiting runs another one."""

from __future__ import annotations

from functools import partial

import click

from jobrunner.cli import session
from jobrunner.cli.bulk import NOT_WAITING, Many, change_each, change_many, of_many
from jobrunner.cli.parameters import Checked
from jobrunner.jobs.run_options import PRIORITY
from jobrunner.store.changes import one_run, run_changes


@click.command()
@click.argument("number", metavar="N", type=Checked(PRIORITY.read))
@of_many
def priority(many: Many, number: int) -> None:
    """Give waiting runs the priority N, -1000 to 1000. Each step counts like a minute of waiting.

    Example: `jobrunner priority 60 --type report.send`
    """
    if not many.is_by_ids:
        change_many(many, lambda _: run_changes.set_priority(number))
        return
    change = partial(one_run.set_priority, actor=session.actor(), priority=number)
    change_each(many.job_ids, change, f"priority {number}", NOT_WAITING)
