"""archive: keep old runs in a file, and delete them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

import click

from jobrunner.admin import archive as archives
from jobrunner.admin import archive_file, archive_state
from jobrunner.cli import environment, render, session, suggestions
from jobrunner.cli.parameters import Checked, instant_or_ago
from jobrunner.names import check_job_type
from jobrunner.store.drivers.database import Database


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--until",
    type=Checked(instant_or_ago),
    metavar="TIME",
    help="Archive runs that ended before this: ISO 8601 with an offset, or 90d for 90 days ago.",
)
@click.option(
    "--type",
    "job_types",
    multiple=True,
    type=Checked(check_job_type),
    metavar="TYPE",
    shell_complete=suggestions.job_types,
    help="Only of this type; repeatable.",
)
@click.option("--keep", is_flag=True, help="Write the file only; delete nothing.")
@click.option("--finish", is_flag=True, help="Delete what FILE holds: after an archive that was interrupted.")
@click.option("--restore", is_flag=True, help="Put what FILE holds back into the database.")
@click.option(
    "--state",
    is_flag=True,
    help="Write schedules, pauses, keys, effects and the audit trail, for another database; delete nothing.",
)
def archive(
    file: Path,
    until: datetime | timedelta | None,
    job_types: tuple[str, ...],
    keep: bool,
    finish: bool,
    restore: bool,
    state: bool,
) -> None:
    """Write ended runs with their attempts to FILE, as JSON lines, and delete them once FILE is on the disk.

    Interrupted at any point it loses nothing: a run is in the database, in FILE, or in both. What was restored is as
    old as before, so a tick prunes it again: restore into another database, or with a longer JOBRUNNER_KEEP_….

    What --state has written is restored before any runs: keys and events name runs by their ids.

    Example: jobrunner archive --until 90d /backups/runs.jsonl
    """
    wanted = [until is not None, finish, restore, state]
    if sum(wanted) != 1:
        raise click.UsageError("give one of --until, --finish, --restore and --state")
    if (job_types or keep) and until is None:
        raise click.UsageError("--type and --keep belong to --until")
    database = session.open_database(environment.load(), for_many_rows=True)
    if state:
        render.done(f"wrote {_counted(archive_state.write(database, file.absolute()))} to {file}; nothing was deleted")
        return
    if restore:
        _put_back(database, file)
        return
    if until is not None:
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
        if keep or not written.runs:
            return
    with render.progress(None, "runs") as report:
        deleted = archives.delete(database, file, report)
    render.done(f"deleted {deleted.deleted} runs; {deleted.changed} stay or were gone")
    if deleted.refused is not None:
        render.line(f"the database refuses to delete some: {deleted.refused}")


def _put_back(database: Database, file: Path) -> None:
    if archive_file.holds_state(file):
        rows, present = archive_state.restore(database, file)
        render.done(f"restored {_counted(rows)}; {sum(present.values())} were there already")
        return
    with render.progress(None, "runs") as report:
        restored, others = archives.restore(database, file, report)
    render.done(f"restored {restored} runs; {others} were there already")


def _counted(rows: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}{'s' * (count != 1)}" for kind, count in rows.items()) or "nothing"
