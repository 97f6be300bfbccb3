"""schedule edit: change the options of a schedule."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from jobrunner.cli import environment, options, render, schedule_options, session, suggestions
from jobrunner.errors import UsageError
from jobrunner.model import Declaration
from jobrunner.names import check_job_type
from jobrunner.schedules.declare import check
from jobrunner.schedules.policy import make_slot_policy
from jobrunner.store.changes import edits
from jobrunner.store.questions import definitions
from jobrunner.text import visible

_FIELDS = {each: each for each in ("job_type", "timezone", "payload", "description")}
_FIELDS |= {"schedule": "schedule", "new_name": "name"}


@click.command()
@click.argument("name", shell_complete=suggestions.schedules)
@click.option("--name", "new_name", metavar="NEW", help="Rename the schedule; its runs and its history stay.")
@click.option("--type", "job_type", metavar="TYPE", shell_complete=suggestions.job_types, help="The job type to run.")
@schedule_options.when
@click.option("--timezone", metavar="ZONE", help="An IANA time zone.")
@click.option("--payload", metavar=schedule_options.PAYLOAD, help="The payload of each run.")
@schedule_options.policy_options
@schedule_options.ALLOW_UNKNOWN
@options.REASON
def edit(name: str, allow_unknown: bool, **options: Any) -> None:
    """Change the options that are given and keep the others; the word none clears an option.

    Slots that are already due still get their runs from the old declaration. The new declaration applies from now on,
    so that no slot fires twice. Waiting runs stay unchanged.

    Example: jobrunner schedule edit nightly --cron '0 3 * * *'
    """
    config = environment.load()
    given = schedule_options.given_of(options)
    if not given:
        raise UsageError("nothing to change; name what to change, such as --schedule or --payload")
    if "payload" in given:
        given["payload"] = schedule_options.payload_of(config, given["payload"])
    database = session.open_database(config)
    if not allow_unknown and {"job_type", "payload"} & given.keys():
        # Before the row is locked: starting a child that knows the handlers can take seconds.
        old, _, _ = database.read(lambda each: definitions.current(each, name))
        job_type, its_payload = given.get("job_type", old.job_type), given.get("payload", old.payload)
        session.policy_of(config, check_job_type(job_type), schedule_options.UNKNOWN, its_payload)
    who = session.actor()
    change = partial(_declare, given=given, payload_limit=config.payload_limit)
    edited = database.write(lambda each: edits.edit(each, name, change, schedule_options.plan(config), who))
    if not edited.fields:
        render.done(f"schedule {visible(name)}: not changed")
    else:
        render.done(
            f"schedule {visible(edited.name)}: {', '.join(edited.fields)} changed; {schedule_options.next_of(edited)}"
        )


def _declare(old: Declaration, given: dict[str, Any], payload_limit: int) -> Declaration:
    edits.check_made_by_command(old)
    rest = dict(given)
    new = old._replace(**{field: rest.pop(option) for option, field in _FIELDS.items() if option in rest})
    if rest:
        new = new._replace(policy=make_slot_policy(**{**old.policy._asdict(), **rest}))
    return new._replace(schedule=check(new, payload_limit).expression)
