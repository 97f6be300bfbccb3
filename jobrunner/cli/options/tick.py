"""The options of a tick, for each command that starts ticks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from jobrunner.cli import options
from jobrunner.cli.options.types import of_types
from jobrunner.names import check_job_type

_Command = TypeVar("_Command", bound=Callable[..., Any])


def of_tick(command: _Command) -> _Command:
    """Give a command the options of a tick."""
    for option in reversed(
        (
            options.of_settings,
            click.option(
                "--strict/--no-strict",
                default=None,
                help="Commit each result before the same child starts another run.",
            ),
            click.option(
                "--linger",
                metavar="[DURATION]",
                is_flag=False,
                flag_value="2m",
                help="Keep listening for new runs until the next tick takes over."
                " [at most DURATION; --linger alone: 2m]",
            ),
            of_types("Work on this job type only", check_job_type, "types"),
            click.option(
                "--log",
                type=click.Path(path_type=Path, dir_okay=False),
                metavar="FILE",
                help="Append the log to this file, as JSON lines.",
            ),
            click.option("-v", "--verbose", is_flag=True, help="Log to stderr, also without a terminal."),
        )
    ):
        command = option(command)
    return command


def words_of(context: click.Context, given: set[str]) -> list[str]:
    """The options that the command line of this command has, of those with the names ``given``, to be passed on."""
    words: list[str] = []
    for option in context.command.params:
        if option.name not in given or not isinstance(option, click.Option):
            continue
        if context.get_parameter_source(option.name) is not click.core.ParameterSource.COMMANDLINE:
            continue
        name, value = max(option.opts, key=len), context.params[option.name]
        if option.is_flag:
            words.append(name if value else option.secondary_opts[0])
        else:
            words += [f"{name}={each}" for each in (value if option.multiple else [value])]
    return words
