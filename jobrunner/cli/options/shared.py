"""Options that mean the same in several commands: how many, since and until when, and which schedule."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import click

from jobrunner.cli import suggestions
from jobrunner.cli.parameters import Checked, instant_or_ago
from jobrunner.text import whole_number

_Command = TypeVar("_Command", bound=Callable[..., Any])
_Option = Callable[[_Command], _Command]


def of_limit(words: str, default: int | None, *short: str, most: int = 10_000) -> _Option[Any]:
    """Give a command ``--limit``. ``default`` None: without it there is none."""
    shown = "" if default is None else f" [default: {default}]"
    number = Checked(partial(whole_number, least=1, most=most))
    return click.option(*short, "--limit", type=number, default=default, metavar="N", help=f"{words}{shown}")


def of_time(
    option: str, words: str, check: Callable[[str], Any] = instant_or_ago, default: str | None = None, **more: Any
) -> _Option[Any]:
    """Give a command ``--since`` or ``--until``: an instant with its offset, or a duration back from now."""
    if default is not None:
        # Only then: for click 8.3 an option whose default is None is not missing, though it is required.
        words, more["default"] = f"{words} [default: {default}]", default
    return click.option(option, type=Checked(check), metavar="TIME", help=words, **more)


def of_schedule(words: str, check: Callable[[str], str]) -> _Option[Any]:
    """Give a command ``--schedule``, the name of one."""
    return click.option(
        "--schedule", type=Checked(check), metavar="NAME", shell_complete=suggestions.schedules, help=words
    )
