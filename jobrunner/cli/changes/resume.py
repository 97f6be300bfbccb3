"""resume: start again what was paused."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from jobrunner.cli import environment, options, render, session
from jobrunner.cli.changes.pause import named, of_what, since, suggest
from jobrunner.errors import UsageError
from jobrunner.model import describe_pause
from jobrunner.store.queue import pauses as store
from jobrunner.text import visible


@click.command()
@of_what
@options.REASON
def resume(**given: Any) -> None:
    """End a pause: the runs start at the next tick, or at once if a tick listens.

    It ends only the pauses that you name: `--all` ends the pause of everything, but a job type or a host that was
    paused by its name stays paused.

    Example: `jobrunner resume --type report.send`
    """
    found = list(named(**given))
    if not found:
        raise UsageError("name what to resume: --type TYPE, --host HOST or --all; see: jobrunner pauses")
    database = session.open_database(environment.load())
    who = session.actor()
    for kind, name in found:
        paused_at = database.write(partial(store.resume, kind=kind, name=name, actor=who))
        state = "not paused" if paused_at is None else f"resumed; it was paused since {render.instant(paused_at)}"
        _, *others = database.read(partial(store.names_meant, kind=kind, name=name))
        state += f"; so is {visible(', '.join(others))}, another name of it" if others else ""
        render.done(f"{visible(describe_pause(kind, name))}: {state}")
    suggest(database, found)
    for left in database.read(store.listed):
        click.echo(f"still paused: {visible(left.what)}{since(left)}")
