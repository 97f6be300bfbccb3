"""archive runs: keep old runs in a file, and delete them."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import click

from jobrunner.admin import archive as archives
from jobrunner.cli import environment, render, session, suggestions
from jobrunner.cli.options.shared import of_time
from jobrunner.cli.options.types import of_types
from jobrunner.cli.upkeep.archive.finish import delete
from jobrunner.names import check_job_type


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@of_time(
    "--until",
    "Archive runs that ended before this: ISO 8601 with an offset, or 90d for 90 days ago.",
    required=True,
)
@of_types("Only of this type", check_job_type)
@click.option("--keep", is_flag=True, help="Write the file only; delete nothing.")
def runs(file: Path, until: datetime | timedelta, job_types: tuple[str, ...], keep: bool) -> None:
    """Write ended runs with their attempts to FILE, as JSON lines, and delete them once FILE is on the disk.

    If it is interrupted, nothing is lost: each run is in the database, in FILE, or in both. `archive finish` then
    deletes the runs that are in FILE.

    Example: jobrunner archive runs --until 90d /backups/runs.jsonl
    """
    database = session.open_database(environment.load(), for_many_rows=True)
    with render.progress(None, "runs") as report:
        written = archives.write(database, until, job_types, file.absolute(), report)
    render.done(f"wrote {written.runs} runs to {file}" if written.runs else "no run to archive; there is no file")
    if written.left_out:
        render.done(
            f"{written.left_out} runs are left out: their attempts are not counted yet, because another transaction"
            " is writing; archive them later, into another file"
        )
    elif not written.runs:
        suggestions.suggest_type(job_types, database.read(suggestions.types_of))
    if written.runs and not keep:
        delete(database, file)
