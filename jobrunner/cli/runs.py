"""enqueue, show: one run."""

from __future__ import annotations

import os
from collections.abc import Collection
from functools import partial
from typing import Any, get_args

import click

from jobrunner.admin.own_ticks import add_own_ticks
from jobrunner.application.enqueueing import new_run
from jobrunner.cli import environment, known, render, session, streams
from jobrunner.cli.parameters import PRIORITY, Checked, job_id, parse_run_at, read_payload, timeout_of_a_run
from jobrunner.errors import NotFoundError
from jobrunner.jobs.options import choice
from jobrunner.jobs.payload import parse_payload
from jobrunner.jobs.trace_context import trace_id
from jobrunner.lifecycle import Status
from jobrunner.model import OnFailure, Taken
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions.explain.explanation import Explanation
from jobrunner.store.questions.explain.runs import explain_run
from jobrunner.store.questions.runs import queries
from jobrunner.store.queue import dependants
from jobrunner.store.queue.enqueue import enqueue as insert_run
from jobrunner.store.queue.enqueue import make_durable
from jobrunner.store.queue.enqueue_sql import Enqueued
from jobrunner.text import whole_number

_UNKNOWN = "--allow-unknown enqueues it all the same"
_ATTEMPTS = Checked(partial(whole_number, least=1, most=1000))


@click.command()
@click.argument("job_type", metavar="TYPE", shell_complete=known.job_types)
@click.option("--payload", default="{}", metavar="JSON|@FILE|-", help="The arguments, a JSON object. [default: {}]")
@click.option(
    "--run-at",
    type=Checked(parse_run_at),
    metavar="TIME",
    help="The earliest start: ISO 8601 with an offset, or +5m from now. [default: now]",
)
@click.option(
    "--priority",
    type=PRIORITY,
    default=0,
    metavar="N",
    help="-1000 to 1000: each step counts like a minute of waiting. [default: 0]",
)
@click.option("--key", metavar="K", help="Idempotency key: one run per job type and key, for as long as the type says.")
@click.option(
    "--if-taken",
    "taken",
    type=Checked(partial(choice, "--if-taken", choices=get_args(Taken))),
    default="existing",
    metavar="existing|raise|replace",
    help="If the key is taken: print the id of the existing run, fail, or replace its payload and its time if it was"
    " never begun. [default: existing]",
)
@click.option(
    "--max-attempts", type=_ATTEMPTS, metavar="N", help="Attempts before the run is dead. [default: the job type's]"
)
@click.option(
    "--timeout",
    type=Checked(timeout_of_a_run),
    metavar="DURATION",
    help='The limit of each attempt; "none" for no limit. [default: the job type\'s]',
)
@click.option(
    "--after",
    type=Checked(job_id),
    multiple=True,
    metavar="JOB_ID",
    help="Wait until this run has ended; may be repeated.",
)
@click.option(
    "--on-failure",
    type=click.Choice(get_args(OnFailure)),
    default="cancel",
    help="What to do if a run of --after ends dead or cancelled. [default: cancel]",
)
@click.option(
    "--allow-unknown",
    is_flag=True,
    help="Accept a job type that this host has no handler for, or a payload that its handler cannot take.",
)
@click.option("--json", "as_json", is_flag=True, help='Print {"id": 1, "created": true}.')
def enqueue(
    job_type: str,
    payload: str,
    taken: Taken,
    after: tuple[int, ...],
    on_failure: OnFailure,
    allow_unknown: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Enqueue a run and print its id.

    With a --key that is taken, it prints the id of the run that has it, or does what --if-taken says. When as many runs
    of the type wait as its max_waiting allows, the exit code is 1; with when_full "drop" nothing is printed.

    Example: jobrunner enqueue greet --payload '{"name": "Ada"}' --run-at +10m
    """
    config = environment.load()
    options["idempotency_key"] = options.pop("key")
    checked_payload = parse_payload(read_payload(payload, config.payload_limit), config.payload_limit)
    options["traceparent"] = os.environ.get("TRACEPARENT")
    new = new_run(job_type, checked_payload, payload_limit=config.payload_limit, **options)
    policy = None if allow_unknown else session.policy_of(config, job_type, _UNKNOWN, checked_payload)
    database = session.open_database(config, creates=True)

    def work(connection: Connection) -> Enqueued:
        enqueued = insert_run(connection, new, policy, taken)
        if after and enqueued.created and enqueued.id is not None:
            dependants.attach(connection, enqueued.id, after, on_failure)
        make_durable(connection, [enqueued])
        return enqueued

    enqueued = database.write(work)
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
