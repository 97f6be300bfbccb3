"""status: everything at a glance."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import click

from jobrunner.cli import environment, following, render, session, startup
from jobrunner.cli.answers import answers
from jobrunner.durations import format_duration
from jobrunner.errors import HandlersNotAsked, HandlersUnavailable, UsageError
from jobrunner.text import picked

if TYPE_CHECKING:
    from jobrunner.admin.finding import Finding
    from jobrunner.admin.status import Status
    from jobrunner.model import Policy
    from jobrunner.store.drivers.connection import Connection
    from jobrunner.store.questions.state import State

_EVERY_SECONDS = 2.0


@click.command()
@answers("jobrunner.admin.status:Status")
@click.option("--watch", is_flag=True, help="Show it again every two seconds, in the same place, until Ctrl-C.")
def status(as_json: bool, watch: bool) -> None:
    """Show what is wrong, then what is due and running, the last tick of each host, what is failing and dead, and the
    schedules.

    What is wrong is what `jobrunner health` finds, but here the exit status is 0.

    Example: jobrunner status --watch
    """
    if watch and (as_json or not render.on_terminal()):
        raise UsageError("--watch needs a terminal; in a program call status --json repeatedly")
    config = environment.load()
    with session.asking_policies(config) as policies:
        # The child that is asked needs as long to start as all of this, and there are two processors.
        from jobrunner.admin.findings import findings
        from jobrunner.admin.status import Status
        from jobrunner.store.questions import overview

        database = session.open_database(config)
        known, problem = _known_types(policies)
    state_problem = startup.problem_of_state(config)

    of_host = {"database": database.location.label, "handlers_problem": problem, "state_problem": state_problem}

    def look(connection: Connection) -> tuple[State, list[Finding]]:
        state = overview.status(connection, known, tick_age=config.health.tick_age)
        return state, findings(connection, config, state_problem, startup.killed_here(config))

    for number, (found, wrong) in enumerate(following.looks(database, look, _EVERY_SECONDS)):
        answer = picked(Status, found, **of_host, findings=wrong)
        show = partial(_show, answer)
        if watch:
            render.redraw(show, is_first=number == 0)
            continue
        if as_json:
            render.echo_json(answer)
        else:
            show()
        break


def _show(found: Status) -> None:
    from jobrunner.admin.finding import Severity

    # The database first: it may be another one than is meant.
    render.line(f"database   {found.database}", hanging=11)
    for each in found.findings or []:
        is_wrong = each.severity is Severity.CRITICAL
        render.line(f"{each.severity.upper():10} {each}", is_wrong=is_wrong, hanging=11)
    counts = (f"{name} {count}{'+' * (name in found.runs_at_least)}" for name, count in found.runs.items())
    render.line("runs       " + "  ".join(counts), hanging=11)
    oldest = found.oldest_due_seconds
    since = "" if oldest is None else f", the oldest for {format_duration(timedelta(seconds=oldest))}"
    render.line(f"due now    {found.due}{'+' * found.due_at_least}{since}", hanging=11)
    if found.oldest_due is not None:
        render.line(f"{'':11}{found.oldest_due['sentence']}", hanging=11)
    if found.handlers_problem:
        render.line(f"handlers   {found.handlers_problem}", is_wrong=True, hanging=11)
    for title, records in found.tables():
        if records:
            click.echo(f"\n{title}")
            render.records(records, at=found.at)


def _known_types(policies: Callable[[], list[Policy]]) -> tuple[list[str] | None, str | None]:
    # The status must work with broken handlers, because then an operator needs it.
    try:
        return [policy.job_type for policy in policies()], None
    except HandlersNotAsked:
        return None, None
    except HandlersUnavailable as error:
        return None, str(error)
