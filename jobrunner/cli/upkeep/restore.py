"""restore: put a backup of an SQLite database back."""

from __future__ import annotations

from pathlib import Path

import click

from jobrunner.admin import restoring
from jobrunner.cli import environment, options, render, session, streams


@click.command()
@click.argument("backup", type=click.Path(path_type=Path))
@options.REASON
def restore(backup: Path) -> None:
    """Restore the SQLite database from BACKUP: everything that is in the database now is replaced.

    BACKUP is a file as `sqlite3 FILE ".backup BACKUP"` makes it; it is checked first. It is written through SQLite, as
    a whole or not at all. So nothing of the old file, such as its log FILE-wal, can come back, also if a process was
    killed before. A database file that is damaged, or is no database at all, is replaced, too.

    Example: jobrunner restore /backups/jobs.db
    """
    database = session.unopened(environment.load())
    with render.progress(None, "pages") as progress:
        is_current = restoring.restore(database, backup, session.actor(), progress)
    render.done(f"restored {database.location.label} from {backup}")
    following = (
        "jobrunner schedule resume --all --from now; it resumes paused ones, too: first see jobrunner schedule list"
    )
    streams.to_stderr(f"next: {following if is_current else 'jobrunner migrate'}")
