"""explain: why a run, a schedule or a job type does not run."""

from __future__ import annotations

import click

from jobrunner.admin.own_ticks import add_own_ticks
from jobrunner.cli import environment, render, session, suggestions
from jobrunner.cli.answers import answers
from jobrunner.store.questions.explain import subjects
from jobrunner.store.questions.explain.explanation import Explanation, HostView


@click.command()
@click.argument("subject", metavar="JOB_ID|SCHEDULE|TYPE", shell_complete=suggestions.types_and_schedules)
@answers(Explanation)
def explain(subject: str, as_json: bool) -> None:
    """Explain why a run, a schedule or a job type does not run, and what you can do.

    The answer is computed now, by the conditions with which ticks select runs, for each host that had a tick in the
    last hour. A name is looked up as a schedule first, then as a job type.

    Example: `jobrunner explain 812`
    """
    config = environment.load()
    database = session.open_database(config)
    found = database.read(lambda connection: subjects.explain(connection, subject, config.health.tick_age))
    found = add_own_ticks(found, config, database.location.label)
    if as_json:
        render.echo_json(found)
        return
    render.line(found.sentence)
    for note in found.notes:
        render.line(note)
    # "at least" is said only where it holds.
    shown = {
        name.replace("_", " "): value for name, value in found.facts.items() if value is not None and value is not False
    }
    if found.forecast is not None and found.forecast.in_front:
        shown["forecast"] = found.forecast
    click.echo("\nfacts")
    render.fields(shown, indent="  ")
    if found.hosts:
        click.echo("\nhosts that ticked lately")
        render.table(("HOST", "LAST TICK", "ENDED BY", "FOR THIS TYPE"), map(_host, found.hosts))
    if found.remedy is not None:
        click.echo("\nwhat to do")
        render.line(f"  {found.remedy}", hanging=4)


def _host(view: HostView) -> tuple[object, ...]:
    return view.host, view.last_tick_at, view.ended_by or "at work, or killed", view.verdict
