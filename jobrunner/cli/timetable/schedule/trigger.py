"""schedule trigger: one run now."""

from __future__ import annotations

import click

from jobrunner.cli import environment, options, render, session, streams, suggestions
from jobrunner.cli.answers import answers
from jobrunner.store.changes import backfill as store
from jobrunner.store.queue.enqueue_sql import Made
from jobrunner.text import picked, visible


@click.command()
@click.argument("name", shell_complete=suggestions.schedules)
@answers(Made)
@options.REASON
def trigger(name: str, as_json: bool) -> None:
    """Make one run of a schedule now, also of a paused one, and print its id.

    The run belongs to no slot. It waits until the schedule's running run has ended, unless overlap is allow. Of a
    schedule that runs on every host it makes a run for each host, and prints a line for each.

    Example: jobrunner schedule trigger nightly
    """
    config = environment.load()
    who = session.actor()
    database = session.open_database(config)
    made = database.write(lambda each: store.trigger(each, name, config.payload_limit, who))
    if any(each.dropped for each in made) and session.on_terminal():
        streams.to_stderr(
            f"jobrunner: dropped: max_waiting of its job type allows no more waiting runs of {visible(name)}"
        )
    for each in made:
        if as_json:
            render.done(render.json_line(picked(Made, each)))
        elif not each.dropped:
            render.done(each.id)
