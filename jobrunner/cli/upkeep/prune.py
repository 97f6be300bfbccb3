"""prune: delete what is older than its retention."""

from __future__ import annotations

import click

from jobrunner.admin import prune as pruning
from jobrunner.cli import environment, render, session
from jobrunner.cli.answers import answers


@click.command()
@click.option("--dry-run", is_flag=True, help="Only count what would be deleted.")
@answers(pruning.Pruned)
def prune(dry_run: bool, as_json: bool) -> None:
    """Delete the runs, ticks and events that are older than their retention: JOBRUNNER_KEEP_….

    Ticks do the same every ten minutes, and each minute while there is much. Unfinished runs and idempotency keys are
    never deleted, and the totals of stats stay.

    Example: jobrunner prune --dry-run
    """
    config = environment.load()
    database = session.open_database(config, for_many_rows=True)
    found, kept = (pruning.old(database, config), {}) if dry_run else pruning.prune(database, config)
    if as_json:
        render.echo_json(pruning.Pruned(dry_run, found, sorted(kept)))
        return
    render.line("to delete" if dry_run else "deleted")
    if found:
        render.records(found)
    else:
        render.line("nothing")
    if kept:
        why = next(iter(kept.values()))
        render.line(f"{len(kept)} runs stay, because the database refuses it, such as run {min(kept)}: {why}")
