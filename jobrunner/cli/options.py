"""Options that every command takes, before or after its name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click

from jobrunner.envfile import read_env_file

_ENV_FILE = "JOBRUNNER_ENV_FILE"
_CONFIG = "JOBRUNNER_CONFIG"


def add_to_all(command: click.Command, options: Sequence[click.Option]) -> None:
    """Give the options to a command and, if it is a group, to all commands below it."""
    command.params.extend(options)
    if isinstance(command, click.Group):
        for below in command.commands.values():
            add_to_all(below, options)


def _apply_env_file(context: click.Context, _: click.Parameter, given: Path | None) -> None:
    if given is not None:
        context.meta[_ENV_FILE] = given
    if isinstance(context.command, click.Group):
        return  # the command itself may name another one
    variable = os.environ.get(_ENV_FILE, "").strip()
    path = context.meta.get(_ENV_FILE) or (Path(variable) if variable else None)
    if path is not None:
        # As the bytes of the file, whatever encoding the locale has.
        os.environb.update({name.encode(): value.encode() for name, value in read_env_file(path).items()})
    # Children inherit what the file says, and must be able to say otherwise to a jobrunner that they start.
    os.environ.pop(_ENV_FILE, None)


ENV_FILE = click.Option(
    ["--env-file"],
    type=click.Path(path_type=Path),
    # Before any other option is looked at: its default may be in the file.
    is_eager=True,
    expose_value=False,
    callback=_apply_env_file,
    help="Take environment variables from its KEY=VALUE lines. [env: JOBRUNNER_ENV_FILE]",
)


def _apply_config(context: click.Context, _: click.Parameter, given: Path | None) -> None:
    if given is not None:
        context.meta[_CONFIG] = given
    if not isinstance(context.command, click.Group) and _CONFIG in context.meta:
        # After the env file, which may name another: a flag wins. Children see the same file.
        os.environ[_CONFIG] = str(context.meta[_CONFIG].absolute())


CONFIG = click.Option(
    ["--config"],
    type=click.Path(path_type=Path),
    expose_value=False,
    callback=_apply_config,
    help="The configuration file. [env: JOBRUNNER_CONFIG; default: jobrunner.toml in JOBRUNNER_APP_DIR]",
)
