"""errors: the errors of the runs that failed, grouped."""

from __future__ import annotations

from functools import partial

import click

from jobrunner.cli import environment, render, session, suggestions
from jobrunner.cli.answers import answers
from jobrunner.cli.options.selection import some_selection_options
from jobrunner.cli.options.shared import of_limit
from jobrunner.store.questions import error_groups
from jobrunner.store.questions.error_groups import Errors
from jobrunner.store.questions.selection import Selection


@click.command()
@some_selection_options("job_types", "schedule", "since", "until", "error")
@of_limit("How many groups.", 30)
@answers(Errors, " with all groups")
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
        render.records(found.groups[:limit], indent="")
    if rest := found.groups[limit:]:
        click.echo(f"and {len(rest)} more, of {sum(each.count for each in rest)} runs: see --limit {len(found.groups)}")
    if found.searched_back_to is not None:
        back_to = render.instant(found.searched_back_to)
        click.echo(f"searched back to {back_to}; there may be more; search less at once, with --type or --since")
    elif not found.groups:
        click.echo("no errors")
        suggestions.suggest_type(selection.job_types, database.read(suggestions.types_of))
