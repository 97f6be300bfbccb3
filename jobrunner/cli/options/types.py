"""``--type``: the job types that a command is about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from jobrunner.cli import suggestions
from jobrunner.cli.parameters import Checked

_Command = TypeVar("_Command", bound=Callable[..., Any])


def of_types(words: str, check: Callable[[str], str] | None, name: str = "job_types") -> Callable[[_Command], _Command]:
    """Give a command ``--type``, as often as it is wanted. ``check`` None: the command checks each by itself."""
    return click.option(
        "--type",
        name,
        type=None if check is None else Checked(check),
        multiple=True,
        metavar="TYPE",
        shell_complete=suggestions.job_types,
        help=f"{words}; repeatable.",
    )
