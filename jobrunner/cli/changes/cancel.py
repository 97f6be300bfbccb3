"""cancel: waiting runs, and running ones."""

from __future__ import annotations

from functools import partial

import click

from jobrunner.cli import session
from jobrunner.cli.bulk import Many, change_each, change_many, of_many
from jobrunner.lifecycle import Status
from jobrunner.store.changes import one_run, run_changes


@click.command()
@of_many
def cancel(many: Many) -> None:
    """Cancel waiting runs, and stop running ones: SIGTERM within a heartbeat, SIGKILL after kill_after.

    Example: `jobrunner cancel --type report.send --status queued`
    """
    if not many.is_by_ids:
        change_many(many, lambda _: run_changes.cancel())
        return
    refusals = dict.fromkeys(
        (Status.SUCCEEDED, Status.DEAD, Status.CANCELLED), "it has ended; there is nothing to cancel"
    )
    change_each(many.job_ids, partial(one_run.cancel, actor=session.actor()), "cancelled", refusals)
