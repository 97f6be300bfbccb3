"""archive restore: put back what a file holds."""

from __future__ import annotations

from pathlib import Path

import click

from jobrunner.admin import archive as archives
from jobrunner.admin import archive_file, archive_state
from jobrunner.cli import environment, render, session
from jobrunner.cli.upkeep.archive.state import counted


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
def restore(file: Path) -> None:
    """Put what `archive runs` or `archive state` has written to FILE back into the database.

    Restored runs keep their age, so the next tick may delete them again: restore into another database, or set a longer
    JOBRUNNER_KEEP_…. Restore the state before any runs, because keys and events name runs by their ids.

    Example: jobrunner archive restore /backups/runs.jsonl
    """
    database = session.open_database(environment.load(), for_many_rows=True)
    if archive_file.holds_state(file):
        rows, present = archive_state.restore(database, file, session.actor())
        render.done(f"restored {counted(rows)}; {sum(present.values())} were there already")
        return
    with render.progress(None, "runs") as report:
        restored, others = archives.restore(database, file, session.actor(), report)
    render.done(f"restored {restored} runs; {others} were there already")
