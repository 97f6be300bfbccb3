"""enqueue, show: one run."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any

import click

from jobrunner.admin.own_ticks import add_own_ticks
from jobrunner.application.enqueueing import new_run, on_own, steps_of_run
from jobrunner.cli import environment, known, render, session, streams
from jobrunner.cli.parameters import Checked, job_id, read_payload
from jobrunner.cli.run_options import run_options
from jobrunner.errors import NotFoundError
from jobrunner.jobs.payload import parse_payload
from jobrunner.jobs.run_options import checked
from jobrunner.jobs.trace_context import trace_id
from jobrunner.lifecycle import Status
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions.explain.explanation import Explanation
from jobrunner.store.questions.explain.runs import explain_run
from jobrunner.store.questions.runs import queries

_UNKNOWN = "--allow-unknown enqueues it all the same"


@click.command()
@click.argument("job_type", metavar="TYPE", shell_complete=known.job_types)
@click.option("--payload", default="{}", metavar="JSON|@FILE|-", help="The arguments, a JSON object. [default: {}]")
@run_options()
@click.option(
    "--allow-unknown",
    is_flag=True,
    help="Accept a job type that this host has no handler for, or a payload that its handler cannot take.",
)
@click.option("--json", "as_json", is_flag=True, help='Print {"id": 1, "created": true}.')
def enqueue(
    job_type: str,
    payload: str,
    allow_unknown: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Enqueue a run and print its id.

    With a --key that is taken, it prints the id of the run that has it, or does what --if-taken says. When as many runs
    of the type wait as its max_waiting allows, the exit code is 1; with when_full "drop" nothing is printed.

    Example: jobrunner enqueue greet --payload '{"name": "Ada"}' --run-at +10m
    """
    options = checked(options)
    config = environment.load()
    checked_payload = parse_payload(read_payload(payload, config.payload_limit), config.payload_limit)
    new = new_run(job_type, checked_payload, config.payload_limit, options, os.environ.get("TRACEPARENT"))
    policy = None if allow_unknown else session.policy_of(config, job_type, _UNKNOWN, checked_payload)
    database = session.open_database(config, creates=True)

    work = steps_of_run(new, policy, options)
    enqueued = database.write(lambda connection: on_own(connection, work))
    if enqueued.dropped and session.on_terminal():
        streams.to_stderr(f"jobrunner: dropped: as many runs of {job_type} wait as its max_waiting allows")
    if as_json:
        answer: dict[str, Any] = {"id": enqueued.id, "created": enqueued.created}
        if enqueued.dropped or enqueued.replaced:
            answer[enqueued.outcome] = True
        render.done(render.json_line(answer))
    elif not enqueued.dropped:
        render.done(enqueued.id)


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


COMMANDS = (enqueue, show)
