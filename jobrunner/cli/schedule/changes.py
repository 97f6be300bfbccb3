"""schedule add, edit, remove, pause, resume."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import click

from jobrunner.cli import environment, known, options, render, session
from jobrunner.cli.parameters import Checked, read_payload
from jobrunner.cli.status import next_slot
from jobrunner.errors import JobrunnerError, UsageError
from jobrunner.jobs.payload import parse_payload
from jobrunner.model import Declaration
from jobrunner.names import check_job_type
from jobrunner.schedules.declare import Schedule, check, declare
from jobrunner.schedules.intervals import is_interval
from jobrunner.schedules.options import OPTIONS, Option
from jobrunner.schedules.policy import make_slot_policy
from jobrunner.settings.config import Config
from jobrunner.store.changes import edits, pausing
from jobrunner.store.changes.due_slots import Changed
from jobrunner.store.questions import definitions
from jobrunner.store.timetable.schedules import Plan
from jobrunner.text import visible, whole_number
from jobrunner.worker import expansion

_Command = TypeVar("_Command", bound=Callable[..., Any])
_PAYLOAD = "JSON|@FILE|-"
_FIELDS = {each: each for each in ("job_type", "timezone", "payload", "description")}
_FIELDS |= {"schedule": "schedule", "new_name": "name"}
_CLEARABLE = {"description", *(name for name, option in OPTIONS.items() if option.can_be_none)}


_METAVARS = {"number": "N", "duration": "DURATION", "instant": "TIME"}


def _type_of(option: Option) -> click.ParamType[Any] | None:
    if option.kind == "number":
        return Checked(partial(_number, most=option.most, can_be_none=option.can_be_none))
    return click.Choice(list(option.meanings)) if option.meanings else None


def _number(text: str, most: int, can_be_none: bool) -> int | str:
    return text if can_be_none and text == "none" else whole_number(text, least=1, most=most)


_UNKNOWN = "--allow-unknown accepts it anyway"
_allow_unknown = click.option(
    "--allow-unknown", is_flag=True, help="Accept a job type or a payload that only other hosts can handle."
)


def _policy_options(command: _Command) -> _Command:
    for option in reversed(list(OPTIONS.values())):
        flag, metavar = f"--{option.name.replace('_', '-')}", _METAVARS.get(option.kind)
        command = click.option(flag, type=_type_of(option), metavar=metavar, help=option.help)(command)
    return click.option("--description", metavar="TEXT", help="What the schedule is for.")(command)


def _cron(context: click.Context, _: click.Parameter, given: str | None) -> None:
    """The expression of ``--cron`` becomes that of ``--schedule``."""
    if given is None:
        return
    if is_interval(given):
        raise UsageError(f"--cron is for the expressions of a crontab; write --schedule {given[:60]!r}")
    if context.params.get("schedule") is not None:
        raise UsageError("--schedule and --cron are two ways to say when it fires; give one of them")
    context.params["schedule"] = given


def _when(command: _Command) -> _Command:
    for option in (
        click.option(
            "--cron",
            metavar="EXPR",
            expose_value=False,
            callback=_cron,
            help="When it fires, as in a crontab: five fields, or a word such as @daily.",
        ),
        # Before --cron, which looks at it.
        click.option(
            "--schedule",
            metavar="EXPR",
            is_eager=True,
            help='When it fires: "every 10m", or what --cron takes.',
        ),
    ):
        command = option(command)
    return command


@click.command()
@click.argument("name")
@click.option(
    "--type", "job_type", required=True, metavar="TYPE", shell_complete=known.job_types, help="The job type to run."
)
@_when
@click.option("--timezone", default="UTC", metavar="ZONE", help="An IANA time zone. [default: UTC]")
@click.option("--payload", default="{}", metavar=_PAYLOAD, help="The payload of each run. [default: {}]")
@_policy_options
@_allow_unknown
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
    """Add a schedule: from now on each of its slots yields one run of the job type.

    Example: jobrunner schedule add nightly --type send_report --cron '30 2 * * *'
    """
    if schedule is None:
        raise UsageError("say when it fires: --schedule 'every 10m', or --cron '30 2 * * *'")
    config = environment.load()
    given = {"payload": _payload(config, payload), **_given({"description": description, **policy})}
    new = declare(
        Schedule(schedule, timezone, name=name, **given), job_type, "command", payload_limit=config.payload_limit
    )
    if not allow_unknown:
        session.policy_of(config, job_type, _UNKNOWN, new.payload)
    database = session.open_database(config, creates=True)
    who = session.actor()
    added = database.write(lambda each: edits.add(each, new, _plan(config), who, paused=paused))
    if added is None:
        raise JobrunnerError(f"there is a schedule named {name!r} already; change it with: jobrunner schedule edit")
    render.done(f"schedule {visible(name)}: {'paused' if paused else _next(added)}")


@click.command()
@click.argument("name", shell_complete=known.schedules)
@click.option("--name", "new_name", metavar="NEW", help="Rename the schedule; its runs and its history stay.")
@click.option("--type", "job_type", metavar="TYPE", shell_complete=known.job_types, help="The job type to run.")
@_when
@click.option("--timezone", metavar="ZONE", help="An IANA time zone.")
@click.option("--payload", metavar=_PAYLOAD, help="The payload of each run.")
@_policy_options
@_allow_unknown
@options.REASON
def edit(name: str, allow_unknown: bool, **options: Any) -> None:
    """Change the options that are given and keep the others; the word none clears an option.

    Slots that are already due still get their runs from the old declaration. The new declaration holds from now on, so
    that no slot fires twice. Waiting runs stay unchanged.

    Example: jobrunner schedule edit nightly --cron '0 3 * * *'
    """
    config = environment.load()
    given = _given(options)
    if not given:
        raise UsageError("nothing to change; name what to change, such as --schedule or --payload")
    if "payload" in given:
        given["payload"] = _payload(config, given["payload"])
    database = session.open_database(config)
    if not allow_unknown and {"job_type", "payload"} & given.keys():
        # Before the row is locked: starting a child that knows the handlers can take seconds.
        old, _, _ = database.read(lambda each: definitions.current(each, name))
        job_type, its_payload = given.get("job_type", old.job_type), given.get("payload", old.payload)
        session.policy_of(config, check_job_type(job_type), _UNKNOWN, its_payload)
    who = session.actor()
    change = partial(_declare, given=given, payload_limit=config.payload_limit)
    edited = database.write(lambda each: edits.edit(each, name, change, _plan(config), who))
    if not edited.fields:
        render.done(f"schedule {visible(name)}: not changed")
    else:
        render.done(f"schedule {visible(edited.name)}: {', '.join(edited.fields)} changed; {_next(edited)}")


def _declare(old: Declaration, given: dict[str, Any], payload_limit: int) -> Declaration:
    edits.check_made_by_command(old)
    rest = dict(given)
    new = old._replace(**{field: rest.pop(option) for option, field in _FIELDS.items() if option in rest})
    if rest:
        new = new._replace(policy=make_slot_policy(**{**old.policy._asdict(), **rest}))
    return new._replace(schedule=check(new, payload_limit).expression)


def _given(options: dict[str, Any]) -> dict[str, Any]:
    """The options that were given; the word none becomes None if the option can be cleared."""
    given = {name: value for name, value in options.items() if value is not None}
    return {name: None if value == "none" and name in _CLEARABLE else value for name, value in given.items()}


def _plan(config: Config) -> Plan:
    return partial(expansion.plan, payload_limit=config.payload_limit)


def _payload(config: Config, given: str) -> dict[str, Any]:
    return parse_payload(read_payload(given, config.payload_limit), config.payload_limit)


def _next(changed: Changed) -> str:
    return f"next slot {next_slot(changed.next_run_at, changed.was_paused)}"


@click.command()
@click.argument("name", shell_complete=known.schedules)
@options.REASON
def remove(name: str) -> None:
    """Remove a schedule. Its runs and its history stay, and slots that are already due still get their runs.

    Example: jobrunner schedule remove nightly
    """
    who = session.actor()
    config = environment.load()
    session.open_database(config).write(lambda each: edits.remove(each, name, _plan(config), who))
    render.done(f"schedule {visible(name)}: removed")


_name_or_all = click.argument("name", required=False, shell_complete=known.schedules)
_all = click.option("--all", "every", is_flag=True, help="All schedules.")


def _check_one_or_all(name: str | None, every: bool) -> None:
    if (name is None) != every:
        raise UsageError("name one schedule, or use --all")


@click.command()
@_name_or_all
@_all
@options.REASON
def pause(name: str | None, every: bool) -> None:
    """Make no more runs of a schedule until it is resumed. Its waiting and running runs go on.

    `jobrunner pause` holds back the runs that are there.

    Example: jobrunner schedule pause nightly --reason "the printer is away"
    """
    _check_one_or_all(name, every)
    who = session.actor()
    database = session.open_database(environment.load())
    if name is None:
        paused = database.write(lambda each: pausing.pause_all(each, who))
        render.done("\n".join([*(f"schedule {visible(each)}: paused" for each in paused), f"paused: {len(paused)}"]))
        return
    before = database.write(lambda each: pausing.pause(each, name, who)).was_paused
    render.done(f"schedule {visible(name)}: paused{'' if before is None else f' since {render.instant(before)}'}")


@click.command()
@_name_or_all
@_all
@click.option(
    "--from",
    "begin",
    type=click.Choice(["now", "missed"]),
    help="now: no slot before now gets a run; missed: the misfire policy decides. [default: now]",
)
@options.REASON
def resume(name: str | None, every: bool, begin: str | None) -> None:
    """Make runs of a paused schedule again.

    With --from now it also repairs a schedule that makes no runs because a host's clock was ahead: its future slots are
    expanded again. `--all --from now` passes over the missed slots of every schedule, paused or not: do this after you
    restored a backup (docs/howto/restored.md).

    Example: jobrunner schedule resume nightly --from now
    """
    _check_one_or_all(name, every)
    if every and begin is None:
        raise UsageError("with --all also give --from now or --from missed")
    missed = begin == "missed"
    who = session.actor()
    config = environment.load()
    database = session.open_database(config, for_many_rows=True)
    if name is not None:
        resumed = database.write(lambda each: pausing.resume(each, name, _plan(config), who, missed=missed))
        render.done(f"schedule {visible(name)}: not paused" if resumed is None else _resumed(resumed, missed))
        return
    found = database.write(lambda each: pausing.resume_all(each, _plan(config), who, missed=missed))
    lines = [_resumed(each, missed) for each in found if each.was_paused or each.skipped.count or each.was_ahead]
    render.done("\n".join([*lines, f"active{'' if missed else ' from now'}: {len(found)}"]))


def _resumed(resumed: Changed, missed: bool) -> str:
    count, state = resumed.skipped.count, "resumed" if resumed.was_paused else "not paused"
    if missed and count:
        return f"schedule {visible(resumed.name)}: {state}; the next tick decides on {_slots(count)}"
    passed = f"; {_slots(count)} passed over" if count else ""
    if resumed.was_ahead is not None:
        state += f"; slots up to {render.instant(resumed.was_ahead)} are expanded again, because a clock was ahead"
    return f"schedule {visible(resumed.name)}: {state}; {_next(replace(resumed, was_paused=None))}{passed}"


def _slots(count: int) -> str:
    return "1 slot" if count == 1 else f"{count} slots"


COMMANDS = (add, edit, remove, pause, resume)
