"""history: what happened in a time, on one time line."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

import click

from jobrunner.cli import environment, render, session, suggestions
from jobrunner.cli.answers import answers
from jobrunner.cli.options.shared import of_limit, of_schedule, of_time
from jobrunner.cli.options.types import of_types
from jobrunner.durations import format_duration
from jobrunner.store.questions import history as store
from jobrunner.store.questions.history import Asked, Entry, History
from jobrunner.store.questions.selection import stored_text
from jobrunner.text import iso_instant

_HEADINGS = ("AT", "WHAT", "RUN", "TYPE", "DETAIL")
_START_TAKES = timedelta(minutes=1)


@click.command()
@of_time("--since", "Start of the period: ISO 8601 with an offset, or 2h for two hours ago.", default="12h")
@of_time("--until", "End of the period. [default: now]")
@of_types("Only of this job type", stored_text)
@of_schedule("Only of this schedule.", stored_text)
@of_limit("At most this many lines.", 200, most=5000)
@answers(History)
def history(
    since: datetime | timedelta,
    until: datetime | timedelta | None,
    job_types: tuple[str, ...],
    schedule: str | None,
    limit: int,
    as_json: bool,
) -> None:
    """Show what happened, the earliest first: the slots of schedules, the attempts of runs, skipped slots, what users
    did, and ticks that were killed or failed.

    An attempt stands where it ended. First attempts of a type that succeeded within the same minute, without a
    schedule, are one line. If there is more than --limit, the last line says where to go on.

    Example: jobrunner history --since 8h --schedule nightly
    """
    config = environment.load()
    asked = Asked(
        since, until, job_types, schedule, limit, max(config.budget, config.linger or timedelta()) + _START_TAKES
    )
    database = session.open_database(config)
    found = database.read(partial(store.history, asked=asked))
    if as_json:
        render.echo_json(found)
        return
    if found.entries:
        render.table(_HEADINGS, map(_cells, found.entries), indent="")
    else:
        render.line(f"nothing happened between {render.instant(found.since)} and {render.instant(found.until)}")
        suggestions.suggest_type(job_types, database.read(suggestions.types_of))
    if found.next_since is not None:
        # To the microsecond, because to the second it would show some of these again.
        render.line(f"there is more; it goes on with --since {iso_instant(found.next_since)}{_until(found)}")


def _until(found: History) -> str:
    return f" --until {iso_instant(found.until)}"


def _cells(entry: Entry) -> tuple[object, ...]:
    run = entry.run_id if entry.count == 1 else f"{entry.count} runs"
    what = entry.what if entry.kind != "event" else entry.what.replace("_", " ")
    return entry.at, what, run, entry.job_type or "-", _detail(entry) or "-"


def _detail(entry: Entry) -> str:
    if entry.kind == "slot":
        return f"of {entry.schedule}, its run is {entry.detail['run']}"
    parts = [f"of {entry.schedule}"] if entry.schedule else []
    if entry.kind == "attempt":
        parts += [f"attempt {entry.attempt}"] if entry.attempt and entry.attempt > 1 else []
        parts += [f"on {entry.who}"] if entry.who else []
        if entry.seconds is not None:
            ran = format_duration(timedelta(seconds=entry.seconds))
            parts.append(f"took {ran}" if entry.count == 1 else f"the slowest took {ran}")
    elif entry.who != "tick":
        parts.append(f"by {entry.who}" if entry.kind == "event" else f"{entry.who}")
    if entry.kind == "event":
        parts += _words(entry.detail)
    words = ", ".join(parts)
    return ": ".join(filter(None, (words, entry.error)))


def _words(detail: object) -> list[str]:
    if not isinstance(detail, dict):
        return [] if detail is None else [str(detail)]
    return [f"{name} {render.text_of(value)}" for name, value in sorted(detail.items()) if value is not None]
