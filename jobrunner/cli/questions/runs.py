"""runs: a list of runs, newest first."""

from __future__ import annotations

from functools import partial

import click

from jobrunner.cli import environment, render, session, streams, suggestions
from jobrunner.cli.answers import answers, answers_in_lines
from jobrunner.cli.options.selection import selection_options
from jobrunner.cli.options.shared import of_limit
from jobrunner.cli.parameters import Checked, job_id
from jobrunner.errors import UsageError
from jobrunner.store.questions.runs import run_list
from jobrunner.store.questions.runs.run_list import Page, SelectedRun
from jobrunner.store.questions.selection import Selection


@click.command()
@selection_options
@of_limit("How many runs.", 50)
@click.option(
    "--before",
    type=Checked(job_id),
    metavar="JOB_ID",
    help="Only runs with lower ids: the next page, as the end of the last page says.",
)
@answers(Page, ": the runs, and what continues the list")
@answers_in_lines(SelectedRun, "Print one JSON object per line for each run.")
def runs(selection: Selection, limit: int, before: int | None, as_json: bool, as_lines: bool) -> None:
    """List runs, the newest first.

    TIME is when the run ended; while it is running, when its attempt started; and while it waits, when it is due. A
    search that takes longer than two seconds stops, says how far back it has looked, and can be continued.

    Example: jobrunner runs --status dead --type send_report --since 2h
    """
    if as_json and as_lines:
        raise UsageError("--json and --jsonl exclude each other; --jsonl prints a line for each run")
    database = session.open_database(environment.load())
    found = database.read(partial(run_list.page, selection=selection, limit=limit, before=before))
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
        render.records(found.runs, indent="")
    if (more := _more(found)) is not None:
        click.echo(more)
    elif not found.runs:
        click.echo("no runs")
        suggestions.suggest_type(selection.job_types, database.read(suggestions.types_of))


def _more(found: Page) -> str | None:
    """What there is to say about older runs. None: there are no more."""
    if found.searched_back_to is not None:
        back_to = render.instant(found.searched_back_to)
        return f"searched back to {back_to}; --before {found.next_before} continues"
    return None if found.next_before is None else f"more: --before {found.next_before}"
