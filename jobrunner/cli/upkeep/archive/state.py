"""archive state: write what is no run, for another database."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from jobrunner.admin import archive_state
from jobrunner.cli import environment, render, session


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
def state(file: Path) -> None:
    """Write schedules, pauses, set limits, keys, effects and the audit trail to FILE; delete nothing.

    Another database, also one of the other kind, can restore it.

    Example: jobrunner archive state /backups/state.jsonl
    """
    database = session.open_database(environment.load(), for_many_rows=True)
    render.done(f"wrote {counted(archive_state.write(database, file.absolute()))} to {file}; nothing was deleted")


def counted(rows: Mapping[str, int]) -> str:
    """How many of each kind, in words."""
    return ", ".join(f"{count} {kind}{'s' * (count != 1)}" for kind, count in rows.items()) or "nothing"
