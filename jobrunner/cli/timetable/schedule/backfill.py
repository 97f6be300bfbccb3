"""schedule backfill: a run for each past slot that has none."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import click

from jobrunner.cli import environment, options, render, session, suggestions
from jobrunner.cli.answers import answers
from jobrunner.cli.options.shared import of_limit, of_time
from jobrunner.durations import format_duration
from jobrunner.errors import UsageError
from jobrunner.store.changes import backfill as store
from jobrunner.store.queue.ticks import tallies


@click.command()
@click.argument("name", shell_complete=suggestions.schedules)
@of_time("--since", "Slots not earlier than this: ISO 8601 with an offset, or 2h for two hours ago.", required=True)
@of_time("--until", "Slots not later than this, which is not in the future.", required=True)
@click.option("--dry-run", is_flag=True, help="Show which runs would be made, and make none.")
@click.option("--again", is_flag=True, help="Also slots that have a run already, or may have had one.")
@of_limit("At most this many slots; if there are more, make none.", 1000, most=100_000)
@answers(list[store.Filled], " with an object for each slot")
@options.REASON
def backfill(
    name: str,
    since: datetime | timedelta,
    until: datetime | timedelta,
    dry_run: bool,
    again: bool,
    limit: int,
    as_json: bool,
) -> None:
    """Make the runs of past slots that have none, also of a paused schedule.

    A cancelled run is queued again. A slot is listed as unknown, and gets no run, if it is so old that its run may have
    been deleted. A second backfill makes nothing.

    Example: jobrunner schedule backfill nightly --since 2026-11-01T00:00Z --until 2026-11-03T00:00Z --dry-run
    """
    config = environment.load()
    kept = min(config.keep[status] for status in ("succeeded", "cancelled", "dead"))
    who = session.actor()
    database = session.open_database(config, for_many_rows=True)
    at = database.read(tallies.now)
    begin, end = (each if isinstance(each, datetime) else at - each for each in (since, until))
    if begin > end:
        raise UsageError("--since is later than --until; no slot lies between them")
    span = store.Span(begin, end, limit, kept, again)
    with render.progress(None, f"backfill of {name}") as advance:
        given: dict[str, Any] = {"name": name, "span": span, "payload_limit": config.payload_limit}
        try:
            if dry_run:
                found = database.read(partial(store.preview, **given))
            else:
                found = database.write(partial(store.backfill, **given, actor=who, progress=advance))
        except store.TooManySlots as error:
            raise UsageError(f"{error}, or say --limit {error.count} if you mean it") from None
    if as_json:
        render.echo_json(found)
        return
    if found:
        render.records(found, indent="")
    counts = Counter(each.answer for each in found)
    render.done(", ".join(f"{count} {answer}" for answer, count in counts.items()) or "no slot lies between them")
    if counts["unknown"]:
        click.echo(
            f"unknown: older than {format_duration(kept)}, so its run may have been deleted; --again makes a new one"
        )
