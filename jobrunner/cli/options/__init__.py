"""Options that every command takes, before or after its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from jobrunner.cli import environment
from jobrunner.errors import UsageError
from jobrunner.settings.config import SETTINGS
from jobrunner.text import one_line

_ENV_FILE = f"{__name__}.env_file"
_CONFIG = f"{__name__}.config"
_UTC = f"{__name__}.utc"
_REASON = f"{__name__}.reason"
_Command = TypeVar("_Command", bound=Callable[..., Any])


def of_settings(command: _Command) -> _Command:
    """Give a command the options of settings, which go before the variables."""
    for name, row in reversed(list(SETTINGS.items())):
        if row.metavar:
            help_ = f"{row.words} [default: {row.default}]"
            command = click.option(f"--{name.replace('_', '-')}", metavar=row.metavar, help=help_)(command)
    return command


def _apply_env_file(context: click.Context, _: click.Parameter, given: str | None) -> None:
    if given is not None:
        context.meta[_ENV_FILE] = given
    if not isinstance(context.command, click.Group):  # the group's command may name another file
        context.meta[_ENV_FILE] = environment.add_env_file(context.meta.get(_ENV_FILE))


def env_file(context: click.Context) -> str | None:
    """The env file of this command, from its option or from the environment."""
    found: str | None = context.meta.get(_ENV_FILE)
    return found


ENV_FILE = click.Option(
    ["--env-file"],
    type=click.Path(),
    # Before all other options, because their defaults may be in the file.
    is_eager=True,
    expose_value=False,
    callback=_apply_env_file,
    help="Read environment variables from the KEY=VALUE lines of this file. [env: JOBRUNNER_ENV_FILE]",
)


def _apply_config(context: click.Context, _: click.Parameter, given: str | None) -> None:
    if given is not None:
        context.meta[_CONFIG] = given
    if not isinstance(context.command, click.Group) and _CONFIG in context.meta:
        environment.name_config(context.meta[_CONFIG])


CONFIG = click.Option(
    ["--config"],
    type=click.Path(),
    expose_value=False,
    callback=_apply_config,
    help="Read the configuration from this file. [env: JOBRUNNER_CONFIG; default: jobrunner.toml in JOBRUNNER_APP_DIR]",
)


def files_of(context: click.Context) -> list[str]:
    """The options that name the files of this command, for another command."""
    named = {"--env-file": context.meta.get(_ENV_FILE), "--config": context.meta.get(_CONFIG)}
    return [f"{name}={path}" for name, path in named.items() if path is not None]


def _apply_utc(context: click.Context, _: click.Parameter, given: bool) -> None:
    context.meta[_UTC] = given or context.meta.get(_UTC, False)


def is_utc() -> bool:
    """Whether the user asked for all times in UTC."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_UTC))


UTC = click.Option(
    ["--utc"],
    is_flag=True,
    expose_value=False,
    callback=_apply_utc,
    help="Show times in UTC on a terminal, too, and not in its time zone.",
)

ALL = (ENV_FILE, CONFIG, UTC)


def _note_reason(context: click.Context, _: click.Parameter, given: str | None) -> None:
    if given is not None:
        context.meta[_REASON] = one_line(given)
        if not context.meta[_REASON]:
            raise UsageError("--reason is empty; give the reason, which the audit trail keeps")


def reason() -> str | None:
    """The reason that the user who runs this command gave."""
    found: str | None = click.get_current_context().meta.get(_REASON)
    return found


def _reason(*, required: bool = False) -> Callable[[_Command], _Command]:
    return click.option(
        "--reason",
        metavar="TEXT",
        required=required,
        expose_value=False,
        callback=_note_reason,
        help="Why; the audit trail keeps it, with your name.",
    )


REASON = _reason()
"""The option of every command that changes something. ``session.actor`` knows what was given."""
NEEDED_REASON = _reason(required=True)
