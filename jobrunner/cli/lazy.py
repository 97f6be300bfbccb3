"""A group of commands, the module of each of which is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from jobrunner.cli import options


class LazyGroup(click.Group):
    """Knows the names of its commands by heart: most calls want one of them, and not what the others import.

    ``homes`` says in which module of this package a command is: that module's ``COMMANDS`` holds it.
    """

    def __init__(self, *args: Any, homes: Mapping[str, str], **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        self._homes = homes

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every name, in alphabetical order."""
        return sorted(self._homes)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, with the options that every command takes; None: there is none."""
        if cmd_name in self._homes and cmd_name not in self.commands:
            for command in import_module(f"jobrunner.cli.{self._homes[cmd_name]}").COMMANDS:
                options.add_to_all(command, options.ALL)
                self.add_command(command)
        return self.commands.get(cmd_name)
