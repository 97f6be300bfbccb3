"""A group of commands that imports the module of a command only when the command is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Any

import click

from jobrunner.cli import options
from jobrunner.renamed import new_name
from jobrunner.text import nearest

_UNCUT = 1000
"""Characters. A first sentence is shorter than this, so that click does not cut it."""


class SuggestingGroup(click.Group):
    """A group that proposes the most similar of its commands for a name that none of them has."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Raises click's usage error."""
        name = args[0]
        if not ctx.resilient_parsing and not name.startswith("-") and self.get_command(ctx, name) is None:
            if (new := new_name("command", " ".join([*ctx.command_path.split()[1:], name]))) is not None:
                ctx.fail(f"{name!r} is now: jobrunner {new}")
            near = nearest(name, self.list_commands(ctx))
            ctx.fail(f"No such command {name[:60]!r}." + ("" if near is None else f" Did you mean {near!r}?"))
        return super().resolve_command(ctx, args)


class LazyGroup(SuggestingGroup):
    """Imports only the command that is used, because most calls use one command.

    ``modules`` maps the name of each command to its module in this package. The module's ``COMMANDS`` has the command.
    ``sections`` maps titles to the names that the help lists below them.
    """

    def __init__(
        self,
        *args: Any,
        modules: Mapping[str, str],
        sections: Mapping[str, Sequence[str]] = MappingProxyType({}),
        **keywords: Any,
    ) -> None:
        super().__init__(*args, **keywords)
        self._modules = modules
        self._sections = sections or {"Commands": sorted(modules)}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in alphabetical order."""
        return sorted(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, with the options that every command takes. None means that there is none."""
        if cmd_name in self._modules and cmd_name not in self.commands:
            for command in import_module(f"jobrunner.cli.{self._modules[cmd_name]}").COMMANDS:
                options.add_to_all(command, options.ALL)
                self.add_command(command)
        return self.commands.get(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by section, each with the begin of its help, up to the first full stop or colon."""
        for title, names in self._sections.items():
            with formatter.section(title):
                found = [(name, self.get_command(ctx, name)) for name in names]
                texts = [(name, each.get_short_help_str(_UNCUT)) for name, each in found if each is not None]
                formatter.write_dl([(name, text.partition(": ")[0].rstrip(".:")) for name, text in texts])
