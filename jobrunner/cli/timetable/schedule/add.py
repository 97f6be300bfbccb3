"""schedule add: a new schedule."""

from __future__ import annotations

from typing import Any

import click

from jobrunner.cli import environment, options, render, schedule_options, session, suggestions
from jobrunner.errors import JobrunnerError, UsageError
from jobrunner.schedules.declare import Schedule, declare
from jobrunner.store.changes import edits
from jobrunner.text import visible


@click.command()
@click.argument("name")
@click.option(
    "--type",
    "job_type",
    required=True,
    metavar="TYPE",
    shell_complete=suggestions.job_types,
    help="The job type to run.",
)
@schedule_options.when
@click.option("--timezone", default="UTC", metavar="ZONE", help="An IANA time zone. [default: UTC]")
@click.option(
    "--payload", default="{}", metavar=schedule_options.PAYLOAD, help="The payload of each run. [default: {}]"
)
@schedule_options.policy_options
@schedule_options.ALLOW_UNKNOWN
@click.option("--paused", is_flag=True, help="Add it paused: it makes no runs until it is resumed.")
@options.REASON
def add(
    name: str,
    job_type: str,
    schedule: str | None,
    timezone: str,
    payload: str,
    description: str | None,
    allow_unknown: bool,
    paused: bool,
    **policy: Any,
) -> None:
    """Add a schedule: from now on, each time it fires (a slot) makes one run of the job type.

    Example: jobrunner schedule add nightly --type send_report --cron '30 2 * * *'
    """
    if schedule is None:
        raise UsageError("say when it fires: --schedule 'every 10m', or --cron '30 2 * * *'")
    config = environment.load()
    given = {
        "payload": schedule_options.payload_of(config, payload),
        **schedule_options.given_of({"description": description, **policy}),
    }
    new = declare(
        Schedule(schedule, timezone, name=name, **given), job_type, "command", payload_limit=config.payload_limit
    )
    if not allow_unknown:
        session.policy_of(config, job_type, schedule_options.UNKNOWN, new.payload)
    database = session.open_database(config, creates=True)
    who = session.actor()
    added = database.write(lambda each: edits.add(each, new, schedule_options.plan(config), who, paused=paused))
    if added is None:
        raise JobrunnerError(f"there is a schedule named {name!r} already; change it with: jobrunner schedule edit")
    render.done(f"schedule {visible(name)}: {'paused' if paused else schedule_options.next_of(added)}")
