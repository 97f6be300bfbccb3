"""runs, errors: a list of runs, newest first, and the errors of those that failed, grouped."""

from __future__ import annotations

from functools import partial

import click

from jobrunner.cli import environment, known, render, session, streams
from jobrunner.cli.parameters import Checked, job_id
from jobrunner.cli.selecting import selection_options, some_selection_options
from jobrunner.errors import UsageError
from jobrunner.store.questions import error_groups
from jobrunner.store.questions.error_groups import ErrorGroup
from jobrunner.store.questions.runs import listing
from jobrunner.store.questions.runs.listing import Page, SelectedRun
from jobrunner.store.questions.selection import Selection
from jobrunner.text import whole_number

_HEADINGS = ("ID", "TYPE", "STATUS", "TIME", "ATTEMPTS", "ERROR")


@click.command()
@selection_options
@click.option(
    "--limit",
    type=Checked(partial(whole_number, least=1, most=10_000)),
    default=50,
    metavar="N",
    help="How many runs. [default: 50]",
)
@click.option(
    "--before",
    type=Checked(job_id),
    metavar="JOB_ID",
    help="Only runs with lower ids: the next page, as the last said.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object: the runs, and what continues the list.")
@click.option("--jsonl", "as_lines", is_flag=True, help="Print one JSON object per line for each run.")
def runs(selection: Selection, limit: int, before: int | None, as_json: bool, as_lines: bool) -> None:
    """List runs, the newest first.

    TIME is when the run ended; while it is running, when its attempt started; and while it waits, when it is due. A
    search that takes longer than two seconds stops, says how far back it has looked, and can be continued.

    Example: jobrunner runs --status dead --type send_report --since 2h
    """
    if as_json and as_lines:
        raise UsageError("--json and --jsonl exclude each other; --jsonl prints a line for each run")
    database = session.open_database(environment.load())
    found = database.read(partial(listing.page, selection=selection, limit=limit, before=before))
    if as_json:
        render.echo_json(found)
        return
    if as_lines:
        for run in found.runs:
            click.echo(render.json_line(run))
        if (more := _more(found)) is not None:
            # Standard output has only runs, for the program that reads it.
            streams.to_stderr(f"jobrunner: {more}")
        return
    if found.runs:
        render.table(_HEADINGS, map(_cells, found.runs), indent="")
    if (more := _more(found)) is not None:
        click.echo(more)
    elif not found.runs:
        click.echo("no runs")
        known.suggest_type(selection.job_types, database.read(known.types_of))


def _cells(run: SelectedRun) -> tuple[object, ...]:
    tries = f"{run.attempts} of {run.max_attempts}" if run.max_attempts is not None else run.attempts
    error = None if run.last_error is None else f"{run.error_type}: {run.last_error}"
    return run.id, run.job_type, run.status, run.at, tries, error


_COUNTED = ("RUNS", "DEAD", "TYPE", "FIRST", "LAST", "SAMPLE", "ERROR")


@click.command()
@some_selection_options("job_types", "schedule", "since", "until", "error")
@click.option(
    "--limit",
    type=Checked(partial(whole_number, least=1, most=10_000)),
    default=30,
    metavar="N",
    help="How many groups. [default: 30]",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object with all groups.")
def errors(selection: Selection, limit: int, as_json: bool) -> None:
    """Show the errors of dead and failing runs, grouped by type and text, the most frequent first.

    A run counts with its last error. If more than three texts of a type differ only in numbers and ids, they are one
    group, with # for each number. SAMPLE is the newest run of its group: `jobrunner show` says more.

    Example: jobrunner errors --since 2h --type send_report
    """
    database = session.open_database(environment.load())
    found = database.read(partial(error_groups.errors, selection=selection))
    if as_json:
        render.echo_json(found)
        return
    if found.groups:
        render.table(_COUNTED, map(_counted, found.groups[:limit]), indent="")
    if rest := found.groups[limit:]:
        click.echo(f"and {len(rest)} more, of {sum(each.count for each in rest)} runs: --limit {len(found.groups)}")
    if found.searched_back_to is not None:
        back_to = render.instant(found.searched_back_to)
        click.echo(f"searched back to {back_to}; there may be more: --type and --since make it a shorter search")
    elif not found.groups:
        click.echo("no errors")
        known.suggest_type(selection.job_types, database.read(known.types_of))


def _counted(group: ErrorGroup) -> tuple[object, ...]:
    error = group.error if group.error_type is None else f"{group.error_type}: {group.error}"
    return group.count, group.dead, group.job_type, group.first_at, group.last_at, group.sample_id, error


def _more(found: Page) -> str | None:
    """What there is to say about older runs. None: there are no more."""
    if found.searched_back_to is not None:
        back_to = render.instant(found.searched_back_to)
        return f"searched back to {back_to}; --before {found.next_before} continues"
    return None if found.next_before is None else f"more: --before {found.next_before}"


COMMANDS = (runs, errors)
