"""discard: give up runs that wait."""

from __future__ import annotations

from functools import partial

import click

from jobrunner.cli import session
from jobrunner.cli.bulk import Many, change_each, change_many, of_many
from jobrunner.lifecycle import Status
from jobrunner.store.changes import one_run, run_changes


@click.command()
@of_many
def discard(many: Many) -> None:
    """Give up waiting or cancelled runs: they become dead, with the reason as their error.

    Example: `jobrunner discard --status failed --error-like "no such table" --reason "the table is gone"`
    """
    who = session.actor()
    if not many.is_by_ids:
        change_many(many, lambda _: run_changes.discard(who.reason or ""))
        return
    ended = "it has ended already"
    refusals = {Status.RUNNING: "it is at work; cancel it first", Status.SUCCEEDED: ended, Status.DEAD: ended}
    change_each(many.job_ids, partial(one_run.discard, actor=who), "discarded", refusals)
