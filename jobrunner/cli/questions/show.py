"""show: one run, with its attempts and events."""

from __future__ import annotations

from collections.abc import Collection

import click

from jobrunner.admin.own_ticks import add_own_ticks
from jobrunner.cli import environment, render, session
from jobrunner.cli.parameters import Checked, job_id
from jobrunner.errors import NotFoundError
from jobrunner.jobs.trace_context import trace_id
from jobrunner.lifecycle import Status
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions.explain.explanation import Explanation
from jobrunner.store.questions.explain.runs import explain_run
from jobrunner.store.questions.runs import queries


@click.command()
@click.argument("run_id", metavar="JOB_ID", type=Checked(job_id))
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON object with all columns, attempt_log and event_log."
)
def show(run_id: int, as_json: bool) -> None:
    """Show one run: its columns, each attempt with its error and output, and who changed it.

    Example: jobrunner show 17
    """
    config = environment.load()
    database = session.open_database(config)

    def work(connection: Connection) -> tuple[queries.Run | None, Explanation | None]:
        shown = queries.show(connection, run_id)
        return shown, explain_run(connection, run_id, tick_age=config.health.tick_age)

    found, explanation = database.read(work)
    if found is None or explanation is None:
        raise NotFoundError(f"there is no run {run_id}")
    trace = trace_id(found.traceparent)
    explanation = add_own_ticks(explanation, config, database.location.label)
    if as_json:
        render.echo_json({**vars(found), "trace_id": trace, "explanation": explanation.brief()})
        return
    hidden = ("lease_token", "turn_at", "gate", "has_dependants", "output", "attempt_log", "event_log", "traceparent")
    # What has succeeded needs no explanation.
    why = {} if found.status == Status.SUCCEEDED else {"explanation": explanation.sentence}
    traced = {} if trace is None else {"trace_id": trace}
    render.fields({**why, **_filled(found, hidden), **traced})
    for attempt in found.attempt_log:
        click.echo(f"\nattempt {attempt.sequence}")
        render.fields(_filled(attempt, ("sequence", "error_class", "traceback", "output")), indent="  ")
        for name, text in (("traceback", attempt.traceback), ("output", attempt.output)):
            if text:
                _echo_block(name, text)
    if found.output:
        click.echo("\nrunning")
        _echo_block("output", found.output)
    if found.event_log:
        click.echo("\nevents")
        for event in found.event_log:
            render.fields(vars(event), indent="  ")


def _filled(record: object, hidden: Collection[str]) -> dict[str, object]:
    """The fields of a record that have a value, without the hidden ones."""
    return {name: value for name, value in vars(record).items() if value is not None and name not in hidden}


def _echo_block(name: str, text: str) -> None:
    click.echo(f"  {name}")
    render.block(text, indent="    ")
