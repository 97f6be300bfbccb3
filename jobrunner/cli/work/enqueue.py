"""enqueue: one run."""

from __future__ import annotations

import os
from typing import Any

import click

from jobrunner.application.enqueueing import new_run, on_own, steps_of_run
from jobrunner.cli import environment, render, session, streams, suggestions
from jobrunner.cli.answers import answers
from jobrunner.cli.options.run import run_options
from jobrunner.cli.parameters import read_payload
from jobrunner.jobs.payload import parse_payload
from jobrunner.jobs.run_options import checked
from jobrunner.store.queue.enqueue_sql import Made
from jobrunner.text import picked

_UNKNOWN = "--allow-unknown enqueues it all the same"


@click.command()
@click.argument("job_type", metavar="TYPE", shell_complete=suggestions.job_types)
@click.option("--payload", default="{}", metavar="JSON|@FILE|-", help="The arguments, a JSON object. [default: {}]")
@run_options()
@click.option(
    "--allow-unknown",
    is_flag=True,
    help="Accept a job type that this host has no handler for, or a payload that its handler cannot take.",
)
@answers(Made)
def enqueue(
    job_type: str,
    payload: str,
    allow_unknown: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Enqueue a run and print its id.

    With a --key that is taken, it prints the id of the run that has it, or does what --if-taken says. If as many runs
    of the type wait already as its max_waiting allows, the exit code is 1; with when_full "drop" nothing is printed.

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
        render.done(render.json_line(picked(Made, enqueued)))
    elif not enqueued.dropped:
        render.done(enqueued.id)
