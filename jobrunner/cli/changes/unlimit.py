"""unlimit: take back what was set by limit."""

from __future__ import annotations

from functools import partial

import click

from jobrunner.cli import environment, options, render, session, suggestions
from jobrunner.cli.changes.limit import also
from jobrunner.names import check_job_type
from jobrunner.store.queue import set_limits as store
from jobrunner.text import visible


@click.command()
@click.argument("job_type", metavar="TYPE", shell_complete=suggestions.job_types)
@options.REASON
def unlimit(job_type: str) -> None:
    """Take back what `jobrunner limit` has set for a job type: the limits of its code hold again, at once.

    Example: `jobrunner unlimit report.send`
    """
    check_job_type(job_type)
    database = session.open_database(environment.load())
    before = database.write(partial(store.unset, job_type=job_type, actor=session.actor()))
    since = "nothing is set; see: jobrunner limits"
    if before is not None:
        since = f"as its code has it; {before.limits} was set since {render.instant(before.set_at)}"
    render.done(f"{visible(job_type)}: {since}{also(database, job_type)}")
    suggestions.suggest_type([job_type], database.read(suggestions.types_of))
