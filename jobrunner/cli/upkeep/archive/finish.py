"""archive finish: delete the runs that a file holds."""

from __future__ import annotations

from pathlib import Path

import click

from jobrunner.admin import archive as archives
from jobrunner.cli import environment, render, session
from jobrunner.store.drivers.database import Database


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
def finish(file: Path) -> None:
    """Delete the runs that are in FILE: finish an `archive runs` that was interrupted.

    A run that has changed since then is not deleted.

    Example: jobrunner archive finish /backups/runs.jsonl
    """
    delete(session.open_database(environment.load(), for_many_rows=True), file)


def delete(database: Database, file: Path) -> None:
    """Delete the runs that the file holds, and say how many."""
    with render.progress(None, "runs") as report:
        deleted = archives.delete(database, file, session.actor(), report)
    render.done(f"deleted {deleted.deleted} runs; {deleted.stay} stay or were gone")
    if deleted.refused is not None:
        render.line(f"the database refuses to delete some: {deleted.refused}")
