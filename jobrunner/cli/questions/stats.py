"""stats: how the runs of each type fared."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

import click

from jobrunner.admin.stats import Durations, Stats, TypeStats
from jobrunner.admin.stats import stats as stats_of
from jobrunner.cli import environment, render, session, suggestions
from jobrunner.cli.answers import answers
from jobrunner.cli.options.shared import of_time
from jobrunner.cli.options.types import of_types
from jobrunner.durations import format_duration
from jobrunner.errors import UsageError
from jobrunner.renamed import RENAMED
from jobrunner.store.questions.selection import stored_text
from jobrunner.store.queue.set_limits import listed
from jobrunner.text import mebibytes

HEADINGS = (
    "TYPE", "SUCCEEDED", "DEAD", "CANCELLED", "RATE", "TRIES",
    "WAIT P50", "WAIT P95", "WAIT MAX", "RUN P50", "RUN P95", "RUN MAX",
)  # fmt: skip
COSTS = ("TYPE", "PROCESSOR", "P50", "P95", "MAX", "MEMORY P50", "MEMORY P95", "MEMORY MAX")


@click.command(context_settings={"allow_extra_args": True})
@of_types("Only of this job type", stored_text)
@of_time("--since", "Not earlier than this: ISO 8601 with an offset, or 7d for seven days ago.", default="24h")
@answers(Stats)
def stats(job_types: tuple[str, ...], since: datetime | timedelta, as_json: bool) -> None:
    """Show statistics for each job type: how many runs ended, and how long they waited and ran.

    The numbers are sums of whole hours, so a long history does not make them slow, and they include runs that were
    deleted since. A period of more than a week begins at midnight UTC. P50 and P95 are right within a factor of two. A
    second table has the processor time, summed and of one attempt, and the peak memory. Above are the limits that
    `jobrunner limit` has set. On a terminal, bars show how many runs ended.

    Example: jobrunner stats --type send_report --since 7d
    """
    if others := click.get_current_context().args:
        raise UsageError(f"{others[0][:60]!r} of 'stats' is now: {RENAMED['argument']['stats']}")
    database = session.open_database(environment.load())
    if as_json:
        render.echo_json(database.read(partial(stats_of, since=since, only=job_types)))
        return
    found, limited = database.read(lambda connection: (stats_of(connection, since, job_types), listed(connection)))
    render.line(f"since {render.instant(found.since)}")
    for each in limited:
        if not job_types or each.job_type in job_types:
            render.line(f"{each.job_type} is limited to {each.limits}, set by {each.actor}: jobrunner limits")
    if found.types:
        render.table(HEADINGS, [_cells(each) for each in found.types])
        if costs := [_costs(each) for each in found.types if each.processor_total_seconds is not None]:
            render.line("what their attempts cost, as far as it is known")
            render.table(COSTS, costs)
        render.bars(list(found.types[0].ended), [(each.job_type, list(each.ended.values())) for each in found.types])
    else:
        render.line("nothing ended")
        suggestions.suggest_type(job_types, database.read(suggestions.types_of))


def _cells(of_type: TypeStats) -> tuple[object, ...]:
    rate = "-" if of_type.success_rate is None else f"{of_type.success_rate:.1%}"
    tries = sum(of_type.attempts.values())
    return (of_type.job_type, *of_type.ended.values(), rate, tries, *_times(of_type.waits), *_times(of_type.run_times))


def _costs(of_type: TypeStats) -> tuple[str, ...]:
    memory = of_type.peak_memory
    known = (memory.p50_bytes, memory.p95_bytes, memory.largest_bytes)
    sizes = ("-" if each is None else mebibytes(each) for each in known)
    return (of_type.job_type, _seconds(of_type.processor_total_seconds), *_times(of_type.processor_times), *sizes)


def _times(durations: Durations) -> tuple[str, ...]:
    return tuple(map(_seconds, (durations.p50, durations.p95, durations.longest)))


def _seconds(seconds: float | None) -> str:
    return "-" if seconds is None else format_duration(timedelta(seconds=seconds))
