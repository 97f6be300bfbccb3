"""schedule add, list, remove."""

from __future__ import annotations

import click

from jobrunner import scheduling
from jobrunner.cli import environment, render, session
from jobrunner.cli.status import schedule_row
from jobrunner.cli.types import read_payload
from jobrunner.errors import JobrunnerError, NotFoundError, UsageError
from jobrunner.names import check_job_type
from jobrunner.payload import parse_payload
from jobrunner.recurrence import Recurrence
from jobrunner.store import queries
from jobrunner.store import schedules as store
from jobrunner.text import storable, visible


@click.group()
def schedule() -> None:
    """Runs that come by themselves."""


@schedule.command()
@click.argument("name")
@click.option("--type", "job_type", required=True, metavar="T", help="The job type to run.")
@click.option("--cron", required=True, metavar="EXPR", help="Five fields as in crontab, or @daily and the like.")
@click.option("--timezone", default="UTC", metavar="ZONE", help="An IANA name. [default: UTC]")
@click.option("--payload", default="{}", metavar="JSON|@FILE|-", help="For each run. [default: {}]")
def add(name: str, job_type: str, cron: str, timezone: str, payload: str) -> None:
    """Run a job type at every slot of a cron expression, once each, from now on."""
    config = environment.load()
    recurrence = Recurrence.parse(cron, timezone)
    new = {
        "name": _check_name(name),
        "job_type": check_job_type(job_type),
        "payload": parse_payload(read_payload(payload, config.payload_limit), config.payload_limit),
        "schedule": recurrence.expression,
        "timezone": recurrence.timezone,
        "source": "command",
    }
    database = session.open_database(config)
    who = session.actor()
    created = database.write(lambda connection: store.add(connection, new, scheduling.plan, who))
    if created is None:
        raise JobrunnerError(f"there is a schedule named {name!r} already; remove it first")
    row = next(each for each in database.read(queries.schedules) if each["name"] == name)
    render.done(f"schedule {visible(name)}: next slot {render.instant(row['next_run_at'])}")


def _check_name(name: str) -> str:
    # What cannot be seen or typed can be neither told apart in a list nor given to `remove`.
    if not name.strip() or len(name) > 200 or visible(name) != name:
        raise UsageError("the name of a schedule has 1 to 200 characters, none of them invisible")
    return name


@schedule.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="A JSON array.")
def list_(as_json: bool) -> None:
    """The schedules with their next slot."""
    found = session.open_database(environment.load()).read(queries.schedules)
    if as_json:
        render.echo_json(found)
    elif found:
        headings = ("NAME", "TYPE", "SCHEDULE", "TIME ZONE", "NEXT SLOT", "PROBLEM")
        render.table(headings, [schedule_row(row) for row in found], indent="")
    else:
        click.echo("no schedules")


@schedule.command()
@click.argument("name")
def remove(name: str) -> None:
    """End a schedule. Its runs and its history stay."""
    who = session.actor()
    database = session.open_database(environment.load())
    # A name that is not UTF-8 is nobody's, and no database could be asked for it.
    is_askable = storable(name) == name
    if not is_askable or not database.write(lambda connection: store.remove(connection, name, who)):
        raise NotFoundError(f"there is no schedule named {name[:60]!r}")
    render.done(f"schedule {visible(name)}: removed")


COMMANDS = (schedule,)
