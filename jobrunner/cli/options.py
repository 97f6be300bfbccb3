"""Options that every command takes, before or after its name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from jobrunner.cli import environment

_ENV_FILE = f"{__name__}.env_file"
_CONFIG = f"{__name__}.config"


def add_to_all(command: click.Command, options: Sequence[click.Option]) -> None:
    """Give the options to a command and, if it is a group, to all commands below it."""
    command.params.extend(options)
    if isinstance(command, click.Group):
        for below in command.commands.values():
            add_to_all(below, options)


def _apply_env_file(context: click.Context, _: click.Parameter, given: Path | None) -> None:
    if given is not None:
        context.meta[_ENV_FILE] = given
    if not isinstance(context.command, click.Group):  # a group's command itself may name another one
        context.meta[_ENV_FILE] = environment.add_env_file(context.meta.get(_ENV_FILE))


def env_file(context: click.Context) -> Path | None:
    """The env file that this command was given, by an option or by the environment."""
    found: Path | None = context.meta.get(_ENV_FILE)
    return found


ENV_FILE = click.Option(
    ["--env-file"],
    type=click.Path(path_type=Path),
    # Before any other option is looked at: its default may be in the file.
    is_eager=True,
    expose_value=False,
    callback=_apply_env_file,
    help="Read environment variables from the KEY=VALUE lines of this file. [env: JOBRUNNER_ENV_FILE]",
)


def _apply_config(context: click.Context, _: click.Parameter, given: Path | None) -> None:
    if given is not None:
        context.meta[_CONFIG] = given
    if not isinstance(context.command, click.Group) and _CONFIG in context.meta:
        environment.name_config(context.meta[_CONFIG])


CONFIG = click.Option(
    ["--config"],
    type=click.Path(path_type=Path),
    expose_value=False,
    callback=_apply_config,
    help="Read the configuration from this file. [env: JOBRUNNER_CONFIG; default: jobrunner.toml in JOBRUNNER_APP_DIR]",
)

ALL = (ENV_FILE, CONFIG)
