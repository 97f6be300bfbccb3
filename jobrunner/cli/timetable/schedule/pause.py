"""schedule pause: make no more runs of a schedule."""

from __future__ import annotations

import click

from jobrunner.cli import environment, options, render, schedule_options, session
from jobrunner.store.changes import pausing
from jobrunner.text import visible


@click.command()
@schedule_options.one_or_all
@options.REASON
def pause(name: str | None) -> None:
    """Make no more runs of a schedule until it is resumed. Its waiting and running runs go on.

    To stop waiting runs, too, use `jobrunner pause`.

    Example: jobrunner schedule pause nightly --reason "the printer is away"
    """
    who = session.actor()
    database = session.open_database(environment.load())
    if name is None:
        paused = database.write(lambda each: pausing.pause_all(each, who))
        render.done("\n".join([*(f"schedule {visible(each)}: paused" for each in paused), f"paused: {len(paused)}"]))
        return
    before = database.write(lambda each: pausing.pause(each, name, who)).was_paused
    render.done(f"schedule {visible(name)}: paused{'' if before is None else f' since {render.instant(before)}'}")
