"""show: one run, with its attempts and events."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

import click

from jobrunner.admin.own_ticks import add_own_ticks
from jobrunner.cli import environment, render, session
from jobrunner.cli.answers import answers
from jobrunner.cli.parameters import Checked, job_id
from jobrunner.lifecycle import Status
from jobrunner.store.questions.runs import shown_run

_HIDDEN = (
    "lease_token", "turn_at", "gate", "has_dependants", "output", "attempt_log", "event_log", "traceparent",
    "explanation",
)  # fmt: skip


@click.command()
@click.argument("run_id", metavar="JOB_ID", type=Checked(job_id))
@answers(shown_run.ShownRun, " with all columns, attempt_log and event_log")
def show(run_id: int, as_json: bool) -> None:
    """Show one run: its columns, each attempt with its error and output, and who changed it.

    Example: jobrunner show 17
    """
    config = environment.load()
    database = session.open_database(config)

    run, explanation = database.read(partial(shown_run.run, run_id=run_id, tick_age=config.health.tick_age))
    found = shown_run.of_run(run, add_own_ticks(explanation, config, database.location.label))
    if as_json:
        render.echo_json(found)
        return
    # What has succeeded needs no explanation.
    why = {} if found.status == Status.SUCCEEDED else {"explanation": found.explanation["sentence"]}
    render.fields({**why, **_filled(found, _HIDDEN)})
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
