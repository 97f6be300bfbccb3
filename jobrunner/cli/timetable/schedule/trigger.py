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

    The run belongs to no slot. It waits until the schedule's running run has ended, unless overlap is allow.

    Example: jobrunner schedule trigger nightly
    """
    config = environment.load()
    who = session.actor()
    database = session.open_database(config)
    enqueued = database.write(lambda each: store.trigger(each, name, config.payload_limit, who))
    if enqueued.dropped and session.on_terminal():
        streams.to_stderr(
            f"jobrunner: dropped: max_waiting of its job type allows no more waiting runs of {visible(name)}"
        )
    if as_json:
        render.done(render.json_line(picked(Made, enqueued)))
    elif not enqueued.dropped:
        render.done(enqueued.id)
