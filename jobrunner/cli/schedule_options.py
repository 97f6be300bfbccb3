"""What the commands that change schedules share: their options, and what they say when it is done."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, TypeVar

import click

from jobrunner.cli import render, suggestions
from jobrunner.cli.parameters import Checked, read_payload
from jobrunner.errors import UsageError
from jobrunner.jobs.payload import parse_payload
from jobrunner.schedules.intervals import is_interval
from jobrunner.schedules.options import OPTIONS, Option
from jobrunner.settings.config import Config
from jobrunner.store.changes.due_slots import Changed
from jobrunner.store.questions import definitions
from jobrunner.store.timetable.schedules import Plan
from jobrunner.text import whole_number
from jobrunner.worker import expansion

_Command = TypeVar("_Command", bound=Callable[..., Any])
PAYLOAD = "JSON|@FILE|-"
_CLEARABLE = {"description", *(name for name, option in OPTIONS.items() if option.can_be_none)}
_METAVARS = {"number": "N", "duration": "DURATION", "instant": "TIME"}


def _type_of(option: Option) -> click.ParamType[Any] | None:
    if option.kind == "number":
        return Checked(partial(_number, most=option.most, can_be_none=option.can_be_none))
    return click.Choice(list(option.meanings)) if option.meanings else None


def _number(text: str, most: int, can_be_none: bool) -> int | str:
    return text if can_be_none and text == "none" else whole_number(text, least=1, most=most)


UNKNOWN = "--allow-unknown accepts it anyway"
ALLOW_UNKNOWN = click.option(
    "--allow-unknown", is_flag=True, help="Accept a job type or a payload that only other hosts can handle."
)


def policy_options(command: _Command) -> _Command:
    """Give a command an option for each row of the options of a schedule, and its description."""
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


def when(command: _Command) -> _Command:
    """Give a command the two options that say when a schedule fires, as one argument ``schedule``."""
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


def given_of(options: dict[str, Any]) -> dict[str, Any]:
    """The options that were given; the word none becomes None if the option can be cleared."""
    given = {name: value for name, value in options.items() if value is not None}
    return {name: None if value == "none" and name in _CLEARABLE else value for name, value in given.items()}


def plan(config: Config) -> Plan:
    """What finds the slots that are due before a schedule is changed."""
    return partial(expansion.plan, payload_limit=config.payload_limit)


def payload_of(config: Config, given: str) -> dict[str, Any]:
    """The payload that ``--payload`` names. Raises UsageError."""
    return parse_payload(read_payload(given, config.payload_limit), config.payload_limit)


def next_of(changed: Changed) -> str:
    """When the changed schedule fires next, in words."""
    if changed.is_template and changed.was_paused is None:
        return "each host that has its type has slots of its own"
    return f"next slot {render.text_of(definitions.next_slot(changed.next_run_at, changed.was_paused))}"


def one_or_all(command: _Command) -> _Command:
    """Give a command the name of a schedule, or all of them with ``--all``, in which case the name is None."""

    @wraps(command)
    def checked(name: str | None, every: bool, **given: Any) -> Any:
        if (name is None) != every:
            raise UsageError("name one schedule, or use --all")
        return command(name=name, **given)

    decorated: Any = click.option("--all", "every", is_flag=True, help="All schedules.")(checked)
    found: _Command = click.argument("name", required=False, shell_complete=suggestions.schedules)(decorated)
    return found
